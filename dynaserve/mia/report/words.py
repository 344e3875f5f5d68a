"""What the numbers of an audit mean, in plain words, for the terminal and the page alike.

It reads an `Audit` and writes sentences; it computes nothing that the audit does not hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dynaserve.defenses import Undefended
from dynaserve.mia.results import ONE_QUERY, AttackResult, Audit, Leak

_CLEAR = 0.02
"""A difference in AUC that is worth a sentence."""

_TITLES = {
    "gap": "Label right or wrong",
    "label_lira": "LiRA on the label alone",
    "label_best": "Best on the label alone",
    "confidence": "Confidence",
    "loss": "Loss",
    "entropy": "Entropy",
    "modified_entropy": "Modified entropy",
    "lira_online": "LiRA, online",
    "lira_online_per_example": "LiRA, online, own variances",
    "lira_offline": "LiRA, offline",
    "lira_offline_per_example": "LiRA, offline, own variances",
    "rmia_online": "RMIA, online",
    "rmia_offline": "RMIA, offline",
    "shadow": "Shadow classifier",
    "boosted": "Boosted trees",
}


@dataclass(frozen=True)
class Words:
    """An audit in sentences.

    Parameters
    ----------
    verdict
        One sentence: how well the best attack does.
    meaning
        What the numbers say, a sentence or two each.
    advice
        What to do about it.
    """

    verdict: str
    meaning: tuple[str, ...]
    advice: tuple[str, ...]


def in_words(audit: Audit) -> Words:
    """Return the plain-words summary of an audit."""
    return Words(_verdict(audit), tuple(_meaning(audit)), tuple(_advice(audit)))


def title(attack: str) -> str:
    """Return an attack's name for people."""
    return _TITLES.get(attack, attack)


def asked(form: str) -> str:
    """Return a form of asking as a table has it: once, 100×, 50 near."""
    if form.startswith("near"):
        return f"{form.removeprefix('near')} near"
    return "once" if form == ONE_QUERY else f"{form}×"


def asking(form: str) -> str:
    """Return a form of asking as a clause."""
    if form.startswith("near"):
        return f"asking for {form.removeprefix('near')} near-duplicates of each row"
    return "asking once" if form == ONE_QUERY else f"asking {form} times"


def is_defended(audit: Audit) -> bool:
    """Whether there is a defense to compare with its absence."""
    return audit.defense != Undefended().describe()


def worst_leak(leaks: dict[str, Leak]) -> Leak:
    """Return the split of the form of asking that gives the most away."""
    return max(leaks.values(), key=lambda leak: leak.total)


def strongest(attacks: dict[str, AttackResult]) -> dict[str, AttackResult]:
    """Return each attack's result in the form of asking in which its AUC is highest."""
    best: dict[str, AttackResult] = {}
    for result in attacks.values():
        if result.attack not in best or result.auc > best[result.attack].auc:
            best[result.attack] = result
    return best


def decimal(value: float) -> str:
    """Return a share or an AUC to three places, without the leading zero: .968, -.004, 1.000."""
    text = f"{value:.3f}"
    if text == "-0.000":
        text = "0.000"
    return text.replace("0.", ".", 1) if abs(value) < 0.9995 else text


def span(interval: tuple[float, float]) -> str:
    """Return an interval: .961–.975."""
    return f"{decimal(interval[0])}–{decimal(interval[1])}"


def percent(share: float) -> str:
    """Return a share as at most five characters: 31.2%, 0.4%, 100%."""
    return "100%" if share >= 0.9995 else f"{100 * share:.1f}%"


def rate(result: AttackResult, measure: str) -> str:
    """Return a TPR, or a dash where there are too few non-members for it."""
    meaningful = getattr(result, f"{measure}_meaningful")
    return percent(getattr(result, measure)) if meaningful else "–"


def _verdict(audit: Audit) -> str:
    worst, best = worst_leak(audit.leak), title(audit.worst.attack)
    if worst.dominant == "none":
        behind = "Behind this defense no" if is_defended(audit) else "No"
        return f"{behind} attack told members from non-members: AUC {decimal(worst.total)} at best."
    if not is_defended(audit):
        return (
            f"Members can be told from non-members: AUC {decimal(worst.total)} "
            f"({best}, {asking(worst.form)})."
        )
    before, once = audit.leak_before[ONE_QUERY].total, audit.leak[ONE_QUERY].total
    change = (
        f"lowers the best attack from AUC {decimal(before)} to {decimal(once)}"
        if before - once >= _CLEAR
        else f"leaves the best attack at AUC {decimal(once)}, {decimal(before)} without it"
    )
    if worst.total - once < _CLEAR:
        return f"The defense {change} ({best})."
    return (
        f"Asked once, the defense {change}; {asking(worst.form)} an attacker still reaches "
        f"{decimal(worst.total)}."
    )


