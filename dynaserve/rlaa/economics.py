"""What a round of edits gains and what it costs (arXiv 2512.06713: MPG, MUC, MRS).

Privacy is counted in attributes that an attacker is expected to get right, utility as a share of
the original. It weighs what it is given and decides nothing but whether an exchange is rational.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from dynaserve.rlaa.chunks import sentences
from dynaserve.rlaa.llm.cancellation import check_cancelled
from dynaserve.rlaa.records import Edit, Judgement, LedgerEntry, Level
from dynaserve.rlaa.spans import apply, fold, moved, touched

DEFAULT_MAX_MRS = 1.0
"""λ, the most utility that one attribute is worth.

One for one: a text wholly spoiled (utility 1 to 0) is worth one attribute that was certain to be
guessed and no longer is. Below that an edit gives up more than it protects. The paper describes
the threshold as an implicit budget of the arbitrator and states no number; its privacy is a mean
over attributes, so that its ratios are larger than these by their number.

It does not hold for direct identifiers: replacing one is kept at any price. ("Write to jo@x.com"
loses more than it gains by this measure, and must not go out as it is.)
"""
_AROUND = 100
"""Code points on each side of an edit, in its sentence, that it is weighed with. A text without
full stops is one sentence, and all of it for each of its edits would take its length squared."""
_GRADES = 5
_TINY = 1e-9
"""Differences below are rounding."""


def success(judged: Judgement) -> float:
    """Return how likely an attacker is right about an attribute by one leak, in 0..1.

    The five grades of certainty divide 0..1 into equal parts, and each stands for the middle of
    its part (.1, .3, .5, .7, .9); times the probability that the leak is real. An INVALID one
    counts nothing.
    """
    if judged.level is Level.INVALID:
        return 0.0
    return (judged.leak.certainty - 0.5) / _GRADES * judged.validity


class Guesses:
    """What was guessed about each attribute so far, and how much of the truth each guess holds.

    What is guessed from the original words counts whole. A new guess from words that an edit put
    there is a coarser one (Portugal, where it was Porto): it counts half of the coarsest before
    it. The same guess from other words counts what it did, as paraphrasing protects nothing.
    """

    def __init__(self) -> None:
        self._worth: dict[str, dict[str, float]] = {}

    def learn(self, judgements: Iterable[Judgement]) -> None:
        """Note guesses that rest on words that were there before the edits."""
        for judged in judgements:
            if judged.spans:
                self._of(judged).setdefault(fold(judged.leak.guess), 1.0)

    def learn_coarser(self, judgements: Iterable[Judgement]) -> None:
        """Note guesses made after the edits; what is known by then keeps its worth."""
        for judged in judgements:
            if judged.spans:
                worth = self._of(judged)
                coarsest = min(worth.values(), default=2.0)
                worth.setdefault(fold(judged.leak.guess), coarsest / 2)

    def success(self, judged: Judgement) -> float:
        """Return how much of an attribute an attacker is expected to get right by one leak."""
        return success(judged) * self._of(judged).get(fold(judged.leak.guess), 1.0)

    def gains(self, before: Iterable[Judgement], after: Iterable[Judgement]) -> dict[str, float]:
        """Return attribute -> drop in expected success; the sum is MPG, and may be negative."""
        earlier = expected_success(before, self.success)
        later = expected_success(after, self.success)
        return {
            attribute: earlier.get(attribute, 0.0) - later.get(attribute, 0.0)
            for attribute in {**earlier, **later}
        }

    def _of(self, judged: Judgement) -> dict[str, float]:
        return self._worth.setdefault(judged.leak.attribute, {})


def expected_success(
    judgements: Iterable[Judgement], chance: Callable[[Judgement], float] = success
) -> dict[str, float]:
    """Return attribute -> probability that an attacker gets it right, by any of its leaks.

    1 - Π(1 - success): leaks count as independent, so that taking any of them away is a gain,
    and none is worth more than the attribute.
    """
    missed: dict[str, float] = {}
    for judged in judgements:
        attribute = judged.leak.attribute
        missed[attribute] = missed.get(attribute, 1.0) * (1 - chance(judged))
    return {attribute: 1 - missing for attribute, missing in missed.items()}


def rate(muc: float, mpg: float) -> float:
    """Return MRS, the utility paid per unit of privacy gained.

    Where nothing was gained the ratio says nothing. It is infinite if anything was paid, or if
    privacy was lost, whatever that brought in utility; and 0 where nothing changed at all.

    Examples
    --------
    >>> rate(0.1, 0.5), rate(0.1, 0.0), rate(0.0, 0.0), rate(0.0, -0.2)
    (0.2, inf, 0.0, inf)
    """
    if mpg > _TINY:
        return muc / mpg
    return 0.0 if mpg >= -_TINY and muc <= _TINY else math.inf


def ledger(
    text: str,
    edits: Sequence[Edit],
    judgements: Sequence[Judgement],
    *,
    gained: Mapping[str, float],
    muc: float,
    utility: Callable[[str, str], float],
) -> tuple[LedgerEntry, ...]:
    """Return each edit's share of a round; the costs sum to ``muc``.

    What an attribute gained is shared equally by the edits that touch its evidence. What the
    round cost is shared in proportion to what each edit alone costs its own sentence, or what of
    it is near, weighted with the length of that.

    Raises
    ------
    CancelledError
        If the run is cancelled.
    """
    answered = attributes_of(edits, judgements)
    edits_of = {name: sum(name in names for names in answered) for name in gained}
    costs = _costs(text, edits, utility)
    total = sum(costs)
    entries = []
    for edit, names, cost in zip(edits, answered, costs, strict=True):
        mpg = sum(gained[name] / edits_of[name] for name in names if name in gained)
        paid = muc * cost / total if total > _TINY else muc / len(edits)
        entries.append(LedgerEntry(edit, mpg, paid, rate(paid, mpg)))
    return tuple(entries)


def attributes_of(edits: Sequence[Edit], judgements: Iterable[Judgement]) -> list[set[str]]:
    """Return for each edit, in order and apart, the attributes whose evidence it touches."""
    spans = [edit.span for edit in edits]
    names: list[set[str]] = [{edit.attribute} - {""} for edit in edits]
    for judged in judgements:
        for span in judged.spans:
            for number in touched(spans, span):
                names[number].add(judged.leak.attribute)
    return names


def _costs(text: str, edits: Sequence[Edit], utility: Callable[[str, str], float]) -> list[float]:
    """Return what each edit alone costs its surroundings, times their length."""
    parts = sentences(text)
    costs = []
    first = 0
    for edit in edits:
        check_cancelled()
        while first < len(parts) - 1 and parts[first].end <= edit.span.start:
            first += 1
        last = first
        while last < len(parts) - 1 and parts[last].end < edit.span.end:
            last += 1
        start = max(parts[first].start, edit.span.start - _AROUND)
        end = min(parts[last].end, edit.span.end + _AROUND)
        part = text[start:end]
        costs.append(max(1 - utility(part, apply(part, [moved(edit, -start)])), 0.0) * len(part))
    return costs
