"""Flags made from settings, so that each is described once, where it is defined.

Values are handed on as they were typed: settings check all of them together, whether they come
from a flag, a variable or a file, and say all that is wrong at once.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from dynaserve.serving.settings import CONFIG, Settings, base_of, flag, variable

METAVARS = {int: "INTEGER", float: "NUMBER"}


def with_flags(
    kind: type[Settings], argument: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a command: its first parameter gets what flags say of ``kind``, by name.

    Parameters
    ----------
    kind : type of Settings
        Every setting becomes a flag of its name; those not given are None.
    argument : str
        The setting that is given without a flag.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
        ours = [parameter(kind, name, named=name != argument) for name in names(kind, argument)]
        config = inspect.Parameter(
            CONFIG, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=CONFIG_FLAG
        )

        @functools.wraps(command)
        def run(**values: Any) -> None:
            given = {each.name: values.pop(each.name) for each in (*ours, config)}
            command(given, **values)

        run.__signature__ = inspect.Signature([*ours, config, *own])  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in (*ours, config, *own)}
        return run

    return decorate


CONFIG_FLAG = Annotated[
    Path | None,
    typer.Option(
        flag(CONFIG), metavar="FILE", help=f"A TOML file of settings. ({variable(CONFIG)})"
    ),
]


def names(kind: type[Settings], first: str) -> list[str]:
    """Return the names of settings, ``first`` and those beside it in the file at the beginning."""
    beside = kind.table_of(first)
    return sorted(
        kind.model_fields, key=lambda name: (name != first, kind.table_of(name) != beside)
    )


def parameter(kind: type[Settings], name: str, *, named: bool) -> inspect.Parameter:
    """Return the parameter of a command that takes a setting."""
    info = kind.model_fields[name]
    said = f"{info.description} ({variable(name)}{default_of(info)})"
    typed = base_of(info) is bool
    about: Any = typer.Argument(metavar=f"[{name.upper()}]", help=said, show_default=False)
    if named:
        about = typer.Option(
            flag(name),
            metavar=None if typed else METAVARS.get(base_of(info), choices_of(info)),
            help=said,
            show_default=False,
            rich_help_panel=kind.table_of(name).capitalize(),
        )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[(bool if typed else str) | None, about],
    )


def choices_of(info: FieldInfo) -> str:
    """Return what stands for the value of a setting in the help."""
    kind = base_of(info)
    return "|".join(get_args(kind)) if get_origin(kind) is Literal else "TEXT"


def default_of(info: FieldInfo) -> str:
    """Return the default of a setting as the help says it, if there is something to say."""
    if info.default in (None, False):
        return ""
    return f"; {info.default}"
