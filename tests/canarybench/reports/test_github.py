from __future__ import annotations

from dataclasses import replace

from dynaserve.canarybench.reports import render


def lines(report, source="out/release.json"):
    return render(report, "github", source).splitlines()


def test_every_leak_is_an_annotation_of_its_level(report):
    commands = [line.split(" ", 1)[0] for line in lines(report)]
    assert commands == ["::error", "::notice", "::warning", "::error", "::error"]


def test_lines_of_a_text_are_marked(report):
    assert lines(report)[2].startswith(
        "::warning file=out/release.json,line=7,col=12,title=canary audit::Canary c3 (email, edit,"
    )


def test_what_came_by_a_pipe_has_no_file(report):
    assert lines(report, "-")[0].startswith("::error title=canary audit::Canary c1")


def test_what_would_end_a_command_is_escaped(report):
    assert lines(report, "a,b:c%d\n.txt")[0].startswith(
        "::error file=a%2Cb%3Ac%25d%0A.txt,title=canary audit::"
    )


def test_the_last_one_is_the_verdict(report):
    assert lines(report)[-1].startswith("::error title=canary audit::FAILED: 1 canary leaked")
    clean = replace(report, leaks=(), stale_baseline=())
    (verdict,) = lines(clean)
    assert verdict.startswith("::notice title=canary audit::PASSED")
    assert "2 of 9 = 22.2%25" in verdict
