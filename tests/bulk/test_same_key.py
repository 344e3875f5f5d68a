from __future__ import annotations

import hashlib

from dynaserve.bulk.same_key import SIZE, check_of

KEY = bytes(range(32))


def test_the_check_is_a_keyed_hash_of_a_message_of_its_own() -> None:
    check = check_of(hashlib.blake2b(key=KEY, digest_size=SIZE))
    message = b"dynaserve/bulk/same-key/1"
    assert check == hashlib.blake2b(message, key=KEY, digest_size=16).hexdigest()
    assert check != check_of(hashlib.blake2b(key=KEY[::-1], digest_size=SIZE))
    assert KEY.hex()[:16] not in check
