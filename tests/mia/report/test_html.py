from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from dynaserve.defenses import DynaNoise, NoiseKey, RankTemplate, Undefended
from dynaserve.mia.gates import Gate
from dynaserve.mia.report import Report, parameters_of, to_html
from tests.mia.report.audits import defended_audit, made_audit, result

pytest.importorskip("jinja2")

EVIL = "<script>alert('x')</script> & \"quoted\""
REQUESTING = {"src", "href", "srcset", "action", "data", "poster", "background", "xlink:href"}


class Page(HTMLParser):
    """Keeps what was opened, and that it was closed."""

    VOID = frozenset({"meta", "br", "link", "img", "input"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def test_it_is_well_formed_and_says_what_was_found():
    page = Page(to_html(Report(defended_audit(), "answers.npz")))
    assert page.open == []
    for part in (
        "Asked once, the defense lowers the best attack from AUC .900 to .640",
        "Membership audit of answers.npz",
        ".660 + .040 = .700",
        "LiRA, offline lira_offline .800 .850 .840–.870 asked once 45.0% 22.5% .650 .700 "
        ".690–.720 asked 50 near 30.0% 15.0%",
        "The moon.",
        "1,500 members, 2,000 non-members, 10 classes",
    ):
        assert part in page.text


def test_nothing_is_requested_from_anywhere():
    text = to_html(Report(defended_audit(), "answers.npz"))
    page = Page(text)
    assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object", "base"}
    assert not [(tag, name) for tag, attrs in page.tags for name in attrs if name in REQUESTING]
    assert not [(tag, name) for tag, attrs in page.tags for name in attrs if name.startswith("on")]
    assert not re.search(r"url\(|@import|https?:|//[a-z]", text)
    (policy,) = [a["content"] for _, a in page.tags if a.get("http-equiv")]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_whatever_comes_from_outside_is_escaped():
    audit = defended_audit(defense=EVIL, not_tested=(EVIL,))
    text = to_html(Report(audit, EVIL, parameters={EVIL: EVIL}))
    assert "<script" not in text
    assert Page(text).text.count("<script>alert('x')</script> & \"quoted\"") >= 6


def test_the_bare_model_has_one_plot_and_one_set_of_columns():
    bare = to_html(Report(made_audit([result("gap", 0.6), result("loss", 0.9)])))
    assert bare.count("<figure>") == 1
    assert "with the defense" not in bare
    assert "MIDPUT" not in bare
    assert to_html(Report(defended_audit())).count("<figure>") == 2


def test_gates_are_shown_with_what_was_measured():
    audit = defended_audit()
    gates = [Gate.parse(each).check(audit) for each in ("lira_auc>0.6", "ece>0.03")]
    text = Page(to_html(Report(audit, gates=gates))).text
    assert "lira_auc>0.6 measured .700 failed ece>0.03 measured .020 ok" in text


def test_the_same_audit_gives_the_same_page():
    report = Report(defended_audit(), "answers.npz")
    assert to_html(report) == to_html(report)


def test_parameters_are_those_of_the_defenses_file_and_never_its_key():
    secret = bytes(range(32))
    defense = DynaNoise.keyed(NoiseKey(secret), base_variance=0.7)
    parameters = parameters_of(defense)
    assert parameters["kind"] == "dynanoise"
    assert parameters["base_variance"] == 0.7
    text = to_html(Report(defended_audit(), parameters=parameters))
    assert "base variance 0.7" in Page(text).text
    assert secret.hex() not in text
    assert parameters_of(Undefended()) == {"kind": "none"}


def test_long_parameters_are_cut_short():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 9, 400)
    template = RankTemplate.calibrate(rng.normal(size=(400, 9)) + 3 * np.eye(9)[labels], labels)
    text = Page(to_html(Report(defended_audit(), parameters=parameters_of(template)))).text
    assert "… (9 values)" in text
    assert "calibrated on 400" in text
