"""The README's performance section."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import readme, report, scaling, service
from benchmarks.peers import __main__ as others
from benchmarks.readme import ResultsError, kernels, marks, peers, requests
from tests.benchmarks.results import FORMULA, MACHINE, scaled, served, timed

DOCUMENT = "before\n\n{}\nold kernels\n{}\n\nbetween\n\n{}\nold requests\n{}\n\nafter\n".format(
    *marks(kernels), *marks(requests)
)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a repository with results and a README."""
    made = {"kernels": timed(FORMULA), "scaling": scaled(), "service": served()}
    for module, name in ((report, "kernels"), (scaling, "scaling"), (service, "service")):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(made[name]))
        monkeypatch.setattr(module, "RESULTS", path)
    monkeypatch.setattr(others, "RESULTS", tmp_path / "peers.json")
    monkeypatch.setattr(readme, "ROOT", tmp_path)
    monkeypatch.setattr(readme, "README", tmp_path / "README.md")
    monkeypatch.setattr(readme, "FIGURE", tmp_path / "docs" / "figures" / "scaling.png")
    readme.README.write_text(DOCUMENT)
    monkeypatch.setattr("sys.argv", ["readme"])
    return tmp_path


@pytest.mark.usefixtures("root")
def test_the_blocks_are_rewritten_and_nothing_else() -> None:
    assert readme.main() == 0
    text = readme.README.read_text()
    assert text.startswith("before\n\n" + marks(kernels)[0])
    assert f"{marks(kernels)[1]}\n\nbetween\n\n{marks(requests)[0]}" in text
    assert text.endswith(marks(requests)[1] + "\n\nafter\n")
    assert "old" not in text
    assert "| 1 x 10 | 0.50 | 0.25 | 10.00 | 5.00 | 3.00 |" in text
    assert "| 1 x 10 | JSON | 1 | dynanoise | 1.01 |" in text
    assert "| 1 x 10 | binary | 1 | dynanoise | 1.01 |" in text
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
def test_a_block_without_results_stays_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    report.RESULTS.unlink()
    assert readme.main() == 0
    assert capsys.readouterr().out == "README.md: requests are written\n"
    text = readme.README.read_text()
    assert "old kernels" in text
    assert "old requests" not in text
    assert not readme.FIGURE.exists()


@pytest.mark.usefixtures("root")
def test_without_any_results_the_command_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    scaling.RESULTS.unlink()
    service.RESULTS.unlink()
    assert readme.main() == 1
    assert capsys.readouterr().err == "there are no results: run make bench first\n"
    assert readme.README.read_text() == DOCUMENT


@pytest.mark.usefixtures("root")
def test_a_block_holds_results_of_one_machine() -> None:
    other = scaled() | {"machine": MACHINE | {"isa": "avx2"}}
    scaling.RESULTS.write_text(json.dumps(other))
    with pytest.raises(ResultsError, match=r"different machines: .*avx2.*avx512"):
        readme.kernels()


@pytest.mark.usefixtures("root")
def test_every_block_names_its_own_machine() -> None:
    other = served() | {"machine": MACHINE | {"isa": "avx2"}}
    service.RESULTS.write_text(json.dumps(other))
    assert readme.main() == 0
    first, second = readme.README.read_text().split("between")
    assert "avx512 kernels" in first
    assert "avx2 kernels" in second


@pytest.mark.usefixtures("root")
def test_other_servers_are_a_row_each_with_a_median_for_every_case() -> None:
    def figures(p50: float) -> dict[str, object]:
        ratios = {"MLServer JSON": [1.0, 1.0, 1.0], "BentoML JSON": [1.0, 1.0, 1.0]}
        return {"p50_ms": [p50, p50 - 0.5, p50 + 0.5], "p90_ms": 9.0, "faster_than": ratios}

    cases = [
        {"rows": 1, "classes": 10, "clients": 1, "contestants": {"theirs": figures(2.0)}},
        {"rows": 64, "classes": 1000, "clients": 8, "contestants": {"theirs": figures(40.0)}},
    ]
    others.RESULTS.write_text(json.dumps({"machine": MACHINE, "cases": cases}))
    readme.README.write_text(DOCUMENT + "{}\nold\n{}\n".format(*marks(peers)))
    assert readme.main() == 0
    text = readme.README.read_text()
    assert "| server | 1 x 10, 1 client | 64 x 1000, 8 clients |" in text
    assert "| theirs | 2.00 (1.50 to 2.50) | 40.00 (39.50 to 40.50) |" in text
    assert "`make bench-peers` measures yours" in text


BEGIN, END = marks(kernels)


@pytest.mark.parametrize("text", ["", BEGIN, END + BEGIN, BEGIN + END + END])
def test_a_document_without_its_marks_stays_as_it_is(text: str) -> None:
    with pytest.raises(ResultsError, match="must hold"):
        readme.replaced(text, kernels, "new")


def test_a_table_has_a_rule_below_its_headings() -> None:
    assert readme.markdown(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"


def test_the_repository_s_readme_has_the_marks() -> None:
    text = readme.README.read_text(encoding="utf-8")
    for block in readme.BLOCKS:
        assert "new" in readme.replaced(text, block, "new")


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
