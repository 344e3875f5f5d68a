from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression

from dynaserve import RankTemplate, load_defense
from dynaserve.serving.models import load_model

RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 5, 500)
LOGITS = RNG.normal(size=(500, 5)) * 4 + 6 * np.eye(5)[LABELS]


@pytest.fixture
def held_out(tmp_path):
    def write(**arrays):
        np.savez(tmp_path / "held_out.npz", **arrays)
        return tmp_path / "held_out.npz"

    return write


def test_it_writes_the_template_that_the_library_makes(run, held_out, tmp_path):
    path = held_out(logits=LOGITS, labels=LABELS)
    out = tmp_path / "defense.toml"
    result = run("calibrate", path, "-o", out, "--ranks", 2, "--buckets", 2)
    assert result.exit_code == 0, result.stderr
    expected = RankTemplate.calibrate(LOGITS, LABELS, 2, 2)
    assert load_defense(out).template == expected.template
    assert load_defense(out).model_version == ""
    assert "accuracy" in result.stdout
    assert "weight of rank 2" in result.stdout
    assert f"dynaserve serve --defense {out}" in result.stdout


def test_probabilities_do_as_well(run, held_out, tmp_path):
    p = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
    run("calibrate", held_out(probabilities=p, labels=LABELS), "-o", tmp_path / "d.toml")
    expected = RankTemplate.calibrate(LOGITS, LABELS)
    assert load_defense(tmp_path / "d.toml").template == expected.template


def test_zero_probabilities_are_calibrated_as_the_library_does(run, held_out, tmp_path):
    votes = np.random.default_rng(1).multinomial(5, [0.2] * 5, 500) / 5
    votes[np.arange(500), LABELS] += 1
    votes /= 2
    run("calibrate", held_out(probabilities=votes, labels=LABELS), "-o", tmp_path / "d.toml")
    expected = RankTemplate.calibrate_from_probabilities(votes, LABELS)
    assert load_defense(tmp_path / "d.toml").template == expected.template


def test_json_reports_accuracy_and_calibration(run, held_out, tmp_path):
    path = held_out(logits=LOGITS, labels=LABELS)
    facts = json.loads(run("calibrate", path, "-o", tmp_path / "d.toml", "--json").stdout)
    assert facts["accuracy"] == (LOGITS.argmax(axis=1) == LABELS).mean()
    assert facts["calibration_error_after"] < 0.06 < facts["calibration_error_before"]
    assert (facts["rows"], facts["classes"], len(facts["rank_weights"])) == (500, 5, 3)


def test_too_few_rows_to_cross_fit_leave_the_error_open(run, held_out, tmp_path):
    path = held_out(logits=LOGITS[:320], labels=LABELS[:320])
    facts = json.loads(run("calibrate", path, "-o", tmp_path / "a.toml", "--json").stdout)
    assert facts["calibration_error_after"] is None
    assert "needs 375 rows" in run("calibrate", path, "-o", tmp_path / "b.toml").stdout


def test_a_model_computes_the_logits_and_names_the_labels(run, held_out, tmp_path):
    names = np.array(["a", "b", "c", "d", "e"])[LABELS]
    model = LogisticRegression(max_iter=2000).fit(LOGITS, names)
    skops.io.dump(model, tmp_path / "m.skops")
    path = held_out(inputs=LOGITS, labels=names)
    out = tmp_path / "d.toml"
    result = run("calibrate", path, "-o", out, "--model", tmp_path / "m.skops")
    assert result.exit_code == 0, result.stderr
    expected = RankTemplate.calibrate(np.log(model.predict_proba(LOGITS)), LABELS)
    assert load_defense(out).template == expected.template
    assert load_defense(out).model_version == load_model(str(tmp_path / "m.skops")).version


