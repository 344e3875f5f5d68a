from __future__ import annotations

import json
import re
import stat
from typing import get_args
from xml.etree.ElementTree import fromstring

import pytest
from typer.testing import CliRunner

from dynaserve.canarybench import CanaryManifest
from dynaserve.canarybench.matching import Matcher
from dynaserve.canarybench.reports import FORMS
from dynaserve.canarybench.serialized import Format
from dynaserve.cli import app
from dynaserve.cli.canary import Form, Holds


@pytest.fixture
def conversations(tmp_path):
    path = tmp_path / "in.jsonl"
    rows = [{"id": f"v{n}", "user": f"u{n}", "text": f"My parcel {n} is late."} for n in range(40)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def planted(run, conversations, tmp_path):
    """Plant, and return (texts by conversation, manifest, its path)."""
    out, manifest = tmp_path / "planted.jsonl", tmp_path / "m.json"
    result = run(
        "canary", "plant", conversations, out, "--manifest", manifest, "--seed", 1, "--decoys", 100
    )
    assert result.exit_code == 0, result.stderr
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    return {row["id"]: row["text"] for row in rows}, CanaryManifest.load(manifest), manifest


@pytest.fixture
def audit(run, planted, tmp_path):
    """Audit a document or text; the result is the command's."""

    def command(release, *options, name="release.json"):
        path = tmp_path / name
        path.write_text(release if isinstance(release, str) else json.dumps(release))
        return run("canary", "audit", path, "--manifest", planted[2], *options)

    return command


def clusters(planted, first="about parcels"):
    """Two clusters; the first publishes a text, the second is safe."""
    members = list(planted[0])
    released = {"clusters": [{"id": "a", "text": first}, {"id": "b", "text": "about delays"}]}
    return released, {"a": members[:20], "b": members[20:]}


def quoted(planted):
    canary = planted[1].canaries[0]
    return canary, planted[0][canary.conversation_id]


def test_planting_is_as_the_manifest_says_and_private(planted, tmp_path):
    texts, manifest, path = planted
    assert len(texts) == 40
    assert 10 < len(manifest.canaries) < 35
    for canary in manifest.canaries:
        assert texts[canary.conversation_id][canary.start :].startswith(canary.value)
    for secret in (path, tmp_path / "planted.jsonl"):
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600


def test_planting_prints_what_it_did_and_no_value(run, conversations, tmp_path):
    out, manifest = tmp_path / "p.jsonl", tmp_path / "m.json"
    result = run("canary", "plant", conversations, out, "--manifest", manifest, "--json")
    facts = json.loads(result.stdout)
    known = CanaryManifest.load(manifest)
    assert facts["canaries"] == len(known.canaries)
    assert facts["decoys"] == 1000
    assert not any(canary.value in result.output for canary in known.canaries)


def test_the_seed_is_secret_unless_it_is_given(run, conversations, tmp_path):
    seeds = set()
    for name in "ab":
        manifest = tmp_path / f"{name}.json"
        run("canary", "plant", conversations, tmp_path / f"{name}.jsonl", "--manifest", manifest)
        seeds.add(CanaryManifest.load(manifest).seed)
    assert len(seeds) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--kinds", "email,shoe"], "shoe"),
        (["--probability", "0"], "no conversation got a canary"),
        (["--probability", "2"], "--probability"),
    ],
)
def test_planting_says_what_is_wrong(run, conversations, tmp_path, options, message):
    out = tmp_path / "p.jsonl"
    result = run("canary", "plant", conversations, out, "--manifest", tmp_path / "m", *options)
    assert result.exit_code == 2
    assert message in re.sub(r"[\s│]+", " ", result.stderr)
    assert not out.exists()


