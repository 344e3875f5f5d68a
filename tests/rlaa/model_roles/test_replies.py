"""A reply is read whole or not at all: nothing that is wrong with it makes a leak disappear."""

from __future__ import annotations

import copy
import json
import traceback

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dynaserve.rlaa.model_roles.replies import (
    MAX_LEAKS,
    attack_schema,
    grades_schema,
    read_attack,
    read_grades,
    read_replacements,
    read_rewrite,
    replacements_schema,
)
from dynaserve.rlaa.records import ATTRIBUTES, IDENTIFIER, Leak, Level
from dynaserve.rlaa.roles import RoleError

ASKED = (*ATTRIBUTES, IDENTIFIER)
SECRET = "Quillmoor"
"""Stands for what a reply says; no message may hold it."""


def leak(**changes):
    return {
        "attribute": "location",
        "reasoning": "Names a town.",
        "evidence": f"down in {SECRET}",
        "guess": SECRET,
        "certainty": 4,
        **changes,
    }


def attack(*leaks, **changes):
    return json.dumps({"reasoning": "It says so.", "leaks": list(leaks), **changes})


def refused(read, *arguments):
    with pytest.raises(RoleError) as caught:
        read(*arguments)
    shown = "".join(traceback.format_exception(caught.value))
    assert SECRET not in "".join(traceback.format_exception_only(caught.value))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "JSONDecodeError" not in shown
    return str(caught.value)


# Attacks: what is read.


def test_every_leak_is_read_in_order_with_all_its_fields():
    reply = attack(leak(), leak(attribute="age", guess="31", evidence="I'm 31", certainty=5))
    assert read_attack(reply, ASKED) == (
        Leak("location", SECRET, f"down in {SECRET}", 4, "Names a town."),
        Leak("age", "31", "I'm 31", 5, "Names a town."),
    )


def test_no_leaks_has_to_be_said():
    assert read_attack(attack(), ASKED) == ()


@pytest.mark.parametrize(
    "words",
    [
        "teacher [primary school]", "]", "[", '"], "leaks": []', "a } b { c", "# Heading #1",
        "```json\n[]\n```", "line\nbreak\ttab", "👩‍💻 at wörk", "\\", '"quoted"', "null",
        "\u202eabc",
    ],
)  # fmt: skip
def test_brackets_and_the_like_in_a_value_cost_no_leak(words):
    leaks = read_attack(
        attack(leak(guess=words, evidence="x" + words), leak(reasoning=words)), ASKED
    )
    assert [found.guess for found in leaks] == [words, SECRET]
    assert leaks[1].reasoning == words


@pytest.mark.parametrize(
    ("spelling", "attribute"),
    [("gender", "sex"), ("place_of_birth", "birth_place"), ("Marital status", "relationship")],
)
def test_the_attribute_gets_the_name_by_which_it_is_scored(spelling, attribute):
    (found,) = read_attack(attack(leak(attribute=spelling)), ASKED)
    assert found.attribute == attribute


def test_evidence_that_stands_nowhere_is_kept():
    (found,) = read_attack(attack(leak(evidence="not in any text")), ASKED)
    assert found.evidence == "not in any text"


def test_a_line_break_that_is_not_escaped_is_one_all_the_same():
    reply = attack(leak(reasoning="one\ntwo\tthree")).replace("\\n", "\n").replace("\\t", "\t")
    (found,) = read_attack(reply, ASKED)
    assert found.reasoning == "one\ntwo\tthree"


# Attacks: what is refused.


