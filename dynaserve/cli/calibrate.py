"""``dynaserve calibrate``: make a rank template from held-out labelled rows.

It reads arrays, never pickles, and writes one TOML file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dynaserve.cli.outcome import UsageError, reporting, user_input

if TYPE_CHECKING:
    from dynaserve.defenses import RankTemplate

EPILOG = "Example: dynaserve calibrate held_out.npz -o defense.toml --model model.onnx"


@reporting
def calibrate(
    held_out: Annotated[
        Path,
        typer.Argument(
            metavar="HELD_OUT.npz",
            help="Rows the model was not trained on: arrays 'logits' or 'probabilities' (n, K) "
            "and 'labels' (n,), column numbers; with --model 'inputs' and 'labels'.",
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The defense file to write.")],
    *,
    model: Annotated[
        str | None,
        typer.Option(help="Compute the logits with this model, and bind the file to it."),
    ] = None,
    trust_pickle: Annotated[
        bool, typer.Option("--trust-pickle", help="Load a model file that can run code.")
    ] = False,
    ranks: Annotated[int, typer.Option(min=1, help="Runner-up classes whose order is kept.")] = 3,
    buckets: Annotated[
        int, typer.Option(min=1, max=2, help="2 also flags uncertain inputs, and leaks more.")
    ] = 1,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")] = False,
) -> None:
    """Calibrate the strongest defense on held-out labelled data."""
    with user_input():
        from dynaserve.cli.held_out import read_held_out  # noqa: PLC0415 - arrays and frameworks
        from dynaserve.defenses import RankTemplate  # noqa: PLC0415

        if output.is_dir():
            raise UsageError(f"{output} is a directory; name the file to write in it")
        if output.exists() and not force:
            raise UsageError(f"{output} exists; pass --force to overwrite it")
        if not output.parent.is_dir():
            raise UsageError(f"{output.parent} is not a directory")
        logits, labels, version = read_held_out(held_out, model, trust_pickle=trust_pickle)
        template = RankTemplate.calibrate(logits, labels, ranks, buckets)
        template = template.with_model_version(version)
        facts = _facts(template, logits, labels, output)
        template.save(output)
    if as_json:
        typer.echo(json.dumps(facts))
    else:
        _print(facts)


def _facts(template: RankTemplate, logits: Any, labels: Any, output: Path) -> dict[str, Any]:
    """Return what the table shows, JSON-able."""
    from dynaserve.cli.held_out import held_out_release  # noqa: PLC0415
    from dynaserve.defenses import Undefended  # noqa: PLC0415
    from dynaserve.mia.metrics import calibration_error  # noqa: PLC0415

    before = Undefended()(logits)
    released = held_out_release(template, logits, labels)
    return {
        "file": str(output),
        "rows": len(labels),
        "classes": int(logits.shape[-1]),
        "accuracy": float((logits.argmax(axis=1) == labels).mean()),
        "calibration_error_before": calibration_error(before, labels),
        "calibration_error_after": (
            None if released is None else calibration_error(released, labels)
        ),
        "rank_weights": [float(weight) for weight in template.template.rank_weights],
        "tail_weight": float(template.template.tail_weight),
        "defense": template.describe(),
    }


def _print(facts: dict[str, Any]) -> None:
    from rich.console import Console  # noqa: PLC0415 - only for people
    from rich.table import Table  # noqa: PLC0415

    after = facts["calibration_error_after"]
    table = Table(show_header=False, box=None)
    table.add_row("held-out rows", f"{facts['rows']}")
    table.add_row("accuracy, unchanged by the defense", f"{facts['accuracy']:.3f}")
    table.add_row("calibration error, raw softmax", f"{facts['calibration_error_before']:.3f}")
    table.add_row(
        "calibration error, defended (cross-fitted)",
        "needs 375 rows" if after is None else f"{after:.3f}",
    )
    for rank, weight in enumerate(facts["rank_weights"], start=1):
        table.add_row(f"weight of rank {rank}", f"{weight:.3f}")
    table.add_row("weight of each later rank", f"{facts['tail_weight']:.3g}")
    Console().print(table)
    typer.echo(f"wrote {facts['file']}; use it with: dynaserve serve --defense {facts['file']}")
