from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
import skops.io
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

from dynaserve.cli import app
from dynaserve.defenses import DynaNoise, NoiseKey, RankTemplate, Undefended
from dynaserve.mia.audit import audit as audit_arrays
from dynaserve.mia.audit import audit_data
from dynaserve.mia.shadows import EstimatorTrainer

RNG = np.random.default_rng(0)
ROWS, CLASSES = 400, 4
MEMBER = np.arange(ROWS) < 200
LABELS = RNG.integers(0, CLASSES, ROWS)
LOGITS = RNG.normal(size=(ROWS, CLASSES)) * 2
LOGITS[np.arange(ROWS), LABELS] += 2 + 3 * MEMBER
HELD_OUT_LABELS = RNG.integers(0, CLASSES, 320)
HELD_OUT = RNG.normal(size=(320, CLASSES)) * 2 + 2 * np.eye(CLASSES)[HELD_OUT_LABELS]
ANSWERS = {"logits": LOGITS, "labels": LABELS, "member": MEMBER}


@pytest.fixture
def run():
    """Run ``dynaserve audit`` with these arguments."""
    return lambda *arguments: CliRunner().invoke(app, ["audit", *map(str, arguments)])


@pytest.fixture
def write(tmp_path):
    def write(name="answers.npz", **arrays):
        np.savez(tmp_path / name, **arrays)
        return tmp_path / name

    return write


@pytest.fixture
def answers(write):
    return write(**ANSWERS)


@pytest.fixture
def held_out(write):
    return write("held_out.npz", logits=HELD_OUT, labels=HELD_OUT_LABELS)


def test_the_bare_model_is_audited_without_a_word_more(run, answers):
    result = run(answers)
    assert result.exit_code == 0, result.stderr
    assert "Members can be told from non-members" in result.stdout
    assert "answers.npz: 200 members, 200 non-members, 4 classes, no shadow models" in result.stdout
    assert "no shadow models were given" in result.stdout
    assert result.stderr == ""


def test_json_holds_what_the_library_finds(run, answers, held_out):
    result = run(answers, "--defense", "rank-template", "--held-out", held_out, "--json")
    facts = json.loads(result.stdout)
    defense = RankTemplate.calibrate(HELD_OUT, HELD_OUT_LABELS)
    expected = audit_arrays(LOGITS, LABELS, MEMBER, defense=defense).to_dict()
    assert {name: facts[name] for name in expected} == json.loads(json.dumps(expected))
    assert facts["parameters"]["kind"] == "rank-template"
    assert (facts["passed"], facts["gates"], facts["source"]) == (True, [], "answers.npz")


def test_held_out_rows_may_be_in_the_file_itself(run, write):
    path = write(**ANSWERS, held_out_logits=HELD_OUT, held_out_labels=HELD_OUT_LABELS)
    facts = json.loads(run(path, "--defense", "rank-template", "--json").stdout)
    assert "calibrated on 320 rows" in facts["defense"]


def test_shadows_get_templates_from_their_own_answers_to_the_held_out_rows(run, write):
    shadows = RNG.normal(size=(4, ROWS, CLASSES))
    trained = RNG.permuted(np.tile([[True], [True], [False], [False]], ROWS), axis=0)
    own = HELD_OUT + RNG.normal(size=(4, *HELD_OUT.shape))
    arrays = ANSWERS | {"shadow_logits": shadows, "shadow_member": trained}
    arrays |= {"held_out_logits": HELD_OUT, "held_out_labels": HELD_OUT_LABELS}
    arguments = ("--defense", "rank-template", "--bootstrap", 0, "--repeats", 1, "--json")
    path = write(**arrays, shadow_held_out_logits=own)
    facts = json.loads(run(path, *arguments).stdout)
    expected = audit_arrays(
        LOGITS,
        LABELS,
        MEMBER,
        shadow_logits=shadows,
        shadow_member=trained,
        defense=RankTemplate.calibrate(HELD_OUT, HELD_OUT_LABELS),
        shadow_defenses=[RankTemplate.calibrate(one, HELD_OUT_LABELS) for one in own],
        repeats=(1,),
        bootstrap=0,
    ).to_dict()
    assert facts["attacks"] == json.loads(json.dumps(expected["attacks"]))
    assert not [sentence for sentence in facts["not_tested"] if "emplate" in sentence]
    wrong = run(write(**arrays, shadow_held_out_logits=own[:3]), *arguments)
    assert wrong.exit_code == 2
    assert "shadow_held_out_logits has shape (3, 320, 4), not (4, 320, 4)" in wrong.stderr


