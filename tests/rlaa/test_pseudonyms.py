"""Consistent replacements over a corpus, and what they must not give away."""

from __future__ import annotations

import copy
import os
import pickle
import stat
from pathlib import Path

import pytest

from dynaserve.rlaa import Pseudonyms, Status
from tests.rlaa.scripted import Knowing, anonymizer

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DYNASERVE_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


def test_a_value_keeps_its_first_replacement_in_any_spelling() -> None:
    pseudonyms = Pseudonyms(KEY)
    assert pseudonyms.replacement("location", "Porto", "Portugal") == "Portugal"
    assert pseudonyms.replacement("location", "PORTO", "a city") == "Portugal"
    assert pseudonyms.replacement("birth_place", "Porto", "a city") == "a city"


def test_identifiers_carry_a_tag_that_depends_on_value_and_key() -> None:
    def tagged(value: str, key: bytes) -> str:
        return Pseudonyms(key).replacement("identifier", value, "[EMAIL]")

    ada = tagged("ada@example.com", KEY)
    assert ada == tagged("ADA@example.com", KEY)
    assert len({ada, tagged("bob@example.com", KEY), tagged("ada@example.com", OTHER)}) == 3
    assert ada.startswith("[EMAIL ")
    assert ada.endswith("]")
    assert not any(character.isdigit() for character in ada)
    plain = Pseudonyms(KEY).replacement("identifier", "ada@example.com", "an address")
    assert plain.startswith("an address (")


@pytest.mark.parametrize(
    "spellings",
    [
        ("212-555-0142", "2125550142", "(212) 555-0142", "212.555.0142"),
        ("4111 1111 1111 1111", "4111111111111111", "4111-1111-1111-1111"),
        ("DE89 3704 0044 0532 0130 00", "de89370400440532013000"),
        ("Ada Quill", "ADA QUILL’s", "Ada Quill's"),
    ],
)
def test_spellings_of_an_identifier_share_its_tag(spellings: tuple[str, ...]) -> None:
    pseudonyms = Pseudonyms(KEY)
    assert len({pseudonyms.replacement("identifier", each, "[ID]") for each in spellings}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("10.1.12.13", "10.11.2.13"),
        ("1.12.1984", "11.2.1984"),
        ("1984-1-12", "1984-11-2"),
        ("212-555-0142", "212-555-0143"),
        ("a1@example.com", "a.1@example.com"),
        ("james", "jame"),
    ],
)
def test_what_differs_beyond_spelling_has_another_tag(one: str, other: str) -> None:
    pseudonyms = Pseudonyms(KEY)
    tags = [pseudonyms.replacement("identifier", each, "[ID]") for each in (one, other)]
    assert tags[0] != tags[1]


def test_a_possessive_stays_one() -> None:
    pseudonyms = Pseudonyms(KEY)
    assert pseudonyms.replacement("location", "Porto's", "Portugal's") == "Portugal's"
    assert pseudonyms.replacement("location", "Porto", "a city") == "Portugal"
    assert pseudonyms.replacement("location", "PORTO’S", "a city’s") == "Portugal’s"


def test_replacements_outlive_the_process_and_are_shared(state: Path) -> None:
    first, beside = Pseudonyms.resolve(), Pseudonyms.resolve()
    assert first.replacement("location", "Porto", "Portugal") == "Portugal"
    assert beside.replacement("location", "porto", "a city") == "Portugal"
    for name in ("pseudonyms.key", "pseudonyms.sqlite"):
        assert stat.S_IMODE((state / name).stat().st_mode) == 0o600


def test_the_files_do_not_hold_the_values(state: Path) -> None:
    Pseudonyms.resolve().replacement("location", "Porto", "Iberia")
    stored = b"".join(path.read_bytes() for path in state.iterdir())
    assert b"orto" not in stored
    assert b"Iberia" in stored


def test_a_key_that_others_can_read_is_refused(state: Path) -> None:
    Pseudonyms.resolve()
    (state / "pseudonyms.key").chmod(0o644)
    with pytest.raises(ValueError, match="others can read it"):
        Pseudonyms.resolve()


