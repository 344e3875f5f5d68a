"""``dynaserve tune``: the defense that leaks least within a budget, as a file that serve takes.

It writes a defense and a picture of the frontier; rows, scores and keys reach neither.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynaserve.cli.outcome import ExitCode, UsageError, reporting, user_input
from dynaserve.cli.written import remove, require_free, require_no_input, same_file, write

if TYPE_CHECKING:
    from dynaserve.cli.audited import Audited
    from dynaserve.mia.tune import Trial, Tuning
    from dynaserve.mia.tune.results import Budget

_WIDTH = 120
"""Columns that the table needs."""
_LOSS_IN_PERCENT = 0.05
"""A loss from here on is more than a defense should cost, and must be spelled out."""

EPILOG = "Example: dynaserve tune answers.npz --max-accuracy-loss 0.5% -o defense.toml"


@reporting
def tune(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE.npz",
            help="Answers as for audit; to calibrate on, 'held_out_logits' (h, k) and "
            "'held_out_labels' (h,) as well, or --held-out.",
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The defense file to write.")],
    *,
    max_accuracy_loss: Annotated[
        str,
        typer.Option(help="Of all answers: 0.5%, or 0.005 for the same. From 5% on, write the %."),
    ] = "0.5%",
    max_ece: Annotated[
        str | None, typer.Option(help="Expected calibration error, such as 0.05. [no limit]")
    ] = None,
    held_out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npz", help="Rows neither trained on nor audited: 'logits', 'labels'."
        ),
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npz",
            help="What a model of public data alone says of the same rows: 'probabilities' "
            "(n, k) and 'held_out_probabilities' (h, k). It is measured, not chosen.",
        ),
    ] = None,
    frontier: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Draw what was tried.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of all that is random.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Search defenses and their parameters. Exit code 1 if none fits the budget."""
    with user_input():
        require_no_input(output, [file, held_out, reference])
        require_no_input(frontier, [file, held_out, reference])
        if frontier is not None and same_file(output, frontier):
            raise UsageError(f"{output}: named for the defense and for --frontier; name two files")
        for path in (output, frontier):
            require_free(path, force=force)
        budget = _budget(max_accuracy_loss, max_ece)
        if frontier is not None:
            from dynaserve.serving.models.imports import require  # noqa: PLC0415 - only then

            require("matplotlib", extra="audit")
        found = _search(file, held_out, reference, budget, seed)
        if frontier is not None:
            from dynaserve.mia.tune.figure import frontier_png  # noqa: PLC0415 - matplotlib

            write(frontier, frontier_png(found))
        if found.best is not None:
            found.best.defense.save(output)
        # One that another budget allowed must not be taken for this one's.
        removed = found.best is None and remove(output)
    written = None if found.best is None else str(output)
    if as_json:
        typer.echo(json.dumps(found.to_dict() | {"file": written}))
    else:
        _print(found)
    if found.best is None:
        typer.echo(_nothing_fits(found), err=True)
        if removed:
            typer.echo(f"removed {output}, which was there from before", err=True)
        raise typer.Exit(ExitCode.CHECK_FAILED)
    if not as_json:
        typer.echo(f"wrote {written}; use it with: dynaserve serve --defense {written}")


def _search(
    file: Path,
    held_out: Path | None,
    reference: Path | None,
    budget: Budget,
    seed: int,
) -> Tuning:
    from dynaserve.cli.audited import NothingToCheckError, read_answers  # noqa: PLC0415 - light
    from dynaserve.cli.progress import progress_bar  # noqa: PLC0415
    from dynaserve.defenses.rank_template.calibrate import HeldOut  # noqa: PLC0415
    from dynaserve.mia.tune import tune_data  # noqa: PLC0415

    try:
        answers: Audited = read_answers(file, held_out)
    except NothingToCheckError as error:
        typer.echo(f"nothing was checked: {error}", err=True)
        raise typer.Exit(ExitCode.NOTHING_CHECKED) from None
    rows = answers.held_out
    with progress_bar() as progress:
        return tune_data(
            answers.data,
            held_out=None if rows is None else HeldOut.checked(rows.logits, rows.labels),
            reference=None if reference is None else _reference(reference),
            budget=budget,
            seed=seed,
            progress=progress,
        )


