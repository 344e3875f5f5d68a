from __future__ import annotations

import hashlib
import json
import stat

import pytest

from dynaserve.canarybench import Canary, CanaryManifest

EMAIL = Canary("c0", "email", "ada.quill@example.com", "conv-7", start=12)
PHRASE = Canary("c1", "phrase", "violet lantern drums", "conv-7")
DECOY = Canary("d0", "email", "bo.reed@example.org")
MANIFEST = CanaryManifest((EMAIL, PHRASE), (DECOY,), seed=3)


@pytest.fixture
def saved(tmp_path):
    """Save a manifest, change its document, and return the path."""

    def write(**changes):
        path = tmp_path / "manifest.json"
        MANIFEST.save(path)
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))
        return path

    return write


def test_what_is_saved_is_loaded(tmp_path):
    MANIFEST.save(tmp_path / "m.json")
    loaded = CanaryManifest.load(tmp_path / "m.json")
    assert loaded == MANIFEST
    assert loaded.hash_key == MANIFEST.hash_key


def test_only_the_owner_can_read_the_file(tmp_path):
    path = tmp_path / "m.json"
    path.touch(0o644)
    MANIFEST.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_no_repr_holds_a_value_or_the_key():
    shown = repr(MANIFEST)
    assert "quill" not in shown
    assert "reed" not in shown
    assert "hash_key" not in shown
    assert "seed" not in shown  # every value can be drawn again from it
    assert "c0" in shown


def test_canaries_are_found_by_id_and_by_conversation():
    assert MANIFEST.by_id["d0"] is DECOY
    assert dict(MANIFEST.by_conversation) == {"conv-7": (EMAIL, PHRASE)}


def test_a_hash_is_keyed_blake2b_of_the_value():
    expected = hashlib.blake2b(
        b"ada.quill@example.com", key=MANIFEST.hash_key, digest_size=16
    ).hexdigest()
    assert MANIFEST.keyed_hash("c0") == expected


def test_another_planting_of_the_same_values_has_other_hashes():
    again = CanaryManifest(MANIFEST.canaries, MANIFEST.decoys, seed=3)
    assert again.keyed_hash("c0") != MANIFEST.keyed_hash("c0")


@pytest.mark.parametrize(
    ("canaries", "decoys", "message"),
    [
        ((EMAIL, EMAIL), (), "two canaries have the id c0"),
        ((EMAIL, Canary("c9", "email", EMAIL.value, "x")), (), "c9 repeats another one's value"),
        ((EMAIL,), (Canary("d1", "email", EMAIL.value),), "d1 repeats another one's value"),
        ((DECOY,), (), "d0 names no conversation"),
        ((), (EMAIL,), "the decoy c0 names a conversation"),
    ],
)
def test_what_would_confuse_an_audit_is_refused(canaries, decoys, message):
    with pytest.raises(ValueError, match=message) as error:
        CanaryManifest(canaries, decoys)
    assert "quill" not in str(error.value)


def test_a_value_that_would_be_found_by_chance_is_refused():
    with pytest.raises(ValueError, match="fewer than 6 characters"):
        Canary("c0", "phrase", "hello")


@pytest.mark.parametrize("name", ["", "ada quill", "ada@example.com", "x\n", "a" * 101])
def test_an_id_that_could_hold_a_value_is_refused(name):
    with pytest.raises(ValueError, match="its id must be") as error:
        Canary(name, "email", "ada.quill@example.com")
    assert name not in str(error.value) or not name
    with pytest.raises(ValueError, match="its kind must be"):
        Canary("c0", name, "ada.quill@example.com")


def test_a_short_hash_key_is_refused():
    with pytest.raises(ValueError, match="needs 32 bytes"):
        CanaryManifest((EMAIL,), hash_key=b"short")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "format: Input should be 'dynaserve-canaries'"),
        ({"version": 2}, "version: Input should be 1"),
        ({"seed": "3"}, "seed: Input should be a valid integer"),
        ({"hash_key": "00"}, "hash_key: String should match pattern"),
        ({"more": 1}, "more: Extra inputs are not permitted"),
        ({"canaries": [{"id": "c0", "value": "ada.quill@example.com"}]}, "canaries.0.kind: Field"),
        ({"canaries": [{"id": "c0", "kind": "email", "value": 5}]}, "canaries.0.value: Input"),
        ({"canaries": [{"id": "c0", "kind": "email", "value": "quill"}]}, "fewer than 6"),
    ],
)
def test_a_file_that_is_no_manifest_is_named_by_field(saved, changes, message):
    with pytest.raises(ValueError, match=message) as error:
        CanaryManifest.load(saved(**changes))
    assert "quill" not in str(error.value)
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__ or error.value.__context__ is None


def test_a_truncated_file_is_refused_without_a_quote(saved):
    path = saved()
    path.write_text(path.read_text()[:400])
    with pytest.raises(ValueError, match="file: Invalid JSON") as error:
        CanaryManifest.load(path)
    assert "quill" not in str(error.value)


def test_a_value_that_no_text_can_hold_is_refused():
    with pytest.raises(ValueError, match="lone surrogates"):
        Canary("c0", "phrase", "odd \ud800 words here", "x")


def test_a_text_of_lone_surrogates_has_a_hash():
    assert len(MANIFEST.hashed("\ud800")) == 32
