from __future__ import annotations

import io

import pytest
from rich.console import Console

from dynaserve.mia.attacks import ATTACKS
from dynaserve.mia.gates import Gate
from dynaserve.mia.report import Report, print_text, to_text
from tests.mia.report.audits import defended_audit, made_audit, result


def whole_audit():
    """Return an audit of all attacks there are, with figures as wide as they get."""
    results = [result(name, 0.99 if name != "gap" else 0.9) for name in ATTACKS]
    results += [result(name, 0.999, "near50") for name in ATTACKS]
    return made_audit(results, results)


@pytest.mark.parametrize("width", [80, 100])
def test_it_fits_the_width_and_no_cell_is_cut_off(width):
    text = to_text(Report(whole_audit(), "answers.npz"), width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    for name in ATTACKS:
        assert f"\n{name} " in text


def test_a_row_has_the_figures_before_and_after():
    text = to_text(Report(defended_audit()))
    (row,) = [line for line in text.splitlines() if line.startswith("lira_offline")]
    assert row.split() == [
        *["lira_offline", ".800", ".850", ".840–.870", "45.0%", "22.5%"],
        *[".650", ".700", ".690–.720", "30.0%", "15.0%"],
    ]


def test_a_narrow_terminal_gets_the_tables_one_under_the_other():
    lines = to_text(Report(defended_audit()), 80).splitlines()
    rows = [line.split() for line in lines if line.startswith("lira_offline")]
    assert [row[2] for row in rows] == [".850", ".700"]


def test_the_bare_model_has_one_table():
    text = to_text(Report(made_audit([result("gap", 0.6), result("loss", 0.9)])))
    assert "without a defense" in text
    assert "with the defense" not in text
    assert "MIDPUT" not in text
    assert "undefended" not in text


def test_the_leak_is_split_by_form_of_asking():
    lines = to_text(Report(defended_audit())).splitlines()
    once = next(line for line in lines if line.startswith("once"))
    near = next(line for line in lines if line.startswith("50 near"))
    assert once.split() == ["once", ".900", ".640", ".620", ".020", "lira_online", "the", "label"]
    assert near.split()[2:6] == [".910", ".700", ".660", ".040"]


def test_what_was_not_tested_and_the_gates_are_listed():
    audit = defended_audit(not_tested=("The [bold]moon[/bold].",))
    gates = [Gate.parse(each).check(audit) for each in ("lira_auc>0.6", "ece>0.03")]
    text = to_text(Report(audit, "a[red].npz", gates=gates))
    assert "The [bold]moon[/bold]." in text
    assert "a[red].npz: 1,500 members, 2,000 non-members, 10 classes, 16 shadow models" in text
    assert "FAILED  lira_auc>0.6  measured .700" in text
    assert "ok      ece>0.03      measured .020" in text


def test_a_terminal_gets_colours_and_a_file_gets_none():
    terminal, file = io.StringIO(), io.StringIO()
    report = Report(defended_audit())
    print_text(report, Console(file=terminal, force_terminal=True, width=100, color_system="256"))
    print_text(report, Console(file=file, width=40))
    assert "\x1b[" in terminal.getvalue()
    assert file.getvalue() == to_text(report)