def test_planting_overwrites_nothing_by_accident(run, conversations, tmp_path):
    taken = tmp_path / "taken"
    taken.write_text("mine")
    plant = ["canary", "plant", conversations]
    for arguments in ([taken, "--manifest", tmp_path / "m"], [tmp_path / "p", "--manifest", taken]):
        result = run(*plant, *arguments)
        assert (result.exit_code, "exists" in result.stderr) == (2, True)
    assert taken.read_text() == "mine"
    result = run(*plant, conversations, "--manifest", tmp_path / "m", "--force")
    assert "is the input" in result.stderr
    result = run(*plant, tmp_path / "same", "--manifest", tmp_path / "same")
    assert "are the same file" in result.stderr


def test_a_safe_release_passes(audit, planted):
    result = audit(clusters(planted)[0])
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("PASSED")


def test_a_leak_is_exit_code_one_and_no_value_is_printed(audit, planted):
    canary, text = quoted(planted)
    for form in ("text", "json", "junit", "sarif", "github"):
        result = audit(clusters(planted, text)[0], "--format", form)
        assert result.exit_code == 1, result.stderr
        assert canary.id in result.stdout
        assert Matcher(planted[1].canaries).find(result.output) == []


def test_formats_are_what_they_say(audit, planted):
    release = clusters(planted, quoted(planted)[1])[0]
    assert json.loads(audit(release, "--json").stdout)["passed"] is False
    assert json.loads(audit(release, "--format", "json").stdout)["passed"] is False
    assert json.loads(audit(release, "--format", "sarif").stdout)["version"] == "2.1.0"
    assert fromstring(audit(release, "--format", "junit").stdout).get("failures") == "1"
    assert audit(release, "--format", "github").stdout.startswith("::error file=")


def test_a_pipe_is_audited(planted):
    _, text = quoted(planted)
    arguments = ["canary", "audit", "-", "--manifest", str(planted[2])]
    leaking = CliRunner().invoke(app, arguments, input=text.encode())
    assert leaking.exit_code == 1
    assert CliRunner().invoke(app, arguments, input=b"all is well").exit_code == 0
    nothing = CliRunner().invoke(app, arguments, input=b"")
    assert nothing.exit_code == 5
    assert nothing.stdout == ""


@pytest.mark.parametrize(
    ("release", "code", "message"),
    [
        ("", 5, "nothing was checked: the release is empty"),
        ({"clusters": [], "n": 3}, 5, "nothing was checked: the release publishes no cluster"),
        ('{"clusters": [', 2, "error: the release is not whole JSON"),
        ("plain text", 2, "error: the release is not whole JSON"),
    ],
)
def test_errors_are_no_findings_and_leave_no_old_report(audit, tmp_path, release, code, message):
    old = tmp_path / "report.xml"
    old.write_text("a pass from before")
    result = audit(release, "-o", old, "--format", "junit")
    assert result.exit_code == code
    assert result.stderr.startswith(message)
    assert result.stdout == ""
    assert not old.exists()


def test_a_broken_audit_is_an_internal_error(audit, planted, monkeypatch):
    monkeypatch.setattr(Matcher, "find_in_fields", lambda _, __: [])
    result = audit(clusters(planted)[0])
    assert result.exit_code == 3
    assert "positive control failed" in result.stderr


def test_a_manifest_that_is_none_is_a_usage_error(run, tmp_path):
    (tmp_path / "m.json").write_text("{}")
    (tmp_path / "r.txt").write_text("x")
    result = run("canary", "audit", tmp_path / "r.txt", "--manifest", tmp_path / "m.json")
    assert result.exit_code == 2
    assert "format: Field required" in result.stderr
    result = run("canary", "audit", tmp_path / "nowhere", "--manifest", tmp_path / "m.json")
    assert result.exit_code == 2


def test_clusters_come_from_a_file(audit, planted, tmp_path):
    release, members = clusters(planted)
    path = tmp_path / "members.json"
    path.write_text(json.dumps({**members, "held": ["v99"]}))
    report = json.loads(audit(release, "--clusters", path, "--json").stdout)
    assert report["suppressed"]["clusters"] == ["held"]
    assert report["cluster_rate"]["total"] == 2
    for bad in ("[]", '{"a": "v1"}', "{"):
        path.write_text(bad)
        assert audit(release, "--clusters", path).exit_code == 2


