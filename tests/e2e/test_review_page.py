"""The review page in a real browser, on a real server: found, decided, composed, by keyboard."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.browser import CHROMIUM, Browser

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine"),
]

TEXT = "Hi 🙂 I'm 31.\nMail jo.brandt@example.com, please."
HOSTILE = '<img src=x onerror="document.title = 1"> I\'m 31.'
LEVELS = ["HIGH", "HIGH"]


@pytest.fixture(scope="module")
def server(serve: Any) -> Any:
    return serve("dynaserve.serving.anonymizer:Anonymizer")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


@pytest.fixture
def page(server: Any, browser: Browser) -> Browser:
    browser.heard.clear()
    browser.open(f"{server.url}/review")
    return browser


def analyze(page: Browser, text: str) -> None:
    page("document.getElementById('source').focus()")
    page("document.getElementById('source').select()")
    page.type(text)
    page.press("Enter", 13, modifiers=2)
    page.wait_for("!document.getElementById('analyze').disabled")
    page.wait_for("document.getElementById('message').textContent !== 'Looking for leaks …'")


def text_of(page: Browser, name: str) -> str:
    return str(page(f"document.getElementById('{name}').textContent"))


def page_levels(page: Browser) -> Any:
    return page("[...document.querySelectorAll('#passage sup')].map((each) => each.textContent)")


def focus_on(page: Browser, label: str) -> None:
    """Go on with the tabulator until something with this text has the focus."""
    for _ in range(60):
        page.tab()
        if page("document.activeElement.textContent") == label:
            assert page("getComputedStyle(document.activeElement).outlineStyle") == "solid"
            return
    raise AssertionError(f"the tabulator does not reach {label}")


def test_leaks_are_highlighted_with_their_level_and_the_proposal_is_the_servers(
    page: Browser, server: Any
) -> None:
    analyze(page, TEXT)
    assert page_levels(page) == LEVELS
    shown = page("[...document.querySelectorAll('#passage del')].map((each) => each.textContent)")
    assert shown == ["I'm 31", "jo.brandt@example.com"]
    alone = httpx.post(f"{server.url}/anonymize", json={"text": TEXT}, timeout=60).json()["text"]
    assert text_of(page, "result") == alone
    assert "31" not in alone
    assert page("document.getElementById('verdict').className") == "good"
    assert text_of(page, "copy") == "Copy"


def test_a_rejected_high_leak_stays_and_is_called_not_releasable_by_keyboard_alone(
    page: Browser,
) -> None:
    analyze(page, TEXT)
    assert page("document.activeElement.id") == "decisions-title"
    focus_on(page, "Reject")
    page.press(" ", 32)
    assert page("document.activeElement.getAttribute('aria-pressed')") == "true"
    assert text_of(page, "result").startswith("Hi 🙂 I'm 31.\nMail ")
    assert "jo.brandt" not in text_of(page, "result")
    assert text_of(page, "verdict") == "Not releasable: 1 HIGH leak would stay in the text."
    assert text_of(page, "copy") == "Copy anyway"
    focus_on(page, "Reject all")
    page.press("Enter", 13)
    assert text_of(page, "result") == TEXT
    assert "2 HIGH leaks" in text_of(page, "verdict")
    page("document.getElementById('accept-all').click()")
    assert page("document.getElementById('verdict').className") == "good"


def test_a_replacement_of_ones_own_is_taken_and_has_to_be_checked(page: Browser) -> None:
    analyze(page, TEXT)
    page("document.getElementById('after-0').focus()")
    page("document.getElementById('after-0').select()")
    page.type("I'm 31 years old")
    assert text_of(page, "result").startswith("Hi 🙂 I'm 31 years old.\n")
    assert text_of(page, "verdict").startswith("Not checked: 1 replacement.")
    page("document.getElementById('again').click()")
    page.wait_for("document.querySelectorAll('#passage del').length === 1")
    assert "31" not in text_of(page, "result")


def test_what_is_copied_is_the_result(page: Browser, server: Any) -> None:
    page.call(
        "Browser.grantPermissions",
        origin=server.url,
        permissions=["clipboardReadWrite", "clipboardSanitizedWrite"],
    )
    analyze(page, TEXT)
    focus_on(page, "Copy")
    page.press("Enter", 13)
    page.wait_for("document.getElementById('copied').textContent")
    assert text_of(page, "copied") == "Copied."
    assert page("navigator.clipboard.readText()") == text_of(page, "result")


def test_markup_in_a_text_is_text(page: Browser) -> None:
    analyze(page, HOSTILE)
    assert text_of(page, "result").startswith('<img src=x onerror="document.title = 1">')
    assert page("document.querySelectorAll('main img').length") == 0
    assert page("document.title") == "Review a text · DynaServe"


def test_the_attributes_that_are_chosen_are_the_ones_looked_for(page: Browser) -> None:
    page("document.querySelector('#attributes input[value=age]').click()")
    analyze(page, TEXT)
    assert "I'm 31" in text_of(page, "result")
    assert "jo.brandt" not in text_of(page, "result")  # identifiers are always in


def test_a_text_that_is_refused_says_why_and_shows_nothing(page: Browser) -> None:
    analyze(page, TEXT)
    analyze(page, "a" * 60_000)
    assert "send at most 50000" in text_of(page, "message")
    assert page("document.getElementById('review').hidden")


@pytest.fixture
def odd_page(odd: Any, browser: Browser) -> Browser:
    browser.open(f"{odd.url}/review")
    return browser


def test_a_failed_analysis_vouches_for_nothing(odd_page: Browser) -> None:
    analyze(odd_page, f"failing {TEXT}")
    assert text_of(odd_page, "message") == "attacker: no answer"
    assert text_of(odd_page, "verdict").startswith("Not releasable: the analysis failed")
    assert text_of(odd_page, "copy") == "Copy anyway"


def test_a_leak_that_is_left_when_the_rounds_run_out_is_nobodys_decision(
    odd_page: Browser,
) -> None:
    analyze(odd_page, "We are exhausted.")
    assert page_levels(odd_page) == ["MED"]
    assert odd_page("document.getElementById('verdict').className") == "bad"
    assert text_of(odd_page, "verdict") == (
        "Not releasable: the rounds ran out while something was left open."
    )
    assert text_of(odd_page, "copy") == "Copy anyway"


def test_an_edit_that_cost_too_much_is_unchecked_until_it_is_rejected(odd_page: Browser) -> None:
    analyze(odd_page, "It was costly.")
    assert text_of(odd_page, "result") == "It was cheap."
    assert text_of(odd_page, "verdict").startswith("Not checked: 1 replacement.")
    odd_page("document.getElementById('reject-all').click()")
    assert text_of(odd_page, "result") == "It was costly."
    assert text_of(odd_page, "verdict").endswith("; 1 MED leak stays, as you decided.")
    assert text_of(odd_page, "copy") == "Copy"


def test_it_asks_this_server_alone_and_breaks_no_policy_of_its_own(
    page: Browser, server: Any
) -> None:
    analyze(page, TEXT)
    assert page.requested() == {f"{server.url}/review", f"{server.url}/review/analyze"}
    assert page.complaints() == []


def test_the_policy_forbids_what_does_not_stand_in_the_page(page: Browser, server: Any) -> None:
    """The test above is worth something: what is foreign is stopped and complained about."""
    page("document.head.append(Object.assign(document.createElement('script'), {text: 'x = 1'}))")
    page("document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:9/x.png'}))")
    page.wait_for("true")
    complaints = str(page.complaints())
    assert page("typeof x") == "undefined"
    assert "script-src" in complaints
    assert "img-src" in complaints
    policy = httpx.get(f"{server.url}/review").headers["content-security-policy"]
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'")


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_the_window_and_can_be_read(
    page: Browser, tmp_path: Path, width: int, dark: bool
) -> None:
    analyze(page, f"{TEXT} {'x' * 300}")
    page.screenshot(tmp_path / "page.png", width, dark=dark)
    assert page("document.documentElement.scrollWidth <= innerWidth")
    for name in ("body", "#verdict", "#copy", "#decisions .level", ".change label"):
        assert contrast(page, name) >= 4.5, name


def contrast(page: Browser, selector: str) -> float:
    """Return the contrast of text and ground as WCAG 2 has it."""
    found = page(f"""(() => {{
        let at = document.querySelector({selector!r});
        const ink = getComputedStyle(at).color;
        while (getComputedStyle(at).backgroundColor === "rgba(0, 0, 0, 0)") at = at.parentElement;
        return [ink, getComputedStyle(at).backgroundColor];
    }})()""")
    one, other = sorted(luminance(color) for color in found)
    return (other + 0.05) / (one + 0.05)


def luminance(color: str) -> float:
    channels = [int(each) / 255 for each in re.findall(r"\d+", color)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
