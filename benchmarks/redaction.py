"""How long redaction takes on hostile text: `python -m benchmarks.redaction`.

No pattern may take more than 50 ms on 100,000 characters, whatever they are. The table shows, for
each pattern and each layer, which searches by several and looks at what they find, the slowest of
many texts made to be slow.
"""

from __future__ import annotations

import importlib
import re
import time
from collections.abc import Callable
from types import ModuleType

from dynaserve.redaction import LAYERS, redact

CHARACTERS = 100_000
HOSTILE = (
    *("a", "1", " ", "@", ":", "(", "_", "é", "\0", "\n", "a@", "a.", "a-", "1 ", "1-", "1.", "A "),
    *(
        "1 A ",
        "1 a ",
        "1:",
        "a:",
        "DE11",
        "DE11 ",
        "pin ",
        "pin is ",
        "pin is '",
        "pin:",
        "http://",
        "www.",
    ),
    *("a" * 11 + " ", "a" * 15 + " ", "415-555-0123,", "+442079460123;", "canary-", "1.1.1.1 "),
    *(
        "550e8400-",
        " dot ",
        " at ",
        "a at b dot ",
        "[at]",
        "%40",
        "a%40a.",
        "aa-",
        "1 Aaaaaaaaaaa ",
        "1 A A A ",
    ),
    *("Aweg ", "P.O. ", "12 rue a ", "1   ", "+1 ", "DE89370400440532013000 ", "aB3dE6gH9jK2mN5p "),
    *("secret=", "aA1", "&#64;", "１", "\u200b", "1,", "@ ", "a @ a.b ", "word-word-word-"),
)
"""Repeated, each of these makes some pattern begin often and fail late."""


def milliseconds(work: Callable[[str], object], text: str) -> float:
    """Return the processor time of the fastest of three runs."""
    times = []
    for _ in range(3):
        started = time.thread_time()
        work(text)
        times.append(time.thread_time() - started)
    return 1e3 * min(times)


def module_of(layers: str) -> ModuleType:
    """Return a module of the package, where a layer may have its name."""
    return importlib.import_module(f"dynaserve.redaction.{layers}")


def search(pattern: re.Pattern[str]) -> Callable[[str], object]:
    """Return what finds every match in a text."""
    return lambda text: sum(1 for _ in pattern.finditer(text))


SEARCHED = {
    "mail": ("WITH_SIGN", "SPELLED"),
    "contact": (
        "URL",
        "OWN_SITE",
        "HOSTED",
        "ADDRESS",
        "GERMAN_STREET",
        "GERMAN_PLACE",
        "PO_BOX",
        "UK_POSTCODE",
        "UK_POSTCODE_LOWER",
    ),
    "impersonal": ("IMPERSONAL",),
    "numbers": ("RUN", "IPV4", "COLONS", "MAC", "IBAN"),
    "secrets": ("TOKEN", "PHRASE", "CUE"),
}
"""The patterns searched for in whole texts; the others see a piece that one of these found."""


def main() -> None:
    texts = {unit: unit * (CHARACTERS // len(unit)) for unit in HOSTILE}
    works: dict[str, Callable[[str], object]] = {
        f"pattern {name.lower()}": search(getattr(module_of(layers), f"_{name}"))
        for layers, names in SEARCHED.items()
        for name in names
    }
    for layer in LAYERS:
        works[f"layer {layer.__name__}"] = lambda text, layer=layer: list(layer(text))  # type: ignore[misc]
    for name, work in {**works, "all layers": redact}.items():
        slowest = max(HOSTILE, key=lambda unit: milliseconds(work, texts[unit]))
        print(f"{name:22} {milliseconds(work, texts[slowest]):6.1f} ms  {slowest!r} repeated")


if __name__ == "__main__":
    main()
