"""The page on which a person reviews a text: one file, and a policy that lets it load nothing else.

It is the same for everybody: no text of a request may enter it here.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

FILE = Path(__file__).with_name("review.html")


async def page(_: Request) -> Response:
    """Answer with the page."""
    html = read_page()
    headers = {
        "content-security-policy": policy(html),
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
    }
    return HTMLResponse(html, headers=headers)


@functools.cache
def read_page() -> str:
    """Return the page's source."""
    return FILE.read_text(encoding="utf-8")


@functools.cache
def policy(html: str) -> str:
    """Return a policy under which only what stands in the page runs, and asks only this server."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {digests(html, 'script')}",
            f"style-src {digests(html, 'style')}",
            "img-src data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        ]
    )


def digests(html: str, tag: str) -> str:
    """Return the hashes of all elements of a kind, as a policy names them."""
    found = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
    hashes = (base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in found)
    return " ".join(f"'sha256-{each}'" for each in hashes)
