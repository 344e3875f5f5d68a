from __future__ import annotations

import hashlib
import re

import pytest

from dynaserve.serving.access.keys import digest_of, key_of, new_id, new_secret, parts_of


def test_a_key_has_a_form_that_scanners_can_look_for() -> None:
    key = key_of(new_id(), new_secret())
    assert re.fullmatch(r"dyn_[0-9a-f]{12}_[0-9a-f]{64}", key)


def test_secrets_are_256_random_bits() -> None:
    secrets = {new_secret() for _ in range(1000)}
    assert len(secrets) == 1000
    bits = [int(secret, 16) for secret in secrets]
    assert max(bits).bit_length() == 256
    ones = sum(bin(each).count("1") for each in bits)
    assert abs(ones - 128_000) < 6 * (256_000 * 0.25) ** 0.5  # six standard deviations


def test_a_key_comes_apart_as_it_was_put_together() -> None:
    identity, secret = new_id(), new_secret()
    assert parts_of(key_of(identity, secret)) == (identity, secret)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "dyn_",
        "dyn__",
        f"dyn_{'a' * 12}_{'b' * 63}",
        f"dyn_{'a' * 12}_{'b' * 64}\n",
        f"dyn_{'A' * 12}_{'b' * 64}",
        f"DYN_{'a' * 12}_{'b' * 64}",
        f"dyn_{'a' * 12}_{'٣' * 64}",
    ],
)
def test_what_has_another_form_is_nobodys_key(text: str) -> None:
    assert parts_of(text) == ("", text)


def test_the_digest_is_sha_256_of_the_text_and_takes_any() -> None:
    assert digest_of("abc").hex() == (
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-4
    )
    assert digest_of("\udcff") == hashlib.sha256(b"?").digest()