def _budget(max_accuracy_loss: str, max_ece: str | None) -> Budget:
    from dynaserve.mia.tune.results import Budget  # noqa: PLC0415 - light start

    return Budget(
        _loss("--max-accuracy-loss", max_accuracy_loss),
        None if max_ece is None else _share("--max-ece", max_ece),
    )


def _reference(path: Path) -> Any:
    from dynaserve.mia.tune import ReferenceScores  # noqa: PLC0415 - only with a reference
    from dynaserve.npz import read_arrays  # noqa: PLC0415

    names = ("probabilities", "held_out_probabilities")
    arrays = read_arrays(path, names)
    if len(arrays) < len(names):
        raise ValueError(
            f"{path}: needs plain arrays 'probabilities' (n, k) and 'held_out_probabilities' (h, k)"
        )
    return ReferenceScores(*(arrays[name] for name in names))


def _loss(option: str, text: str) -> float:
    """Return a share, but refuse ``0.5``: half of all answers, and meant as half a percent."""
    share = _share(option, text)
    if share >= _LOSS_IN_PERCENT and not text.strip().endswith("%"):
        number = f"{100 * share:g}%"
        raise UsageError(f"{option} {text}: would be {number}; write {number}, or {text}%")
    return share


def _share(option: str, text: str) -> float:
    """Return ``0.5%`` or ``0.005`` as 0.005."""
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        raise UsageError(f"{option} {text}: is not a number; write 0.5% or 0.005") from None
    if not 0 <= share <= 1:
        raise UsageError(f"{option} {text}: must lie in 0..1, or in 0%..100%")
    return share


def _nothing_fits(found: Tuning) -> str:
    near = found.nearest
    return (
        f"no defense keeps the budget ({found.budget}); no defense file was written. The nearest, "
        f"{near.name}, loses {near.accuracy_loss:.2%} accuracy at a calibration error of "
        f"{near.calibration_error:.3f}"
    )


def _print(found: Tuning) -> None:
    from rich import box  # noqa: PLC0415 - only for people
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    forms = list(found.trials[0].leak)
    title = f"what no other beats, of {len(found.trials)} tried; {found.budget}"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1))
    table.add_column("defense", no_wrap=True)
    for heading in ("accuracy lost", "ECE", *map(_in_words, forms), "label alone", "in budget"):
        table.add_column(heading, justify="right")
    for trial in _shown(found):
        table.add_row(*_cells(trial, forms, found), style="bold" if trial is found.best else None)
    console = Console()
    # Narrower, and every figure would be cut to its first digit.
    console.width = max(console.width, _WIDTH)
    console.print(table)
    console.print(_attackers(found), highlight=False)
    for note in found.notes:
        console.print(f"- {note}", highlight=False)


def _attackers(found: Tuning) -> str:
    who = "the chosen one and its rivals were audited by every attack, the others"
    if found.best is None:
        who = "all were audited"
    return (
        f"AUC of the best attack that knows the defense; {who} only by "
        f"{', '.join(found.quick_attacks)}. ≥: the label alone tells these so much, and all "
        "attacks perhaps more."
    )


def _shown(found: Tuning) -> list[Trial]:
    """Return the frontier with the choice and the two ends, least leak first."""
    ends = [trial for trial in found.trials if trial.family in ("none", "top-1 only")]
    best = [] if found.best is None else [found.best]
    kept = {trial.name: trial for trial in (*found.frontier, *best, *ends)}
    return sorted(kept.values(), key=lambda trial: (trial.exposure, trial.log_loss))


def _cells(trial: Trial, forms: list[str], found: Tuning) -> tuple[str, ...]:
    fits = "yes" if trial.within(found.budget) else "no"
    if not trial.protects:
        fits = "for comparison"
    return (
        trial.name,
        f"{trial.accuracy_loss:.2%}",
        f"{trial.calibration_error:.3f}",
        *(f"{trial.leak[form].total:.3f}" if form in trial.leak else "" for form in forms),
        _floor(trial),
        "chosen" if trial is found.best else fits,
    )


def _floor(trial: Trial) -> str:
    """Return the leak of the label, which only a full audit measures by the best attack on it."""
    floor = f"{max(leak.floor for leak in trial.leak.values()):.3f}"
    return floor if trial.audit is not None else f"≥ {floor}"


def _in_words(form: str) -> str:
    if form == "1":
        return "1 query"
    return f"{form[4:]} near" if form.startswith("near") else f"{form} repeats"