def test_a_report_goes_to_a_file(audit, planted, tmp_path):
    out = tmp_path / "report.sarif"
    result = audit(clusters(planted)[0], "--format", "sarif", "-o", out)
    assert (result.exit_code, result.stdout) == (0, "")
    assert json.loads(out.read_text())["runs"][0]["results"] == []


def test_a_report_may_go_to_a_device_which_stays(audit, planted, tmp_path):
    out = tmp_path / "nowhere"
    out.symlink_to("/dev/null")
    assert audit(clusters(planted)[0], "-o", out).exit_code == 0
    assert out.is_symlink()


def test_the_choices_are_those_of_the_library():
    assert [form.value for form in Form] == [*FORMS]
    assert [form.value for form in Holds] == [*get_args(Format)]


def test_a_report_is_not_written_over_an_input(audit, planted):
    result = audit(clusters(planted)[0], "-o", planted[2])
    assert result.exit_code == 2
    assert "is an input" in result.stderr
    assert CanaryManifest.load(planted[2]) == planted[1]


def test_a_baseline_accepts_near_finds_and_goes_stale(audit, planted, tmp_path):
    phrase = next(canary for canary in planted[1].canaries if canary.kind == "phrase")
    release = clusters(planted, f"They said {phrase.value[:-2]}.")[0]
    baseline = tmp_path / "baseline.json"
    first = audit(release, "--write-baseline", baseline)
    assert first.exit_code == 1
    assert "accepts 1 findings" in first.stderr
    assert audit(release, "--baseline", baseline).exit_code == 0
    stale = audit(clusters(planted)[0], "--baseline", baseline)
    assert stale.exit_code == 1
    assert "stale in the baseline: 1 entry" in stale.stdout


def test_the_benchmark_prints_a_table_or_json(run):
    arguments = ("canary", "run", "--seeds", 1, "--conversations", 300, "--k-min", 2)
    shown = run(*arguments)
    assert shown.exit_code == 0, shown.stderr
    assert max(map(len, shown.stdout.splitlines())) <= 100
    cells = json.loads(run(*arguments, "--json").stdout)["cells"]
    assert [(cell["summarizer"], cell["defense"]) for cell in cells] == [
        (summarizer, defense)
        for summarizer in ("keyword", "extractive")
        for defense in ("none", "k-min", "redaction", "both")
    ]
    assert cells[4]["canary_rate"]["found"] > 0


def test_a_benchmark_that_publishes_nothing_is_nothing_checked(run):
    result = run("canary", "run", "--seeds", 1, "--conversations", 50, "--k-min", 40)
    assert result.exit_code == 5
    assert result.stderr.startswith("nothing was checked")


@pytest.mark.parametrize("command", [["plant"], ["audit"], ["run"], []])
def test_help_has_an_example(run, command):
    shown = run("canary", *command, "--help")
    assert shown.exit_code == 0
    assert "Example: " in shown.stdout or not command


def test_a_report_and_a_baseline_are_not_one_file(audit, planted, tmp_path):
    result = audit(clusters(planted)[0], "-o", tmp_path / "x", "--write-baseline", tmp_path / "x")
    assert result.exit_code == 2
    assert not (tmp_path / "x").exists()


def test_planting_that_fails_leaves_no_texts_with_other_canaries(run, tmp_path):
    source, out, manifest = tmp_path / "in.jsonl", tmp_path / "out.csv", tmp_path / "m.json"
    source.write_text(json.dumps({"text": "late \ud800 parcel"}) + "\n")
    out.write_text("planted before")
    options = ("--manifest", manifest, "--probability", 1, "--decoys", 1, "--force")
    assert run("canary", "plant", source, out, *options).exit_code == 2
    assert not out.exists()