@pytest.mark.parametrize(
    "changes",
    [
        {"attribute": "shoe size"}, {"attribute": ""}, {"attribute": None}, {"attribute": ["age"]},
        {"evidence": ["down", "in"]}, {"evidence": {"text": "x"}}, {"evidence": ""},
        {"evidence": " \u200b\n"}, {"evidence": 31}, {"evidence": None}, {"evidence": "\ud83d"},
        {"guess": 31}, {"guess": ["a", "b"]}, {"guess": ""}, {"guess": True}, {"guess": "\ud800x"},
        {"reasoning": None}, {"reasoning": ["because"]}, {"reasoning": "\udfff"},
        {"certainty": 0}, {"certainty": 6}, {"certainty": 100}, {"certainty": -1},
        {"certainty": 3.0}, {"certainty": "3"}, {"certainty": True}, {"certainty": None},
        {"certainty": 10**400}, {"certainty": [3]}, {"leaks": []}, {SECRET: 1},
    ],
)  # fmt: skip
def test_one_leak_with_a_fault_makes_the_reply_unreadable(changes):
    refused(read_attack, attack(leak(), leak(**changes), leak()), ASKED)


@pytest.mark.parametrize("missing", list(leak()))
def test_a_leak_without_one_of_its_fields_makes_the_reply_unreadable(missing):
    partial = leak()
    del partial[missing]
    assert missing in refused(read_attack, attack(leak(), partial), ASKED)


@pytest.mark.parametrize(
    "reply",
    [
        "", " ", "null", "[]", "{}", "3", '"none"', "No leaks.", "[" * 100_000,
        '{"leaks": []}', '{"reasoning": "x"}', '{"reasoning": "x", "leaks": null}',
        '{"reasoning": "x", "leaks": {}}', '{"reasoning": "x", "leaks": "none"}',
        '{"reasoning": "x", "leaks": [[]]}', '{"reasoning": "x", "leaks": [null]}',
        '{"reasoning": ["x"], "leaks": []}', '{"reasoning": "x", "leaks": [], "more": []}',
        '{"reply": {"reasoning": "x", "leaks": []}}', '[{"reasoning": "x", "leaks": []}]',
        '{"reasoning": "x", "leaks": []} Nothing else.', 'Sure! {"reasoning": "x", "leaks": []}',
        '{"reasoning": "x", "leaks": []}{"reasoning": "x", "leaks": []}',
        '```json\n{"reasoning": "x", "leaks": []}\n```', '{"reasoning": "x", "leaks": [],}',
        "{'reasoning': 'x', 'leaks': []}", '\ufeff{"reasoning": "x", "leaks": []}',
        '{"reasoning": NaN, "leaks": []}', '{"reasoning": "x", "leaks": Infinity}',
        '{"reasoning": "x", "leaks": 1e999}', '{"reasoning": "x", "leaks": ' + "9" * 5000 + "}",
        "<think>[]</think>", "\x00", "\ud800",
    ],
)  # fmt: skip
def test_what_is_not_one_document_of_the_right_shape_never_means_no_leaks(reply):
    refused(read_attack, reply, ASKED)


def test_a_key_given_twice_cannot_empty_the_list():
    reply = attack(leak())[:-1] + ', "leaks": []}'
    assert json.loads(reply)["leaks"] == []  # what a lenient reader makes of it
    refused(read_attack, reply, ASKED)


def test_an_attribute_that_was_not_asked_for_is_a_fault():
    refused(read_attack, attack(leak()), ["age", "sex"])


def test_a_full_list_may_have_been_cut_off():
    assert len(read_attack(attack(*[leak()] * (MAX_LEAKS - 1)), ASKED)) == MAX_LEAKS - 1
    refused(read_attack, attack(*[leak()] * MAX_LEAKS), ASKED)


def test_every_beginning_of_a_reply_is_unreadable():
    reply = attack(leak(), leak(guess="[a] 👩‍💻"), leak())
    assert len(read_attack(reply, ASKED)) == 3
    data = reply.encode()
    for size in range(len(data)):
        with pytest.raises(RoleError):
            read_attack(data[:size].decode(errors="ignore"), ASKED)


