"""``dynaserve keys``: make, list and revoke the API keys that a service asks for.

A key is printed once, when it is made. Afterwards nobody can show it, for the file holds its
digest alone.
"""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynaserve.cli.outcome import UsageError, reporting, user_input

if TYPE_CHECKING:
    from dynaserve.serving.access.records import KeyRecord

app = typer.Typer(
    name="keys",
    help="API keys: who may ask a service, and how much.",
    no_args_is_help=True,
)

_FILE = typer.Option(
    "--file",
    envvar="DYNASERVE_KEYS",
    help="The file of keys. Without it: api_keys.toml in the state directory.",
)
_JSON = typer.Option("--json", help="Print JSON.")


@app.command(epilog="Example: dynaserve keys create team-a --rows-per-day 10000")
@reporting
def create(
    name: Annotated[str, typer.Argument(help="Whose key it is; for you, nothing checks it.")],
    *,
    requests_per_second: Annotated[
        float | None,
        typer.Option(
            help="Most requests a second, over ten seconds. Without it: what the service says.",
        ),
    ] = None,
    rows_per_day: Annotated[
        int | None,
        typer.Option(min=1, max=10**12, help="Most rows a day. Without it: what the service says."),
    ] = None,
    monitor: Annotated[
        bool, typer.Option("--monitor", help="It opens /metrics, and nothing else.")
    ] = False,
    expires: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            help="Opens nothing from then on: 2030-12-31, or 2030-12-31T18:00+01:00. UTC, "
            "where nothing else is said.",
        ),
    ] = None,
    file: Annotated[Path | None, _FILE] = None,
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """Make a key, and print it: the only time it can be seen."""
    with user_input():
        from dynaserve.serving.access.keys import (  # noqa: PLC0415 - light start
            digest_of,
            key_of,
            new_id,
            new_secret,
        )
        from dynaserve.serving.access.records import changing, now  # noqa: PLC0415

        if monitor and (requests_per_second, rows_per_day) != (None, None):
            raise UsageError("--monitor goes without limits: such a key asks about no rows")
        secret = new_secret()
        record = _record(
            name=name,
            sha256=digest_of(secret).hex(),
            role="monitor" if monitor else "client",
            created=now(),
            expires=_moment(expires),
            requests_per_second=requests_per_second,
            rows_per_day=rows_per_day,
        )
        path = _path(file)
        with changing(path) as records:
            identity = new_id()
            while identity in records:
                identity = new_id()
            records[identity] = record
    key = key_of(identity, secret)
    if as_json:
        typer.echo(json.dumps({"key": key} | _facts(identity, record)))
        return
    typer.echo(key)
    typer.echo(f"key {identity} for {name}; it cannot be shown again ({path})", err=True)


@app.command("list", epilog="Example: dynaserve keys list --json")
@reporting
def list_keys(
    *, file: Annotated[Path | None, _FILE] = None, as_json: Annotated[bool, _JSON] = False
) -> None:
    """List the keys: their ids, names and limits."""
    with user_input():
        from rich.markup import escape  # noqa: PLC0415 - light start

        from dynaserve.cli.tables import print_tables  # noqa: PLC0415
        from dynaserve.serving.access.records import read_records  # noqa: PLC0415
        from dynaserve.tables import Table  # noqa: PLC0415

        path = _path(file)
        records = read_records(path)
    found = [_facts(identity, record) for identity, record in records.items()]
    if as_json:
        typer.echo(json.dumps(found))
        return
    shown = ("id", "name", "role", "state", "expires", "requests_per_second", "rows_per_day")
    columns = ("id", "name", "role", "state", "expires", "requests/s", "rows/day")
    rows = tuple(
        tuple("" if key[field] is None else escape(str(key[field])) for field in shown)
        for key in found
    )
    print_tables([Table(str(path), columns, rows)], [], narrowest=100)


@app.command(epilog="Example: dynaserve keys revoke 3f9a0c1d2b4e")
@reporting
def revoke(
    identity: Annotated[str, typer.Argument(metavar="ID", help="As 'dynaserve keys list' says.")],
    *,
    file: Annotated[Path | None, _FILE] = None,
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """Revoke a key: services that run refuse it within a second or two."""
    with user_input():
        from dynaserve.serving.access.keys import ID  # noqa: PLC0415 - light start
        from dynaserve.serving.access.records import changing, now  # noqa: PLC0415

        path = _path(file)
        if not ID.fullmatch(identity):  # perhaps a whole key, which is not to be repeated
            raise UsageError("an id is 12 hexadecimal digits; 'dynaserve keys list' shows them")
        with changing(path) as records:
            if identity not in records:
                raise UsageError(f"{path} has no key {identity}; 'dynaserve keys list' shows them")
            record = records[identity]
            if record.revoked is None:
                record = record.model_copy(update={"revoked": now()})
                records[identity] = record
    facts = _facts(identity, record)
    typer.echo(json.dumps(facts) if as_json else f"revoked {identity} ({record.name})")


def _path(file: Path | None) -> Path:
    """Return the file of keys; its directory is made only where it is ours."""
    from dynaserve.serving.access.records import default_path  # noqa: PLC0415 - light start
    from dynaserve.state import state_directory  # noqa: PLC0415

    if file is not None:
        return file
    state_directory()
    return default_path()


def _record(**fields: Any) -> KeyRecord:
    """Return a checked record; the options of ``create`` are named as its fields are."""
    from pydantic import ValidationError  # noqa: PLC0415 - light start

    from dynaserve.serving.access.records import KeyRecord  # noqa: PLC0415

    try:
        return KeyRecord(**fields)
    except ValidationError as error:
        problem = error.errors(include_input=False, include_url=False)[0]
        field = str(problem["loc"][0])
        option = "NAME" if field == "name" else f"--{field.replace('_', '-')}"
        raise UsageError(f"{option}: {problem['msg']}") from None


def _moment(text: str | None) -> datetime | None:
    """Return a date or a time that is to come, in UTC."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.replace(tzinfo=moment.tzinfo or timezone.utc).astimezone(timezone.utc)
    except (ValueError, OverflowError):  # one at the end of time may be past it in UTC
        raise UsageError(f"--expires {text}: needs a date such as 2030-12-31") from None
    if moment <= datetime.now(timezone.utc):
        raise UsageError(f"--expires {text}: is over")
    return moment


def _facts(identity: str, record: KeyRecord) -> dict[str, Any]:
    """Return what may be shown of a key, as JSON has it."""
    from dynaserve.serving.access.records import now  # noqa: PLC0415 - light start

    fields = record.model_dump(mode="json", exclude={"sha256"})
    return {"id": identity, **fields, "state": record.state(now())}