def test_a_defense_file_is_audited(run, answers, tmp_path):
    RankTemplate.calibrate(HELD_OUT, HELD_OUT_LABELS, ranks=1).save(tmp_path / "d.toml")
    result = run(answers, "--defense", tmp_path / "d.toml")
    assert result.exit_code == 0
    assert "order of 1 runner-up of 4 classes" in result.stdout
    assert "with the defense" in result.stdout


@pytest.mark.parametrize("where", ["by name", "in a file"])
def test_keyed_noise_is_audited_without_the_real_key(
    run, answers, tmp_path, state_directory, where
):
    defense = "dynanoise"
    if where == "in a file":
        defense = tmp_path / "d.toml"
        DynaNoise.keyed(NoiseKey(bytes(range(32)))).save(defense)
    first, second = (run(answers, "--defense", defense, "--json") for _ in range(2))
    assert first.exit_code == 0, first.stderr
    assert first.stdout == second.stdout
    assert not (state_directory / "noise.key").exists()
    assert run(answers, "--defense", defense, "--json", "--seed", 1).stdout != first.stdout


def test_fresh_noise_under_the_papers_protocol(run, answers):
    facts = json.loads(
        run(answers, "--defense", "dynanoise-paper", "--protocol", "paper", "--json").stdout
    )
    assert facts["protocol"] == "paper"
    assert "fresh noise" in facts["defense"]
    assert {result["form"] for result in facts["attacks"].values()} == {"1"}
    assert facts["attacks"]["loss"]["threshold_from"] == "paper"


def test_repeats_and_bootstrap_are_passed_on(run, answers):
    arguments = ("--repeats", "5", "--bootstrap", 0, "--defense", "dynanoise-paper", "--json")
    facts = json.loads(run(answers, *arguments).stdout)
    assert set(facts["leak"]) == {"1", "5"}
    assert facts["attacks"]["loss@5"]["auc_interval"] == [0.0, 1.0]


def test_a_gate_decides_the_exit_code(run, answers):
    passing = run(answers, "--fail-if", "worst_auc>0.99", "--fail-if", "accuracy_loss>0.5%")
    assert passing.exit_code == 0
    assert "ok  worst_auc>0.99" in passing.stdout
    failing = run(answers, "--fail-if", "worst_auc>0.99", "--fail-if", "loss_auc>0.6")
    assert failing.exit_code == 1
    assert "FAILED  loss_auc>0.6" in failing.stdout


