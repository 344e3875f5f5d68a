"""``dynaserve audit``: what membership inference gains from a model, before and after a defense.

It prints figures and writes reports; rows, scores and keys reach neither.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dynaserve.cli.outcome import ExitCode, UsageError, reporting, user_input
from dynaserve.cli.written import require_free, require_no_input

if TYPE_CHECKING:
    from dynaserve.cli.audited import Audited, Training
    from dynaserve.defenses import Defense

EPILOG = (
    "Example: dynaserve audit answers.npz --defense defense.toml --html report.html "
    '--fail-if "lira_auc>0.6"'
)


class Protocol(str, Enum):
    """What the attackers know."""

    ADAPTIVE = "adaptive"
    PAPER = "paper"


@reporting
def audit(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE.npz",
            help="Answers: arrays 'logits' (n, k), 'labels' (n,), 'member' (n,); for the strong "
            "attacks 'shadow_logits' (S, n, k), 'shadow_member' (S, n), and 'neighbor_logits' "
            "(n, M, k).",
        ),
    ] = None,
    *,
    defense: Annotated[
        str, typer.Option(help="none, dynanoise, dynanoise-paper, rank-template, or a FILE.toml.")
    ] = "none",
    held_out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npz",
            help="Rows to calibrate rank-template on, neither trained on nor audited: 'logits' "
            "and 'labels'; with --estimator 'inputs' and 'labels'.",
        ),
    ] = None,
    protocol: Annotated[
        Protocol,
        typer.Option(help="adaptive: attackers know the defense. paper: DynaNoise's own, weaker."),
    ] = Protocol.ADAPTIVE,
    repeats: Annotated[
        str, typer.Option(help="How often the same question is asked.")
    ] = "1,10,100",
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EXPR",
            help="Exit with 1 if it holds: lira_auc>0.6, worst_auc>=0.7, scores_add>0.01, "
            "lira_online@100.auc>0.6, rmia_online.tpr_at_1pct_fpr>5%, accuracy_loss>0.5%, "
            "ece>0.03. May be given again.",
        ),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write the report as one page.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of all that is random.")] = 0,
    bootstrap: Annotated[int, typer.Option(min=0, help="Resamples behind each interval.")] = 200,
    estimator: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL.skops",
            help="Instead of FILE: a fitted scikit-learn classifier; trains shadows like it.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DATA.npz",
            help="For --estimator: 'inputs' (n, d), 'labels' (n,), 'member' (n,): fitted on it?",
        ),
    ] = None,
    shadows: Annotated[
        int | None, typer.Option(min=4, help="How many shadows to train, even. [16]")
    ] = None,
    near: Annotated[
        str | None,
        typer.Option(
            help="Ask about 50 near-duplicates too, of these sizes, with commas: bits flipped "
            "for inputs of 0 and 1, else the standard deviation of added noise.",
        ),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE.npz", help="Keep the trained models' answers.")
    ] = None,
    work: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Training that is interrupted goes on from here."),
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes that train. [1]")] = None,
    trust_pickle: Annotated[
        bool, typer.Option("--trust-pickle", help="Load a model file that can run code.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Print the verdict alone, and no progress.")
    ] = False,
) -> None:
    """Audit a model's answers by membership inference, bare and behind a defense."""
    with user_input():
        from dynaserve.cli.audit_defense import shadow_templates  # noqa: PLC0415 - light start
        from dynaserve.cli.audit_report import make_way, show, write_page  # noqa: PLC0415
        from dynaserve.cli.audited import NothingToCheckError, Training  # noqa: PLC0415
        from dynaserve.cli.progress import progress_bar  # noqa: PLC0415
        from dynaserve.mia.audit import audit_data  # noqa: PLC0415
        from dynaserve.mia.gates import Gate  # noqa: PLC0415
        from dynaserve.mia.plan import Plan  # noqa: PLC0415
        from dynaserve.mia.report import Report, parameters_of  # noqa: PLC0415

        gates = [Gate.parse(expression) for expression in fail_if or ()]
        times = _repeats(repeats)
        inputs = [file, estimator, data, held_out, defense]
        require_no_input(html, [*inputs, save])
        require_no_input(save, inputs)
        require_free(save, force=force)
        make_way(html, force=force)
        training = Training(shadows or 16, _sizes(near), seed, work, workers or 1, quiet)
        try:
            if estimator is None:
                _refuse(
                    {
                        "--data": data,
                        "--save": save,
                        "--work": work,
                        "--near": near,
                        "--shadows": shadows,
                        "--workers": workers,
                        "--trust-pickle": trust_pickle or None,
                    }
                )
                audited = _answers(file, held_out)
            else:
                if file is not None:
                    raise UsageError("FILE.npz and --estimator: name one of them")
                audited = _trained(
                    estimator, data, training, held_out, save, trust_pickle=trust_pickle
                )
        except NothingToCheckError as error:
            typer.echo(f"nothing was checked: {error}", err=True)
            raise typer.Exit(ExitCode.NOTHING_CHECKED) from None
        plan = Plan.of(audited.data, repeats=times, protocol=protocol.value)
        for gate in gates:
            gate.require_planned(plan)
        chosen = _rehearsed(defense, audited, seed)
        templates = shadow_templates(chosen, audited)
    _warn(audited, quiet=quiet)
    with progress_bar(quiet=quiet) as progress:
        found = audit_data(
            audited.data,
            defense=chosen,
            repeats=times,
            protocol=protocol.value,
            seed=seed,
            shadow_defenses=templates,
            bootstrap=bootstrap,
            progress=progress,
        )
    with user_input():
        outcomes = tuple(gate.check(found) for gate in gates)
        report = Report(found, audited.source, parameters_of(chosen), outcomes)
        if html is not None:
            write_page(html, report)
    show(report, as_json=as_json, quiet=quiet)
    raise typer.Exit(ExitCode.FINE if report.passed else ExitCode.CHECK_FAILED)


