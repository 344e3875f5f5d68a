"""The settings as a page: ``python -m dynaserve.serving.settings.reference``.

``docs/configuration.md`` is what it prints, so that the page says what the code does.
"""

from __future__ import annotations

from typing import Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from dynaserve.serving.settings import (
    AnonymizerSettings,
    ServeSettings,
    ServiceSettings,
    Settings,
    SummariesSettings,
    variable,
)
from dynaserve.serving.settings.base import TABLES, base_of

HEAD = """\
# Configuration

Each setting has one name. `max_rows` is the flag `--max-rows` of `dynaserve serve`, the variable
`DYNASERVE_MAX_ROWS`, and the key `max_rows` of the table `[limits]` in a TOML file, which
`--config FILE` or `DYNASERVE_CONFIG` names. A flag counts more than a variable, and that more than
the file. An empty variable counts as unset; one whose name is nearly a setting's is refused. File
names in the file are looked for beside it first.

```toml
[server]
workers = 4

[classifier]
source = "model.onnx"
defense = "defense.toml"

[access]
keys = "/run/secrets/api_keys.toml"
rows_per_day = 10000
state = "redis://redis:6379/0"

[limits]
max_rows = 256

[telemetry]
logs = "json"
```

`dynaserve serve --check --config serve.toml` says what would be served, or what is wrong, and
exits: all settings at once, and once these are right the model, keys and telemetry at once. A
service that `bentoml serve` starts, as in a container, reads the variables and the file. It lists
what is wrong in its log, and does not start.

Secrets are no settings: the noise key is in `DYNASERVE_NOISE_KEY` or in the state directory
(`DYNASERVE_STATE_DIR`); the file of API keys holds digests of them. A `state` with a password
belongs in the variable.

This page is printed by `python -m dynaserve.serving.settings.reference`.
"""

ROW_HEAD = "| key | variable | type | default | |\n| --- | --- | --- | --- | --- |\n"
SERVICES: dict[str, tuple[str, type[Settings]]] = {
    "Every service": ("The three services that come ready-made.", ServiceSettings),
    "Classifier": ("`dynaserve serve`, and the Bento `classifier`.", ServeSettings),
    "Anonymizer": ("The Bento `anonymizer`.", AnonymizerSettings),
    "Summaries": ("The Bento `summaries`.", SummariesSettings),
}


def page() -> str:
    """Return the page, in Markdown."""
    parts = [HEAD]
    for title, (about, kind) in SERVICES.items():
        parts.append(f"## {title}\n\n{about}\n")
        tables = [(table, rows_of(kind, table)) for table in TABLES]
        parts += [f"### `[{table}]`\n\n{ROW_HEAD}{rows}" for table, rows in tables if rows]
    return "\n".join(parts)


def rows_of(kind: type[Settings], table: str) -> str:
    """Return the settings in a table of a service, but for those that are as every service's."""
    return "".join(
        f"| `{name}` | `{variable(name)}` | {type_of(info)} | {default_of(info)} "
        f"| {info.description} |\n"
        for name, info in kind.model_fields.items()
        if kind.table_of(name) == table and (kind is ServiceSettings or not is_shared(name, info))
    )


def is_shared(name: str, info: FieldInfo) -> bool:
    """Whether a setting is the same in every service."""
    shared = ServiceSettings.model_fields.get(name)
    return shared is not None and shared.default == info.default


def type_of(info: FieldInfo) -> str:
    """Return what a setting takes, in words."""
    kind = base_of(info)
    if get_origin(kind) is Literal:
        return " or ".join(f"`{choice}`" for choice in get_args(kind))
    if get_origin(kind) is tuple:
        return "names"
    return {bool: "true or false", int: "integer", float: "number"}.get(kind, "text")


def default_of(info: FieldInfo) -> str:
    """Return a setting's default, in words."""
    if info.default is None:
        return "none"
    return f"`{str(info.default).lower() if isinstance(info.default, bool) else info.default}`"


if __name__ == "__main__":
    print(page(), end="")
