"""How much of a text is left, by measures that need no judge: proxies of the paper's UTIL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from dynaserve.extras import needing
from dynaserve.rlaa.utility import Utility


@dataclass(frozen=True)
class Fidelity:
    """Each in 0..1; the original has 1 throughout, a text that is held back 0.

    Attributes
    ----------
    cosine, rouge_l, kept
        As `dynaserve.rlaa.utility.Scores`: of embeddings, of words in order, of characters.
    bleu
        BLEU-4 of the text against the original (sacreBLEU, exponential smoothing), divided by 100.
    """

    cosine: float
    rouge_l: float
    bleu: float
    kept: float


HELD_BACK = Fidelity(0.0, 0.0, 0.0, 0.0)


def fidelity(original: str, text: str | None, utility: Utility) -> Fidelity:
    """Return how much of an original a text keeps; None stands for a text that is held back.

    Raises
    ------
    ImportError
        Naming the extra, without sacreBLEU.
    """
    if text is None:
        return HELD_BACK
    scores = utility.compare(original, text)
    return Fidelity(scores.meaning, scores.rouge_l, _bleu(original, text), scores.kept)


def mean_of(several: Sequence[Fidelity]) -> Fidelity:
    """Return the mean of each measure."""
    return Fidelity(
        *(sum(getattr(one, f.name) for one in several) / len(several) for f in fields(Fidelity))
    )


def require_bleu() -> None:
    """Raise ImportError, naming the extra, without sacreBLEU."""
    with needing("the evaluation needs sacrebleu", extra="audit"):
        import sacrebleu  # noqa: F401, PLC0415 - optional


def _bleu(original: str, text: str) -> float:
    if original == text:
        return 1.0
    require_bleu()
    from sacrebleu import sentence_bleu  # noqa: PLC0415 - optional

    return float(sentence_bleu(text, [original]).score) / 100
