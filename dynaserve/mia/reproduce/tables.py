"""The two tables of an experiment, as text cells that a terminal or a page can lay out.

It formats what was measured; it computes nothing but differences of rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynaserve.mia.reproduce.published import CIFAR10, FOUR, IMAGENET10
from dynaserve.mia.reproduce.rows import Row
from dynaserve.tables import Table


def adaptive_table(title: str, rows: Sequence[Row], undefended: Row | None) -> Table:
    """Return what attackers who know the defense achieve."""
    forms = list(dict.fromkeys(form for row in rows for form in row.exposures))
    near = [form for form in forms if form.startswith("near")]
    asked = ["1", *(form for form in forms if form not in ("1", *near)), *near]
    columns = (
        "defense",
        "accuracy",
        *(_in_words(form) for form in asked),
        "label, 1",
        *(f"label, {form}" for form in near),
        "ECE",
        "MIDPUT",
    )
    cells = [
        (
            row.name,
            _number(row.accuracy),
            *(_leak(row, form, "total") for form in asked),
            *(_leak(row, form, "floor") for form in ("1", *near)),
            _number(row.calibration_error),
            "" if undefended is None else _signed(row.midput(undefended)),
        )
        for row in rows
    ]
    return Table(f"{title}: AUC of the best attack that knows the defense", columns, tuple(cells))


def paper_table(title: str, rows: Sequence[Row], undefended: Row | None) -> Table:
    """Return the same models in the paper's protocol, each figure beside the paper's."""
    columns = ("defense", "accuracy", "conf", "loss", "shadow", "LiRA", "MIDPUT")
    return Table(
        f"{title}: attack success in the paper's protocol, ours / paper (CIFAR-10)",
        columns,
        tuple(_paper_cells(row, undefended) for row in rows),
    )


def _leak(row: Row, form: str, part: str) -> str:
    exposure = row.exposures.get(form)
    return "–" if exposure is None else _number(getattr(exposure, part))


def _paper_cells(row: Row, undefended: Row | None) -> tuple[str, ...]:
    ours = [row.paper_accuracy, *(row.paper_success[name] for name in FOUR)]
    published = CIFAR10.get(row.name)
    beside = ["–"] * len(ours)
    midput = "–"
    if published is not None:
        beside = [_number(published.accuracy), *(_number(published.success[n]) for n in FOUR)]
        midput = _signed(_published_midput(row.name))
    cells = [f"{_number(a)} / {b}" for a, b in zip(ours, beside, strict=True)]
    own = "" if undefended is None else f"{_signed(row.paper_midput(undefended))} / {midput}"
    return (row.name, *cells, own)


def _published_midput(name: str) -> float:
    """Return the mean fall in success over the four attacks, minus the fall in accuracy."""
    before, after = CIFAR10["none"], CIFAR10[name]
    fall = sum(before.success[attack] - after.success[attack] for attack in FOUR) / len(FOUR)
    return fall - (before.accuracy - after.accuracy)


def differences(ours: str) -> list[str]:
    """Return where the set-up ``ours`` differs from the paper's, and how to read the tables."""
    none, dynanoise = IMAGENET10["none"], IMAGENET10["dynanoise-paper"]
    return [
        f"Ours: {ours}, trained to over-fit. Paper: AlexNet at 224 pixels, SGD, 30 epochs, 28,000 "
        "members, 3 shadows on one split.",
        "Paper's protocol: thresholds fixed at p_y >= .9 and loss <= .5; shadow and LiRA "
        "attackers learned on undefended models; success below .5 counts as .5. Our LiRA fits "
        "each row (online), the paper's each class.",
        "Knowing the defense: shadows are trained and released as the target is; temperature is "
        "undone; repeats and near-duplicates are averaged; the best of 14 attacks counts. "
        "Near-duplicates have the jitter of a sweep that tells most without a defense; MemGuard, "
        "which optimizes each answer, would take hours for them.",
        "label, 1 and label, near50: the best of the same attacks if each answer were its bare "
        "label: the floor of any defense after training. MIDPUT: mean over attacks of the fall in "
        "balanced accuracy, minus the fall in accuracy; over 6 attacks above, over the paper's 4 "
        "below.",
        "Peers with settings of their papers where these served several data sets, else scaled "
        "(RelaxLoss holds the loss at .3 log k, SELENA has 10 sub-models instead of 25): not "
        "tuned for this data.",
        f"Paper, ImageNet-10 (not here): accuracy {_number(none.accuracy)} -> "
        f"{_number(dynanoise.accuracy)} with DynaNoise, success "
        f"{_four(none.success)} -> {_four(dynanoise.success)}.",
    ]


def _in_words(form: str) -> str:
    if form == "1":
        return "1 query"
    return f"{form[4:]} near" if form.startswith("near") else f"{form} repeats"


def _number(value: float) -> str:
    return f"{value:.3f}".removeprefix("0") if value < 1 else f"{value:.3f}"


def _signed(value: float) -> str:
    return f"{'-' if value < 0 else '+'}{_number(abs(value))}"


def _four(success: dict[str, float]) -> str:
    return "/".join(_number(success[name]) for name in FOUR)