def test_a_key_that_others_could_replace_is_refused(state: Path) -> None:
    Pseudonyms.resolve()
    state.chmod(0o777)
    with pytest.raises(ValueError, match="others can write"):
        Pseudonyms.resolve()


def test_a_file_of_ones_own_has_its_table_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "project.key"
    first = Pseudonyms.from_file(path)
    assert first.replacement("location", "Porto", "Portugal") == "Portugal"
    assert Pseudonyms.from_file(path).replacement("location", "Porto", "a city") == "Portugal"
    assert {each.name for each in tmp_path.iterdir()} == {"project.key", "project.key.sqlite"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("bad", ["Porto by the sea", "a\u202eplace"])
def test_what_may_not_stand_there_is_not_kept_for_later_texts(state: Path, bad: str) -> None:
    del state
    text = "It rains in Porto, and I am at home."
    poisoned = anonymizer(Knowing(words={"Porto": bad}), pseudonyms=Pseudonyms.resolve()).run(text)
    assert poisoned.status is Status.FAILED
    later = anonymizer(pseudonyms=Pseudonyms.resolve()).run(text)
    assert later.text == "It rains in Portugal, and I am at home."


def test_what_may_stand_elsewhere_only_does_not_fail_a_text() -> None:
    pseudonyms = Pseudonyms(KEY)
    for text, words in (("In Rua\nAugusta, at home.", "a\nstreet"), ("In Rua Augusta.", "a road")):
        roles = Knowing(words={"Rua Augusta": words}, attributes={"Rua Augusta": "location"})
        result = anonymizer(roles, pseudonyms=pseudonyms).run(text)
        assert result.text is not None
    assert result.text == "In a road."


def test_a_table_that_breaks_fails_the_text_without_values(tmp_path: Path) -> None:
    table = tmp_path / "table"
    table.write_bytes(b"no database, but long enough to look at" * 40)
    result = anonymizer(pseudonyms=Pseudonyms(KEY, table)).run("It rains in Porto.")
    assert (result.status, result.reason) == (Status.FAILED, "pseudonyms: OSError")


def test_a_key_file_that_is_none_is_refused(state: Path) -> None:
    state.mkdir()
    os.mkfifo(state / "pseudonyms.key", 0o600)
    with pytest.raises(ValueError, match="regular file"):
        Pseudonyms.resolve()


def test_a_table_that_is_none_is_an_error_without_values(tmp_path: Path) -> None:
    table = tmp_path / "table"
    table.write_bytes(b"no database, but long enough to look at" * 40)
    with pytest.raises(OSError, match="pseudonym table") as error:
        Pseudonyms(KEY, table).replacement("location", "Porto", "Portugal")
    assert "Porto" not in str(error.value)


@pytest.mark.parametrize("key", [b"", bytes(32), bytes(range(31))])
def test_weak_keys_are_refused(key: bytes) -> None:
    with pytest.raises(ValueError, match=r"exactly 32 bytes|all bytes are zero"):
        Pseudonyms(key)


def test_the_key_stays_inside() -> None:
    pseudonyms = Pseudonyms(KEY)
    assert repr(pseudonyms) == "Pseudonyms(hidden)"
    for leave in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled"):
            leave(pseudonyms)
    with pytest.raises(TypeError, match="not str"):
        Pseudonyms("x" * 32)  # type: ignore[arg-type]


def test_texts_of_a_corpus_agree(state: Path) -> None:
    del state
    text = "I live in Porto, write to a@example.com or not at all, as you like."
    first = anonymizer(pseudonyms=Pseudonyms.resolve()).run(text)
    fickle = Knowing(words={"Porto": "a far city", "a@example.com": "[CONTACT]"})
    second = anonymizer(fickle, pseudonyms=Pseudonyms.resolve()).run(text)
    assert first.text == second.text
    assert first.text is not None
    assert "Portugal" in first.text
    with pytest.raises(ValueError, match="pseudonyms"):
        anonymizer(mode="rewrite", rewriter=Knowing(), pseudonyms=Pseudonyms(KEY))
