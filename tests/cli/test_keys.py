from __future__ import annotations

import hashlib
import json
import re
import stat

import pytest

KEY = re.compile(r"dyn_([0-9a-f]{12})_([0-9a-f]{64})")


@pytest.fixture(autouse=True)
def no_other_file(monkeypatch):
    monkeypatch.delenv("DYNASERVE_KEYS", raising=False)


def listed(run, *options):
    return json.loads(run("keys", "list", "--json", *options).stdout)


def test_a_key_is_shown_once_and_only_its_digest_is_kept(run, state_directory):
    result = run("keys", "create", "team-a")
    assert result.exit_code == 0
    key = KEY.fullmatch(result.stdout.strip())
    assert f"key {key[1]} for team-a; it cannot be shown again" in result.stderr
    path = state_directory / "api_keys.toml"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    content = path.read_text()
    assert hashlib.sha256(key[2].encode()).hexdigest() in content
    shown = run("keys", "list").output + run("keys", "list", "--json").output + result.stderr
    assert key[2] not in content + shown
    assert hashlib.sha256(key[2].encode()).hexdigest() not in shown


def test_json_holds_the_key_and_what_is_known_of_it(run):
    made = json.loads(
        run(
            *("keys", "create", "team", "--requests-per-second", 2.5, "--rows-per-day", 9),
            *("--expires", "2999-12-31T18:00+01:00", "--json"),
        ).stdout
    )
    assert KEY.fullmatch(made.pop("key"))[1] == made["id"]
    assert listed(run) == [made]
    assert made.pop("created").startswith("20")
    assert made == {
        "id": made["id"],
        "name": "team",
        "role": "client",
        "state": "valid",
        "expires": "2999-12-31T17:00:00Z",
        "revoked": None,
        "requests_per_second": 2.5,
        "rows_per_day": 9,
    }


def test_keys_are_listed_in_the_order_they_were_made_in(run):
    for name in ("b", "a", "[c]"):
        run("keys", "create", name, *(["--monitor"] if name == "a" else []))
    assert [(key["name"], key["role"]) for key in listed(run)] == [
        ("b", "client"),
        ("a", "monitor"),
        ("[c]", "client"),
    ]
    shown = run("keys", "list").stdout
    assert all(key["id"] in shown for key in listed(run))
    assert "[c]" in shown


def test_a_revoked_key_stays_and_says_so(run):
    run("keys", "create", "one")
    run("keys", "create", "other")
    one, other = listed(run)
    result = run("keys", "revoke", one["id"])
    assert (result.exit_code, result.stdout) == (0, f"revoked {one['id']} (one)\n")
    after = listed(run)
    assert [key["state"] for key in after] == ["revoked", "valid"]
    assert after[0]["revoked"] is not None
    assert after[1] == other
    again = json.loads(run("keys", "revoke", one["id"], "--json").stdout)
    assert again == after[0]


def test_another_file_may_be_named_by_flag_or_environment(run, tmp_path, monkeypatch):
    path = tmp_path / "k.toml"
    assert run("keys", "create", "flag", "--file", path).exit_code == 0
    monkeypatch.setenv("DYNASERVE_KEYS", str(path))
    assert run("keys", "create", "variable").exit_code == 0
    assert [key["name"] for key in listed(run, "--file", path)] == ["flag", "variable"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["create", ""], "NAME: String should have at least 1 character"),
        (["create", "a\nb"], "NAME: String should match"),
        (["create", "n", "--requests-per-second", "0"], "--requests-per-second: Input should be"),
        (["create", "n", "--requests-per-second", "nan"], "--requests-per-second: Input should"),
        (["create", "n", "--rows-per-day", "0"], "--rows-per-day"),
        (["create", "n", "--expires", "soon"], "--expires soon: needs a date such as"),
        (["create", "n", "--expires", "2020-01-01"], "--expires 2020-01-01: is over"),
        (["create", "n", "--monitor", "--rows-per-day", "1"], "--monitor goes without limits"),
        (["create", "n", "--file", "/no/such/place.toml"], "/no/such: is not a directory"),
        (["list"], "there is no such file; 'dynaserve keys create NAME"),
        (["revoke", "0" * 12], "has no key 000000000000"),
        (["revoke", "x"], "an id is 12 hexadecimal digits"),
    ],
)
def test_what_cannot_be_used_is_one_clear_line_and_makes_no_file(
    run, state_directory, arguments, message
):
    result = run("keys", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (state_directory / "api_keys.toml").exists()


def test_a_whole_key_given_as_an_id_is_not_repeated(run):
    key = run("keys", "create", "n").stdout.strip()
    result = run("keys", "revoke", key)
    assert result.exit_code == 2
    assert key[-64:] not in result.output


def test_a_file_that_others_can_write_is_refused(run, state_directory):
    run("keys", "create", "n")
    (state_directory / "api_keys.toml").chmod(0o666)
    for arguments in (["list"], ["create", "m"], ["revoke", "0" * 12]):
        result = run("keys", *arguments)
        assert result.exit_code == 2
        assert "others can write it" in result.stderr


def test_an_id_that_is_taken_is_not_given_again(run, monkeypatch):
    ids = iter(["a" * 12, "a" * 12, "b" * 12])
    monkeypatch.setattr("dynaserve.serving.access.keys.new_id", lambda: next(ids))
    run("keys", "create", "one")
    run("keys", "create", "other")
    assert [key["id"] for key in listed(run)] == ["a" * 12, "b" * 12]


@pytest.mark.parametrize("moment", ["9999-12-31T23:59:59-23:59", "0001-01-01T00:00+10:00"])
def test_the_ends_of_time_are_no_dates(run, moment):
    result = run("keys", "create", "x", "--expires", moment)
    assert result.exit_code == 2
    assert "needs a date such as" in result.stderr


def test_a_key_in_place_of_its_file_is_not_repeated(run):
    result = run("keys", "list", "--file", "dyn_4711")
    assert result.exit_code == 2
    assert "an API key stands where" in result.stderr
    assert "4711" not in result.stderr


@pytest.mark.parametrize("rate", ["1e-20", "1e308", "0"])
def test_a_rate_that_cannot_be_counted_is_refused(run, rate):
    assert run("keys", "create", "x", "--requests-per-second", rate).exit_code == 2
