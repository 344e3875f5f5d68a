"""What of a text's use survives its anonymization: meaning, wording and characters, each 0 to 1.

All of it is computed here, from files of an installed package: no model runs, and nothing is
downloaded. A score compares a text with its original; it says nothing about how good either is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynaserve.rlaa.alignment import kept
from dynaserve.rlaa.chunks import sentences
from dynaserve.rlaa.llm.cancellation import check_cancelled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FEW = 64
"""Words that may be missing, at first."""
_WORD = re.compile(r"\w+")
_MODEL, _DIMENSIONS = "l2_supercat", 256
_NEEDED = ("rapidfuzz", "safetensors", "tokenizers", "wordllama")


@dataclass(frozen=True)
class Scores:
    """How much of an original a text keeps.

    Attributes
    ----------
    meaning
        Cosine of static embeddings (WordLlama, 256 dimensions, mean of the tokens), not below 0.
    rouge_l
        F1 over the longest common subsequence of words, without case (Lin, 2004).
    kept
        Share of the original's characters that stand in the text, in the same order.
    """

    meaning: float
    rouge_l: float
    kept: float

    @property
    def combined(self) -> float:
        """The arithmetic mean, as the paper's UTIL is one of three scores.

        A product would say nothing more once one of them is 0; and a mean adds up: the
        utility lost over the rounds is the sum of what each lost.
        """
        return (self.meaning + self.rouge_l + self.kept) / 3


class Utility:
    """Scores texts against their originals; the same text scores exactly 1.

    Raises
    ------
    ImportError
        Without the extra ``anonymize``.

    Examples
    --------
    >>> Utility()("I live in Porto.", "I live in Porto.")
    1.0
    """

    def __init__(self) -> None:
        if missing := [name for name in _NEEDED if find_spec(name) is None]:
            raise ImportError(
                f'the anonymizer needs {", ".join(missing)}: pip install "dynaserve[anonymize]"'
            )

    def __call__(self, original: str, text: str) -> float:
        """Return the combined score, in 0..1.

        Raises
        ------
        CancelledError
            If the run is cancelled.
        """
        return self.compare(original, text).combined

    def compare(self, original: str, text: str) -> Scores:
        """Return all scores."""
        if original == text:
            return Scores(1.0, 1.0, 1.0)
        return Scores(_meaning(original, text), _rouge_l(original, text), kept(original, text))


def _rouge_l(original: str, text: str) -> float:
    numbers: dict[str, int] = {}
    words = [
        [numbers.setdefault(word, len(numbers)) for word in _WORD.findall(side.casefold())]
        for side in (original, text)
    ]
    total = sum(map(len, words))
    return 2 * _common(*words) / total if total else 1.0


def _common(one: list[int], other: list[int]) -> int:
    """Return the length of the longest common subsequence."""
    from rapidfuzz.distance import LCSseq  # noqa: PLC0415 - comes with the extra

    longest, missing = max(len(one), len(other)), _FEW
    # A bound on what may be missing makes the time linear, as long as the texts are alike.
    while missing < longest:
        if common := int(LCSseq.similarity(one, other, score_cutoff=longest - missing)):
            return common
        missing *= 4
    return int(LCSseq.similarity(one, other))


def _meaning(original: str, text: str) -> float:
    import numpy as np  # noqa: PLC0415 - the package is imported without it

    one, other = _embedded(original), _embedded(text)
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    if not lengths:
        return float(one.any() == other.any())
    return min(max(float(one @ other) / lengths, 0.0), 1.0)


def _embedded(text: str) -> NDArray[np.float64]:
    """Return the sum of a text's token vectors, float64 (256,): its direction is that of the mean.

    Each distinct token is looked up once, so that memory does not grow with the text.
    """
    import numpy as np  # noqa: PLC0415 - the package is imported without it

    tokenizer, vectors = _model()
    encodable = text.encode("utf-8", "replace").decode()  # half a surrogate pair is no token
    # One by one, as the time of a tokenizer of whole texts grows faster than they do.
    encoded: list[int] = []
    for span in sentences(encodable):
        check_cancelled()
        sentence = encodable[span.start : span.end].strip()
        encoded += tokenizer.encode(sentence, add_special_tokens=False).ids
    tokens, counts = np.unique(np.asarray(encoded, dtype=np.intp), return_counts=True)
    return np.asarray(counts @ vectors[tokens].astype(np.float64))


@lru_cache(maxsize=1)
def _model() -> tuple[Any, NDArray[np.floating[Any]]]:
    """Return WordLlama's tokenizer and token vectors, (tokens, 256), once per process.

    Read from the files in its package, not through it: importing it sets up the logging of the
    whole process, and its loader looks for the tokenizer on the network.
    """
    from safetensors.numpy import load_file  # noqa: PLC0415 - comes with the extra
    from tokenizers import Tokenizer  # noqa: PLC0415 - comes with the extra

    package = find_spec("wordllama")
    if package is None or package.origin is None:
        raise ImportError('WordLlama is not installed: pip install "dynaserve[anonymize]"')
    home = Path(package.origin).parent
    tokenizer = Tokenizer.from_file(str(home / "tokenizers" / f"{_MODEL}_tokenizer_config.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    weights = load_file(home / "weights" / f"{_MODEL}_{_DIMENSIONS}.safetensors")
    return tokenizer, weights["embedding.weight"]