def test_a_gate_that_fails_is_told_beside_json(run, answers):
    result = run(answers, "--json", "--fail-if", "loss_auc>0.6")
    assert result.exit_code == 1
    facts = json.loads(result.stdout)
    assert facts["passed"] is False
    (gate,) = facts["gates"]
    assert gate == {
        "expression": "loss_auc>0.6",
        "value": facts["attacks"]["loss"]["auc"],
        "failed": True,
    }
    assert result.stderr.startswith("gate failed: loss_auc>0.6 (measured 0.")


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("nonsense_auc>0.6", "no metric 'nonsense_auc'"),
        ("loss_auc", "write a metric, one of"),
        ("lira_auc>0.6", "'lira_auc' is not tested; tested are gap"),
        ("loss@near50.auc>0.6", "'loss@near50.auc' is not tested"),
        ("loss.tpr_at_01pct_fpr>5%", "means nothing with so few non-members"),
    ],
)
def test_a_gate_that_cannot_be_judged_never_passes(run, answers, expression, message):
    result = run(answers, "--fail-if", expression)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    "expression",
    ["confidence@1000.auc>0.6", "floor@near50>0.6", "rmia_auc>0.6", "loss.tpr_at_01pct_fpr>5%"],
)
def test_a_gate_on_what_is_not_tested_is_refused_before_the_audit(
    run, answers, monkeypatch, expression
):
    audited = []
    monkeypatch.setattr(
        import_module("dynaserve.mia.audit"), "audit_data", lambda *a, **b: audited.append((a, b))
    )
    result = run(answers, "--fail-if", "worst_auc>0.9", "--fail-if", expression)
    assert result.exit_code == 2
    assert expression in result.stderr
    assert not audited


@pytest.mark.parametrize("quiet", [["--quiet"], []])
def test_a_verdict_on_a_handful_of_rows_comes_with_a_warning(run, write, quiet):
    few = [0, 1, 398, 399]
    path = write(**{name: array[few] for name, array in ANSWERS.items()})
    result = run(path, *quiet)
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: Few rows: with 2 members and 2 non-members")
    assert ".5 ± 0.50 by chance" in result.stderr


def test_probabilities_are_not_taken_for_logits(run, write):
    p = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
    result = run(write(**ANSWERS | {"logits": p}))
    assert result.exit_code == 2
    assert "answers.npz: logits: every row lies in 0..1 and sums to 1" in result.stderr
    assert "numpy.log" in result.stderr
    path = write("h.npz", logits=p[:320], labels=HELD_OUT_LABELS)
    result = run(write(**ANSWERS), "--defense", "rank-template", "--held-out", path)
    assert result.exit_code == 2
    assert "h.npz: logits: every row lies" in result.stderr
    assert "call the array 'probabilities'" in result.stderr


def test_audited_rows_are_no_held_out_rows(run, write, answers):
    path = write("h.npz", logits=LOGITS.astype(np.float32), labels=LABELS)
    result = run(answers, "--defense", "rank-template", "--held-out", path)
    assert result.exit_code == 2
    assert "h.npz: 400 of 400 rows are audited too" in result.stderr


def test_the_page_is_written_and_an_old_one_does_not_outlive_an_error(run, answers, tmp_path):
    page = tmp_path / "report.html"
    assert run(answers, "--html", page, "--fail-if", "loss_auc>0.6").exit_code == 1
    assert "failed" in page.read_text()
    assert "<!doctype html>" in page.read_text()
    assert run(tmp_path / "absent.npz", "--html", page).exit_code == 2
    assert not page.exists()


def test_quiet_prints_the_verdict_alone(run, answers):
    result = run(answers, "--quiet")
    assert result.stdout.startswith("Members can be told from non-members: AUC ")
    assert result.stdout.count("\n") == 1