def test_a_message_names_the_place_and_not_the_words():
    message = refused(read_attack, attack(leak(), leak(certainty=SECRET)), ASKED)
    assert message == "JSON of the wrong shape (int_type at leaks.1.certainty)"
    assert "leaks.0" in refused(read_attack, attack(leak(**{SECRET: SECRET})), ASKED)


# Attacks: whatever a model may say.

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
leaks = st.fixed_dictionaries(
    {
        "attribute": st.sampled_from(ASKED),
        "reasoning": words,
        "evidence": words.map(lambda text: f"x{text}"),
        "guess": words.map(lambda text: f"x{text}"),
        "certainty": st.integers(1, 5),
    }
)
attacks = st.fixed_dictionaries(
    {"reasoning": words, "leaks": st.lists(leaks, min_size=1, max_size=4)}
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@given(attacks, st.booleans())
def test_what_is_right_is_read_as_it_was_said(said, ascii_only):
    read = read_attack(json.dumps(said, ensure_ascii=ascii_only), ASKED)
    assert read == tuple(Leak(**found) for found in said["leaks"])


@given(attacks, st.data())
def test_cut_off_at_any_byte_it_is_unreadable(said, data):
    reply = json.dumps(said, ensure_ascii=False).encode()
    size = data.draw(st.integers(0, len(reply) - 1))
    refused(read_attack, reply[:size].decode(errors="replace"), ASKED)


@given(attacks, st.text(min_size=1, max_size=20))
def test_with_anything_after_it_or_before_it_is_unreadable(said, more):
    assume(more.strip(" \t\r\n"))
    reply = json.dumps(said)
    refused(read_attack, reply + more, ASKED)
    refused(read_attack, more + reply, ASKED)


def places(document, path=()):
    """Yield the path of every value inside a JSON document."""
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, (dict, list)):
            yield from places(value, (*path, key))


@given(attacks, anything, st.data())
def test_with_another_value_anywhere_no_leak_is_lost(said, other, data):
    path = data.draw(st.sampled_from(list(places(said))))
    changed = copy.deepcopy(said)
    inside = changed
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = other
    try:
        read = read_attack(json.dumps(changed), ASKED)
    except RoleError:
        return
    # Only another text, certainty or list in the place of one can have been read.
    if path == ("leaks",):
        assert read == ()
        assert other == []
    else:
        assert read == tuple(Leak(**found) for found in changed["leaks"])
        assert len(read) == len(said["leaks"])


@given(attacks, st.data())
def test_with_any_key_given_twice_it_is_unreadable(said, data):
    path = data.draw(st.sampled_from([p for p in places(said) if isinstance(p[-1], str)]))

    def spelt(value, at=()):
        if isinstance(value, dict):
            fields = [
                f"{json.dumps(key)}: {spelt(inner, (*at, key))}"
                for key, inner in value.items()
                for _ in range(2 if (*at, key) == path else 1)
            ]
            return "{" + ", ".join(fields) + "}"
        if isinstance(value, list):
            return "[" + ", ".join(spelt(inner, (*at, n)) for n, inner in enumerate(value)) + "]"
        return json.dumps(value)

    refused(read_attack, spelt(said), ASKED)


@given(st.text(max_size=60) | anything.map(json.dumps))
def test_any_other_text_is_unreadable(reply):
    refused(read_attack, reply, ASKED)
    refused(read_grades, reply, 1)
    refused(read_replacements, reply, 1)
    refused(read_rewrite, reply)


# Grades and replacements: a number for each, each number once.


def grades(*numbers, **changes):
    return json.dumps(
        {"grades": [{"number": n, "reason": f"r{n}", "level": "MED", **changes} for n in numbers]}
    )


def replacements(*numbers, **changes):
    return json.dumps(
        {"replacements": [{"number": n, "replacement": f"r{n}", **changes} for n in numbers]}
    )


def test_grades_and_replacements_come_in_the_order_of_their_numbers():
    assert read_grades(grades(2, 1), 2) == [(Level.MED, "r1"), (Level.MED, "r2")]
    assert read_replacements(replacements(3, 1, 2), 3) == ["r1", "r2", "r3"]