def _repeats(text: str) -> tuple[int, ...]:
    try:
        times = tuple(int(one) for one in text.split(","))
    except ValueError:
        times = ()
    if not times or min(times) < 1:
        raise UsageError(f"--repeats {text}: needs whole numbers from 1, such as 1,10,100")
    return times


def _sizes(text: str | None) -> tuple[float, ...]:
    try:
        sizes = () if text is None else tuple(float(one) for one in text.split(","))
    except ValueError:
        sizes = (0.0,)
    if not all(0 < size < float("inf") for size in sizes):
        raise UsageError(f"--near {text}: needs positive numbers, such as 0.05,0.1")
    return sizes


def _refuse(options: dict[str, object]) -> None:
    if given := [name for name, value in options.items() if value is not None]:
        raise UsageError(f"{given[0]} goes with --estimator; FILE.npz holds answers already")


def _answers(file: Path | None, held_out: Path | None) -> Audited:
    from dynaserve.cli.audited import read_answers  # noqa: PLC0415 - light start

    if file is None:
        raise UsageError("name FILE.npz, or --estimator MODEL.skops with --data DATA.npz")
    return read_answers(file, held_out)


def _trained(
    estimator: Path,
    data: Path | None,
    training: Training,
    held_out: Path | None,
    save: Path | None,
    *,
    trust_pickle: bool,
) -> Audited:
    from dynaserve.cli.audited import train_answers  # noqa: PLC0415 - light start

    if data is None:
        raise UsageError("--estimator needs --data DATA.npz, the rows to train shadows on")
    return train_answers(
        estimator, data, training, held_out=held_out, trust_pickle=trust_pickle, save=save
    )


def _rehearsed(name: str, audited: Audited, seed: int) -> Defense:
    """Return the defense, tried on one row: it may have been made for other classes."""
    from dynaserve.cli.audit_defense import audited_defense  # noqa: PLC0415 - light start
    from dynaserve.serving.models.imports import require  # noqa: PLC0415

    chosen = audited_defense(name, audited.held_out, seed=seed)
    data = audited.data
    if data.shadows:
        require("sklearn", extra="audit")
    queries = data.labels[:, None] if data.queries is None else data.queries  # any will do here
    chosen(data.logits[:1], queries=queries[:1])
    return chosen


def _warn(audited: Audited, *, quiet: bool) -> None:
    """Say what makes the figures weak; a verdict on a handful of rows is never left alone."""
    from dynaserve.mia.pitfalls import too_few_rows  # noqa: PLC0415 - light start

    few = too_few_rows(audited.data.member)
    for remark in (*(() if quiet else audited.remarks), *(() if few is None else (few,))):
        typer.echo(f"warning: {remark}", err=True)
