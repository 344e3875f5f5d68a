from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

import pytest

from dynaserve.rlaa.records import ATTRIBUTES
from dynaserve.serving import review
from dynaserve.serving.anonymizer import anonymizer_service

ROOT = Path(review.__file__).parents[2]


@pytest.fixture(scope="module")
def page(start: Any) -> Any:
    client = start(anonymizer_service(anonymizer=object, metrics={"enabled": False}))
    return client.request("GET", "/review")


def test_the_page_is_html_that_is_kept_nowhere(page: Any) -> None:
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["referrer-policy"] == "no-referrer"


def test_nothing_in_the_page_comes_from_elsewhere_or_runs_by_an_attribute(page: Any) -> None:
    assert not re.findall(r"(?:src|href|action)=(?!\"data:,\")", page.text)
    assert not re.findall(r"\son\w+=|style=|javascript:|https?://|@import|url\(", page.text)
    assert "innerHTML" not in page.text


def test_the_policy_names_the_one_script_and_the_one_style_of_the_page(page: Any) -> None:
    policy = dict(
        each.split(" ", 1) for each in page.headers["content-security-policy"].split("; ")
    )
    assert policy["default-src"] == "'none'"
    assert policy["connect-src"] == "'self'"
    for tag, name in (("script", "script-src"), ("style", "style-src")):
        (inside,) = re.findall(rf"<{tag}[^>]*>(.*?)</{tag}>", page.text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert policy[name] == f"'sha256-{digest}'"
    assert {policy[name] for name in ("base-uri", "form-action", "frame-ancestors")} == {"'none'"}


def test_it_offers_the_attributes_that_there_are(page: Any) -> None:
    (listed,) = re.findall(r"ATTRIBUTES = \[(.*?)\]", page.text)
    assert tuple(re.findall(r'"(\w+)"', listed)) == ATTRIBUTES


def test_every_control_has_a_name_and_what_changes_is_announced(page: Any) -> None:
    assert page.text.count('role="status" aria-live="polite"') == 3
    assert '<html lang="en">' in page.text
    assert 'for="source"' in page.text
    for name in re.findall(r'aria-(?:labelledby|describedby)="([\w-]+)"', page.text):
        assert f'id="{name}"' in page.text


def test_it_comes_with_the_package() -> None:
    (listed,) = re.findall(r"^dynaserve = \[(.*)\]$", (ROOT / "pyproject.toml").read_text(), re.M)
    patterns = re.findall(r'"(.*?)"', listed)
    shipped = {path for pattern in patterns for path in (ROOT / "dynaserve").glob(pattern)}
    assert review.FILE in shipped
