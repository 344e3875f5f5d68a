from __future__ import annotations

from pathlib import Path

from dynaserve.serving.settings import (
    AnonymizerSettings,
    ServeSettings,
    SummariesSettings,
    variable,
)
from dynaserve.serving.settings.reference import page

ROOT = Path(__file__).parents[3]


def test_the_page_in_the_documents_is_the_one_that_the_code_prints() -> None:
    assert (ROOT / "docs" / "configuration.md").read_text() == page(), (
        "run: python -m dynaserve.serving.settings.reference > docs/configuration.md"
    )


def test_every_setting_of_every_service_is_on_it_with_its_meaning() -> None:
    text = page()
    for kind in (ServeSettings, AnonymizerSettings, SummariesSettings):
        for name, info in kind.model_fields.items():
            assert f"| `{name}` | `{variable(name)}` |" in text
            assert info.description
            assert info.description in text
