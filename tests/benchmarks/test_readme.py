"""The README's performance section."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import readme, report, scaling, service
from benchmarks.readme import BEGIN, END, ResultsError
from tests.benchmarks.results import FORMULA, MACHINE, scaled, served, timed


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a repository with results and a README."""
    made = {"kernels": timed(FORMULA), "scaling": scaled(), "service": served()}
    for module, name in ((report, "kernels"), (scaling, "scaling"), (service, "service")):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(made[name]))
        monkeypatch.setattr(module, "RESULTS", path)
    monkeypatch.setattr(readme, "ROOT", tmp_path)
    monkeypatch.setattr(readme, "README", tmp_path / "README.md")
    monkeypatch.setattr(readme, "FIGURE", tmp_path / "docs" / "figures" / "scaling.png")
    readme.README.write_text(f"before\n\n{BEGIN}\nold\n{END}\n\nafter\n")
    monkeypatch.setattr("sys.argv", ["readme"])
    return tmp_path


@pytest.mark.usefixtures("root")
def test_the_section_is_rewritten_and_nothing_else() -> None:
    assert readme.main() == 0
    text = readme.README.read_text()
    assert text.startswith("before\n\n" + BEGIN)
    assert text.endswith(END + "\n\nafter\n")
    assert "old" not in text
    assert "| 1 x 10 | 0.50 | 0.25 | 10.00 | 5.00 | 3.00 |" in text
    assert "| 1 x 10 | 1 | dynanoise | 1.01 |" in text
    assert "`dynanoise` 1.84 times faster" in text
    assert "Some CPU, family 1, model 2; 2 cores; avx512 kernels" in text
    assert readme.FIGURE.read_bytes().startswith(b"\x89PNG")
    assert "(docs/figures/scaling.png)" in text


@pytest.mark.usefixtures("root")
def test_writing_twice_changes_nothing() -> None:
    readme.main()
    once = readme.README.read_text()
    readme.main()
    assert readme.README.read_text() == once


@pytest.mark.usefixtures("root")
def test_missing_results_name_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    service.RESULTS.unlink()
    before = readme.README.read_text()
    assert readme.main() == 1
    assert capsys.readouterr().err == "service.json is missing: run make bench first\n"
    assert readme.README.read_text() == before


@pytest.mark.usefixtures("root")
def test_results_of_two_machines_are_not_mixed() -> None:
    other = scaled() | {"machine": MACHINE | {"isa": "avx2"}}
    scaling.RESULTS.write_text(json.dumps(other))
    with pytest.raises(ResultsError, match=r"different machines: .*avx2.*avx512"):
        readme.section()


@pytest.mark.parametrize("text", ["", BEGIN, END + BEGIN, BEGIN + END + END])
def test_a_document_without_its_marks_stays_as_it_is(text: str) -> None:
    with pytest.raises(ResultsError, match="must hold"):
        readme.replaced(text, "new")


def test_a_table_has_a_rule_below_its_headings() -> None:
    assert readme.markdown(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"


def test_the_repository_s_readme_has_the_marks() -> None:
    text = readme.README.read_text(encoding="utf-8")
    assert "new" in readme.replaced(text, "new")


@pytest.mark.usefixtures("root")
def test_printing_writes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["readme", "--print"])
    before = readme.README.read_text()
    assert readme.main() == 0
    assert "| dynanoise |" in capsys.readouterr().out
    assert readme.README.read_text() == before
    assert not readme.FIGURE.exists()