def test_an_existing_file_is_only_overwritten_by_force(run, held_out, tmp_path):
    path, out = held_out(logits=LOGITS, labels=LABELS), tmp_path / "d.toml"
    out.write_text("mine")
    refused = run("calibrate", path, "-o", out)
    assert (refused.exit_code, out.read_text()) == (2, "mine")
    assert "--force" in refused.stderr
    assert run("calibrate", path, "-o", out, "--force").exit_code == 0
    assert load_defense(out)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"labels": LABELS}, "no array 'logits' or 'probabilities' (found: labels)"),
        ({"logits": LOGITS}, "no array 'labels' (found: logits)"),
        ({"logits": LOGITS, "labels": LABELS[:-1]}, "must be (n, K) and (n,)"),
        ({"logits": LOGITS, "labels": LABELS + 0.5}, "must be column numbers"),
        ({"logits": LOGITS, "labels": LABELS + 1}, "label"),
        ({"logits": LOGITS[:299], "labels": LABELS[:299]}, "300"),
        ({"probabilities": LOGITS, "labels": LABELS}, "row 0 holds a value outside [0, 1]"),
        ({"probabilities": np.exp(LOGITS), "labels": LABELS}, "row 0 holds a sum other than 1"),
        ({"probabilities": LABELS, "labels": LABELS}, "probabilities: dtype int64 is not float16"),
        ({"logits": LOGITS * np.nan, "labels": LABELS}, "row 0"),
        ({"logits": LOGITS.astype(object), "labels": LABELS}, "not an .npz file of plain arrays"),
    ],
)
def test_arrays_that_are_wrong_are_named(run, held_out, tmp_path, arrays, message):
    result = run("calibrate", held_out(**arrays), "-o", tmp_path / "d.toml")
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "d.toml").exists()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"inputs": LOGITS[:, :4], "labels": LABELS}, "have shape (4,)"),
        ({"inputs": LOGITS, "labels": LABELS + 1}, "some labels are not classes of"),
        ({"inputs": LOGITS.astype(str), "labels": LABELS}, "must be numbers"),
        ({"logits": LOGITS, "labels": LABELS}, "no array 'inputs'"),
    ],
)
def test_inputs_that_do_not_fit_the_model_are_named(run, held_out, tmp_path, arrays, message):
    model = LogisticRegression(max_iter=2000).fit(LOGITS, LABELS)
    skops.io.dump(model, tmp_path / "m.skops")
    arguments = ("-o", tmp_path / "d.toml", "--model", tmp_path / "m.skops")
    result = run("calibrate", held_out(**arrays), *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "does not exist"), (b"", "not an .npz"), (b"PK\x03\x04", "not an .npz")],
)
def test_a_file_that_is_no_archive_is_explained(run, tmp_path, content, message):
    path = tmp_path / "x.npz"
    if content is not None:
        path.write_bytes(content)
    result = run("calibrate", path, "-o", tmp_path / "d.toml")
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize("content", ["one array", "no array", "a pickle"])
def test_what_is_no_npz_file_is_told_so_without_the_advice_to_unpickle(run, tmp_path, content):
    path = tmp_path / "x.npz"
    with path.open("wb") as file:
        if content == "one array":
            np.save(file, LOGITS)
        else:
            file.write(b"words" if content == "no array" else pickle.dumps(LOGITS))
    result = run("calibrate", path, "-o", tmp_path / "d.toml")
    assert result.exit_code == 2
    assert "is not an .npz file of plain arrays; write one with numpy.savez" in result.stderr
    assert "pickle" not in result.stderr


def test_an_output_that_is_a_directory_is_explained(run, held_out, tmp_path):
    path = held_out(logits=LOGITS, labels=LABELS)
    result = run("calibrate", path, "-o", tmp_path, "--force")
    assert result.exit_code == 2
    assert "is a directory; name the file" in result.stderr


def test_an_output_in_no_directory_is_explained(run, held_out, tmp_path):
    path = held_out(logits=LOGITS, labels=LABELS)
    result = run("calibrate", path, "-o", tmp_path / "absent" / "d.toml")
    assert result.exit_code == 2
    assert "is not a directory" in result.stderr