@pytest.mark.parametrize("who", [True, False])
def test_without_members_or_without_others_nothing_was_checked(run, write, who):
    result = run(write(**ANSWERS | {"member": np.full(ROWS, who)}))
    assert result.exit_code == 5
    assert result.stderr.startswith("nothing was checked: ")
    assert f"all 400 rows are {'members' if who else 'non-members'}" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--defense", "rank-template"], "name them with --held-out FILE.npz"),
        (["--defense", "nonsense"], "no defense has that name; choose dynanoise, dynanoise-paper"),
        (["--defense", "absent.toml"], "there is no such file"),
        (["--repeats", "1,x"], "--repeats 1,x: needs whole numbers"),
        (["--repeats", "0"], "--repeats 0: needs whole numbers from 1"),
        (["--html", "/absent/report.html"], "/absent is not a directory"),
        (["--html", "/"], "/ is a directory"),
        (["--save", "x.npz"], "--save goes with --estimator"),
        (["--work", "x"], "--work goes with --estimator"),
        (["--near", "0.1"], "--near goes with --estimator"),
        (["--data", "x.npz"], "--data goes with --estimator"),
        (["--shadows", "16"], "--shadows goes with --estimator"),
        (["--workers", "1"], "--workers goes with --estimator"),
        (["--trust-pickle"], "--trust-pickle goes with --estimator"),
        (["--near", "0,1"], "--near 0,1: needs positive numbers"),
        (["--estimator", "m.skops", "--data", "d.npz"], "FILE.npz and --estimator: name one"),
    ],
)
def test_what_cannot_be_done_is_told(run, answers, arguments, message):
    result = run(answers, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_nothing_to_audit_is_explained(run):
    result = run()
    assert result.exit_code == 2
    assert "name FILE.npz, or --estimator MODEL.skops with --data DATA.npz" in result.stderr


def test_a_file_that_is_no_archive_or_lacks_arrays_is_explained(run, write, tmp_path):
    (tmp_path / "words.npz").write_text("words")
    assert "is not an .npz file of plain arrays" in run(tmp_path / "words.npz").stderr
    assert "does not exist" in run(tmp_path / "absent.npz").stderr
    assert "no array 'member'" in run(write(logits=LOGITS, labels=LABELS)).stderr
    assert "unknown array 'memberz'" in run(write(**ANSWERS, memberz=MEMBER)).stderr


def test_a_defense_for_other_classes_is_refused(run, answers, tmp_path):
    RankTemplate.calibrate(HELD_OUT[:, :3], HELD_OUT_LABELS % 3).save(tmp_path / "d.toml")
    result = run(answers, "--defense", tmp_path / "d.toml")
    assert result.exit_code == 2
    assert "calibrated for 3 classes, got 4" in result.stderr


def test_a_file_that_is_no_defense_is_refused(run, answers, tmp_path):
    (tmp_path / "d.toml").write_text("a = 1")
    assert "is not a defense file" in run(answers, "--defense", tmp_path / "d.toml").stderr
    Undefended().save(tmp_path / "none.toml")
    assert run(answers, "--defense", tmp_path / "none.toml").exit_code == 0


def test_a_mistake_of_ours_is_not_taken_for_one_of_the_user(run, answers, monkeypatch):
    def broken(*_arguments, **_options):
        raise ValueError("broken")

    monkeypatch.setattr(import_module("dynaserve.mia.audit"), "audit_data", broken)
    result = run(answers)
    assert result.exit_code == 3
    assert result.stderr.startswith("internal error: ValueError: broken")


def _without_shadows(data, **_):
    """Audit without the shadows, which takes no time."""
    return audit_data(replace(data, shadow_logits=None, shadow_member=None), repeats=(1,))


class TestEstimator:
    """``--estimator``: shadows are trained on the spot."""

    INPUTS = RNG.normal(size=(160, 5))
    CLASSES = np.array(["cat", "dog", "eel"])
    NAMES = CLASSES[(INPUTS[:, 0] + RNG.normal(size=160) > 0) + (INPUTS[:, 1] > 1).astype(int)]
    MEMBER = np.arange(160) % 2 == 0

    @pytest.fixture
    def arguments(self, tmp_path, write):
        fitted = LogisticRegression(C=100.0).fit(self.INPUTS[self.MEMBER], self.NAMES[self.MEMBER])
        skops.io.dump(fitted, tmp_path / "m.skops")
        path = write("d.npz", inputs=self.INPUTS, labels=self.NAMES, member=self.MEMBER)
        quick = ["--shadows", 4, "--repeats", 1, "--bootstrap", 0]
        return ["--estimator", tmp_path / "m.skops", "--data", path, *quick]

    def test_the_target_is_the_fitted_one_and_shadows_are_trained(self, run, arguments, tmp_path):
        saved = tmp_path / "answers.npz"
        result = run(*arguments, "--save", saved, "--near", "0.1", "--json")
        assert result.exit_code == 0, result.stderr
        facts = json.loads(result.stdout)
        assert (facts["shadows"], facts["members"], facts["classes"]) == (4, 80, 3)
        assert facts["source"] == "m.skops on d.npz"
        assert {"lira_online", "boosted@near50"} <= facts["attacks"].keys()
        fitted = skops.io.load(tmp_path / "m.skops")
        with np.load(saved) as arrays:
            p = np.exp(arrays["logits"])
            np.testing.assert_allclose(p, fitted.predict_proba(self.INPUTS), rtol=1e-5)
            np.testing.assert_array_equal(self.CLASSES[arrays["labels"]], self.NAMES)
            assert (arrays["shadow_member"].sum(axis=0) == 2).all()
        again = run(saved, "--json", "--repeats", 1, "--bootstrap", 0)
        assert json.loads(again.stdout)["attacks"] == facts["attacks"]
        refused = run(*arguments, "--save", saved)
        assert refused.exit_code == 2
        assert "exists; pass --force" in refused.stderr

    def test_held_out_rows_calibrate_the_defense(self, run, arguments, write):
        inputs = np.random.default_rng(1).normal(size=(320, 5))
        names = self.CLASSES[(inputs[:, 0] > 0) + (inputs[:, 1] > 1).astype(int)]
        path = write("h.npz", inputs=inputs, labels=names)
        result = run(*arguments, "--held-out", path, "--defense", "rank-template", "--json")
        assert "calibrated on 320 rows" in json.loads(result.stdout)["defense"]

    def test_rows_of_the_data_are_no_held_out_rows(self, run, arguments, tmp_path):
        result = run(*arguments, "--held-out", tmp_path / "d.npz")
        assert result.exit_code == 2
        assert "d.npz: 160 of 160 rows are audited too" in result.stderr

    @pytest.mark.parametrize("workers", [1, 2])
    def test_fits_that_did_not_converge_are_one_line(
        self, run, arguments, tmp_path, monkeypatch, capfd, workers
    ):
        monkeypatch.setattr(import_module("dynaserve.mia.audit"), "audit_data", _without_shadows)
        hasty = LogisticRegression(max_iter=1)
        with pytest.warns(ConvergenceWarning):
            hasty.fit(self.INPUTS[self.MEMBER], self.NAMES[self.MEMBER])
        skops.io.dump(hasty, tmp_path / "m.skops")
        result = run(*arguments, "--workers", workers)
        assert result.exit_code == 0, result.stderr
        (line,) = [one for one in result.stderr.splitlines() if "converge" in one]
        assert line.startswith("warning: 4 of 4 shadows did not converge")
        assert "converge" not in run(*arguments, "--workers", workers, "--quiet").stderr
        assert "ConvergenceWarning" not in capfd.readouterr().err  # of other processes

    def test_what_did_not_converge_is_told_again_when_training_is_resumed(
        self, run, arguments, tmp_path, monkeypatch
    ):
        monkeypatch.setattr(import_module("dynaserve.mia.audit"), "audit_data", _without_shadows)
        hasty = LogisticRegression(max_iter=1)
        with pytest.warns(ConvergenceWarning):
            hasty.fit(self.INPUTS[self.MEMBER], self.NAMES[self.MEMBER])
        skops.io.dump(hasty, tmp_path / "m.skops")
        resumable = [*arguments, "--work", tmp_path / "work"]
        first = run(*resumable)
        assert "4 of 4 shadows did not converge" in first.stderr
        assert run(*resumable).stderr == first.stderr  # no fit is left to do
        for model in sorted((tmp_path / "work").glob("model-*.npz"))[:3]:
            model.unlink()
        assert run(*resumable).stderr == first.stderr  # and here three
        assert "converge" not in run(*resumable, "--quiet").stderr

    def test_interrupted_training_goes_on(self, run, arguments, tmp_path, monkeypatch):
        arguments = [*arguments, "--json"]
        resumable = [*arguments, "--work", tmp_path / "work"]
        fit, seeds = EstimatorTrainer.fit, []

        def interrupted(self, inputs, labels, seed):
            if len(seeds) == 2:
                raise KeyboardInterrupt
            seeds.append(seed)
            return fit(self, inputs, labels, seed)

        monkeypatch.setattr(EstimatorTrainer, "fit", interrupted)
        assert run(*resumable).exit_code != 0
        assert len(list((tmp_path / "work").glob("model-*.npz"))) == 2

        def counted(self, inputs, labels, seed):
            seeds.append(seed)
            return fit(self, inputs, labels, seed)

        monkeypatch.setattr(EstimatorTrainer, "fit", counted)
        resumed = run(*resumable)
        assert resumed.exit_code == 0, resumed.stderr
        assert len(seeds) == len(set(seeds)) == 4
        assert run(*arguments).stdout == resumed.stdout

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"member": None}, "needs an array 'member' (160,) of booleans"),
            ({"inputs": None}, "no array 'inputs'"),
            ({"labels": None}, "no array 'labels'"),
            ({"inputs": INPUTS[:, :4]}, "m.skops takes numbers of shape (n, 5)"),
            ({"labels": NAMES[:9]}, "labels have shape (9,), inputs (160, 5)"),
            ({"labels": np.full(160, "cow")}, "1 of the labels are no classes of m.skops"),
            ({"member": MEMBER[:9]}, "needs an array 'member' (160,)"),
        ],
    )
    def test_data_that_does_not_fit_is_named(self, run, arguments, write, change, message):
        arrays = {"inputs": self.INPUTS, "labels": self.NAMES, "member": self.MEMBER} | change
        write("d.npz", **{name: array for name, array in arrays.items() if array is not None})
        result = run(*arguments)
        assert result.exit_code == 2
        assert message in result.stderr

    def test_all_members_leave_nothing_to_check(self, run, arguments, write):
        write("d.npz", inputs=self.INPUTS, labels=self.NAMES, member=np.ones(160, bool))
        assert run(*arguments).exit_code == 5

    def test_other_models_and_missing_data_are_refused(self, run, arguments, tmp_path):
        assert "needs --data DATA.npz" in run(*arguments[:2]).stderr
        (tmp_path / "m.pkl").write_bytes(b"")
        result = run("--estimator", tmp_path / "m.pkl", *arguments[2:])
        assert result.exit_code == 2
        assert "read from a .skops file" in result.stderr
        odd = run(*arguments, "--shadows", 5)
        assert odd.exit_code == 2
        assert "even number" in odd.stderr