@pytest.mark.parametrize("numbers", [(), (1,), (1, 1), (1, 2, 2), (1, 3), (0, 1), (1, 2, 3)])
def test_one_missing_doubled_or_too_many_makes_all_unreadable(numbers):
    refused(read_grades, grades(*numbers), 2)
    refused(read_replacements, replacements(*numbers), 2)


@pytest.mark.parametrize(
    "changes",
    [
        {"level": "high"}, {"level": "CRITICAL"}, {"level": 1}, {"level": ["HIGH"]},
        {"level": None}, {"reason": 1}, {"number": "1"}, {"number": 1.0}, {"number": True},
        {SECRET: 1}, {"reason": "\ud800"},
    ],
)  # fmt: skip
def test_a_grade_of_the_wrong_type_is_unreadable(changes):
    refused(read_grades, grades(1, **changes), 1)


@pytest.mark.parametrize(
    "changes",
    [{"replacement": None}, {"replacement": ["a"]}, {"replacement": "\udc00"}, {"number": None}],
)
def test_a_replacement_of_the_wrong_type_is_unreadable(changes):
    refused(read_replacements, replacements(1, **changes), 1)


# Rewrites.


@pytest.mark.parametrize(
    "text", ["# Title\n\nTask #1 # done", "a\nb", "Explanation: none", "###", '{"text": "in"}']
)
def test_a_rewrite_is_the_whole_field_and_nothing_is_split_off(text):
    assert read_rewrite(json.dumps({"text": text})) == text


@pytest.mark.parametrize(
    "reply",
    [
        "Here is the text: # I live in the north. # I removed the city.", '{"text": ""}',
        '{"text": " \\n\\u200b"}', '{"text": null}', '{"text": ["a"]}', '{"text": "a',
        '{"text": "a", "explanation": "b"}', '{"text": "\\ud83d"}', '{"text": "a"} # done',
    ],
)  # fmt: skip
def test_a_rewrite_with_a_remark_or_without_words_is_unreadable(reply):
    refused(read_rewrite, reply)


# Schemas: what is right by them is read, and nothing in them is without a bound.


def bounded(schema):
    kind = schema.get("type")
    if kind == "object":
        assert schema["additionalProperties"] is False
        assert schema["required"] == list(schema["properties"])
        return all(bounded(inner) for inner in schema["properties"].values())
    if kind == "array":
        return schema["maxItems"] >= schema.get("minItems", 0) and bounded(schema["items"])
    return "enum" in schema or schema["maxLength"] >= schema["minLength"]


@pytest.mark.parametrize("schema", [attack_schema(ASKED), grades_schema(3), replacements_schema(3)])
def test_every_string_and_list_has_a_bound(schema):
    assert bounded(schema)
    assert schema == json.loads(json.dumps(schema))


def test_only_what_is_asked_for_may_be_answered():
    properties = attack_schema(["age"])["properties"]["leaks"]["items"]["properties"]
    assert properties["attribute"] == {"enum": ["age"]}
    assert properties["certainty"] == {"enum": [1, 2, 3, 4, 5]}
    grade = grades_schema(2)["properties"]["grades"]
    assert (grade["minItems"], grade["maxItems"]) == (2, 2)
    assert grade["items"]["properties"]["number"] == {"enum": [1, 2]}


def test_the_reasoning_comes_before_what_it_is_for():
    attack_keys = list(attack_schema(ASKED)["properties"])
    leak_keys = list(attack_schema(ASKED)["properties"]["leaks"]["items"]["properties"])
    grade_keys = list(grades_schema(1)["properties"]["grades"]["items"]["properties"])
    assert attack_keys == ["reasoning", "leaks"]
    assert leak_keys.index("reasoning") < leak_keys.index("guess")
    assert grade_keys.index("reason") < grade_keys.index("level")
