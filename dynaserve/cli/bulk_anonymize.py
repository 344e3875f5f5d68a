"""``dynaserve bulk anonymize``: ``dynaserve anonymize`` for more texts than one process can do.

What it takes and how it decides is that command's; only where texts come from and go to differs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from dynaserve.cli import anonymize as single
from dynaserve.cli.bulk_options import AsJson, Out, Scheduler, Source, UnitBytes, Workers
from dynaserve.cli.outcome import reporting, user_input

if TYPE_CHECKING:
    from dynaserve.serving.settings import AnonymizationSettings

EPILOG = "Example: dynaserve bulk anonymize comments/ anonymized/ --workers 8 --field body"

_UNIT_BYTES, _UNIT_BYTES_OF_MODELS = 1 << 16, 1 << 14
_NOT_SHARED = {"source", "output", "holds", "trace", "show", "force", "as_json"}


def _with_shared_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of ``dynaserve anonymize``, which come as keyword arguments."""
    hints = get_type_hints(single.anonymize, include_extras=True)
    shared = [
        option.replace(annotation=hints[name])
        for name, option in inspect.signature(single.anonymize).parameters.items()
        if name not in _NOT_SHARED
    ]
    hints = get_type_hints(command, include_extras=True)
    own = [
        option.replace(annotation=hints[name])
        for name, option in inspect.signature(command).parameters.items()
        if option.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    options = [*own, *shared]
    command.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    command.__annotations__ = {option.name: option.annotation for option in options}
    return command


@_with_shared_options
@reporting
def anonymize(
    source: Source,
    output: Out,
    *,
    workers: Workers = None,
    scheduler: Scheduler = None,
    unit_bytes: UnitBytes = None,
    rejected_texts: Annotated[
        bool, typer.Option("--rejected-texts", help="Write rejects with their texts, as they are.")
    ] = False,
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Take out of texts what gives away who wrote them: JSON lines or Parquet, of any size.

    Id, status and text come out, in the format that came in; what cannot be made releasable is a
    reject. The exit code is 1 if there are rejects, 2 if something cannot be used, read or
    written, and 5 if there are no texts. Each worker loads the model, unless a --server has it,
    and uses all cores; so there is one worker for it unless --workers says otherwise.
    """
    with user_input():
        from dynaserve.bulk.cluster import Place  # noqa: PLC0415 - all for a light start
        from dynaserve.bulk.shards import cut, find_shards  # noqa: PLC0415
        from dynaserve.cli.anonymize_records import Fields  # noqa: PLC0415
        from dynaserve.cli.bulk_records import require_texts  # noqa: PLC0415
        from dynaserve.cli.bulk_running import run_job  # noqa: PLC0415
        from dynaserve.cli.bulk_texts import Texts  # noqa: PLC0415
        from dynaserve.serving.anonymizers import prepare  # noqa: PLC0415

        fields = Fields(options.pop("field"), options.pop("id_field"))
        settings = _settings(options)
        in_process = settings.needs_model and settings.server is None
        if unit_bytes is None:
            unit_bytes = _UNIT_BYTES_OF_MODELS if settings.needs_model else _UNIT_BYTES
        if scheduler is None and workers is None and in_process:
            workers = 1  # for it uses all cores
        place = Place(workers, scheduler)
        shards = find_shards(source)
        require_texts(shards, cut(shards, unit_bytes), fields)
        if settings.server is not None or (in_process and scheduler is None):
            prepare(settings)  # refuses a server, or downloads a model once for all workers
        if settings.consistent is not None:
            _require_room_for_key(Path(settings.consistent), source, output)
        job = Texts.by(settings, fields, shards[0].format, keep_texts=rejected_texts)
    run_job(job, source, output, place, unit_bytes=unit_bytes, as_json=as_json)


def _require_room_for_key(keyfile: Path, source: Path, output: Path) -> None:
    """Refuse an output before a key is made for it, and a key that would be passed on with it."""
    from dynaserve.bulk.output import opened  # noqa: PLC0415 - light start
    from dynaserve.bulk.run import require_apart  # noqa: PLC0415

    one, other = keyfile.resolve(), output.resolve()
    if one == other or other in one.parents:
        raise ValueError(
            f"--consistent {keyfile}: is inside of {output}, whose files are passed on; keep the "
            "key elsewhere"
        )
    require_apart(source, output)
    if keyfile.exists():
        return
    with opened(output, "") as files:
        if files.ledger() is not None:
            raise ValueError(
                f"--consistent {keyfile}: is not there, and a new key is another one than what is "
                f"in {output} was begun with, if with any; give that one, or name another directory"
            )


def _is_file(model: str | None) -> bool:
    return model is not None and Path(model).is_file()


def _settings(options: dict[str, Any]) -> AnonymizationSettings:
    """Return the settings that options stand for, with paths that mean the same to any worker."""
    from dynaserve.serving.anonymizers import require_possible  # noqa: PLC0415 - light start
    from dynaserve.serving.settings import AnonymizationSettings  # noqa: PLC0415
    from dynaserve.serving.settings.anonymizer import attribute_names  # noqa: PLC0415

    told = {name: each.value if isinstance(each, Enum) else each for name, each in options.items()}
    told["attributes"] = attribute_names(told["attributes"])
    if _is_file(told["model"]):
        told["model"] = str(Path(told["model"]).absolute())
    if told["consistent"] is not None:
        told["consistent"] = str(told["consistent"].absolute())
    settings = AnonymizationSettings(**told)
    require_possible(settings)
    return settings