def test_no_input_is_written_over_by_the_page(run, answers, tmp_path):
    before = answers.read_bytes()
    result = run(answers, "--html", answers, "--force")
    assert result.exit_code == 2
    assert "is an input; name another file to write" in result.stderr
    (tmp_path / "link.npz").hardlink_to(answers)
    assert run(answers, "--html", tmp_path / "link.npz", "--force").exit_code == 2
    defense = tmp_path / "defense.toml"
    DynaNoise.paper(0.3, 2.0, 10.0).save(defense)
    assert run(answers, "--defense", defense, "--html", defense).exit_code == 2
    assert defense.exists()
    assert answers.read_bytes() == before


@pytest.mark.parametrize("words", ["my notes", "<!doctype html>\n<title>Mine</title>", ""])
def test_what_is_no_report_is_written_over_only_if_told(run, answers, tmp_path, words):
    notes = tmp_path / "notes.html"
    notes.write_text(words)
    result = run(answers, "--html", notes)
    assert result.exit_code == 2
    assert "exists; pass --force to overwrite it" in result.stderr
    assert notes.read_text() == words
    assert run(answers, "--repeats", "1", "--html", notes, "--force").exit_code == 0
    assert "<!doctype html>" in notes.read_text()
    assert run(answers, "--repeats", "1", "--html", notes).exit_code == 0
