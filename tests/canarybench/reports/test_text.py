from __future__ import annotations

from dataclasses import replace

from dynaserve.canarybench.rates import Rate
from dynaserve.canarybench.report import Suppressed
from dynaserve.canarybench.reports import render
from dynaserve.canarybench.reports.text import headline


def text(report):
    return render(report, "text", "release.json")


def test_the_verdict_comes_first(report):
    assert text(report).splitlines()[0] == (
        "FAILED: 1 canary leaked, in 1 place; stale in the baseline: 1 entry (release.json)"
    )


def test_a_pass_says_of_how_many(report):
    clean = replace(
        report, leaks=(), stale_baseline=(), canary_rate=Rate(0, 50), suppressed=Suppressed()
    )
    assert text(clean).startswith("PASSED: 50 canaries at risk, none leaked (release.json)\n")
    assert "zero found is not zero: up to 7.11% may leak" in text(clean)
    assert "0 clusters, 0 canaries" in text(clean)


def test_a_pass_in_spite_of_leaks_does_not_say_that_there_were_none(report):
    accepted = replace(report, leaks=report.leaks[1:], stale_baseline=())
    assert headline(accepted) == (
        "PASSED: what leaked is accepted, or found by tiers that are wrong too often"
    )


def test_everything_is_in_it_and_fits(report):
    shown = text(report)
    for part in (
        "2 of 9 = 22.2%",
        "1 of 3 = 33.3%",
        "2 clusters, 4 canaries",
        "17 email, 20 phone, 27 zip",
        "mean 1.5, highest 3.0 of 10.0 bits",
        "c9@dd",
        "all 13 canaries found",
        "/clusters/0/title",
        "accepted",
        "tier does not gate",
        "5 of 1000 = 0.5%",
    ):
        assert part in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_a_long_list_says_what_it_leaves_out(report):
    many = replace(report, leaks=report.leaks[:1] * 100)
    assert text(many).count("/clusters/0/title") == 40
    assert "... and 60 more, all in --format json" in text(many)


def test_brackets_are_no_markup(report):
    odd = replace(report.leaks[0], place="/[bold]x[/bold]")
    assert "/[bold]x[/bold]" in text(replace(report, leaks=(odd,)))