def _meaning(audit: Audit) -> Iterator[str]:
    worst, once = worst_leak(audit.leak), audit.leak[ONE_QUERY]
    yield _split(once)
    if worst.total - once.total >= _CLEAR:
        yield _split(worst)
    if worst.dominant == "label":
        yield (
            f"The label gives members away because the model is right on "
            f"{percent(audit.member_accuracy_after)} of what it was trained on and on "
            f"{percent(audit.accuracy_after)} of the rest."
        )
    if audit.worst.tpr_at_1pct_fpr_meaningful:
        yield (
            f"At a false alarm rate of 1% the attack that is best there recognizes "
            f"{percent(_highest_rate(audit))} of the members; guessing finds 1%."
        )
    if _averages_away(audit):
        yield "The noise differs from answer to answer, so whoever repeats a question removes it."
    if is_defended(audit):
        yield _cost(audit)
    if audit.protocol == "paper":
        yield (
            "These attackers do not know the defense (protocol “paper”). Real ones may: the "
            "figures are for comparison with the publication only."
        )


def _split(leak: Leak) -> str:
    clause = asking(leak.form).capitalize()
    if leak.dominant == "none":
        return f"{clause}, no attack is clearly better than guessing (AUC {decimal(leak.total)})."
    parts = (
        f"the label alone gives AUC {decimal(leak.floor)}, and the scores add "
        f"{decimal(leak.scores_add)}"
    )
    return f"{clause}, {parts}: {'the label' if leak.dominant == 'label' else 'the scores'} " + (
        "dominates." if leak.dominant == "label" else "dominate."
    )


def _highest_rate(audit: Audit) -> float:
    return max(result.tpr_at_1pct_fpr for result in audit.attacks.values())


def _cost(audit: Audit) -> str:
    lost = audit.accuracy_before - audit.accuracy_after
    accuracy = (
        "It costs no accuracy"
        if abs(lost) < 5e-5
        else f"It {'costs' if lost > 0 else 'gains'} {percent(abs(lost))} of accuracy"
    )
    before, after = audit.calibration_error_before, audit.calibration_error_after
    direction = "better" if after < before else "worse"
    return (
        f"{accuracy}, and its probabilities are {direction} calibrated (error "
        f"{decimal(after)}, was {decimal(before)})."
    )


def _advice(audit: Audit) -> Iterator[str]:
    worst, once = worst_leak(audit.leak), audit.leak[ONE_QUERY]
    if worst.dominant == "none":
        yield "Nothing needs doing for these attacks; what was not tested is listed below."
        return
    if _averages_away(audit):
        yield "Use answers that repeat themselves: --defense dynanoise, or better a rank template."
    adds = max(leak.scores_add for leak in audit.leak.values())
    if adds >= _CLEAR and "RankTemplate" not in audit.defense:
        yield (
            f"A serving defense can remove what the scores add, up to {decimal(adds)}. With "
            "labelled rows that the model was not trained on: dynaserve calibrate HELD_OUT.npz "
            "-o defense.toml, then audit again with --defense defense.toml."
        )
    elif worst.dominant == "scores":
        yield (
            "Keep fewer ranks: a template of dynaserve calibrate --ranks 1 releases less, and "
            "more held-out rows make it steadier."
        )
    if any(leak.dominant == "label" for leak in (worst, once)):
        yield (
            "No change to the scores lowers what the label gives away. Narrow the gap between "
            "training rows and others: stop earlier, use dropout, weight decay, RelaxLoss or more "
            "data, then audit again."
        )
    if worst.form.startswith("near") and worst.total - once.total >= _CLEAR:
        yield "Near-duplicates take many questions: limit how many one client may ask."


def _averages_away(audit: Audit) -> bool:
    repeated = [leak.total for form, leak in audit.leak.items() if form.isdigit()]
    return max(repeated) - audit.leak[ONE_QUERY].total >= _CLEAR
