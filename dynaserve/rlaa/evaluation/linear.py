"""An attacker that owes nothing to the anonymizer: words, letters and a linear model.

It learns at run time what people of SynthPAI write, knows nothing of spans, lists or prompts, and
always guesses. So it sees what is left between the edits: style, topics, habits.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from dynaserve.extras import needing
from dynaserve.rlaa.evaluation.data import Person, Record, Truth
from dynaserve.rlaa.evaluation.scoring import CLASSES, class_of

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_STRENGTH = 0.3
"""Of the fit (scikit-learn's C): comments are short and there are few people to learn from."""


class LinearAttacker:
    """TF-IDF of words, pairs of words and pieces of words; a logistic regression per attribute.

    Parameters
    ----------
    people
        Whom it learns from: each comment is a text with what is true of who wrote it.
    unseen
        Truths of people it may not learn from. Those of llmprivacy are among SynthPAI's: an
        attacker who had read them would recognize people, and not infer anything.

    Raises
    ------
    ImportError
        Naming the extra, without scikit-learn.
    ValueError
        If nobody is left to learn from, or all that are left have the same values.
    """

    name = "linear"
    attributes = tuple(CLASSES)
    """What it guesses: the attributes with few values."""

    def __init__(self, people: Sequence[Person], unseen: Collection[Truth] = ()) -> None:
        known = {tuple(truth.items()) for truth in unseen}
        learned = [person for person in people if tuple(person.truth.items()) not in known]
        if not learned:
            raise ValueError("the linear attacker has nobody to learn from")
        self.people = len(learned)
        """How many people it learned from."""
        comments = [comment for person in learned for comment in person.comments]
        self._features = _features()
        rows = self._features.fit_transform(comments)
        self._models = {
            attribute: _fitted(
                rows,
                [class_of(attribute, p.truth[attribute]) for p in learned for _ in p.comments],
            )
            for attribute in self.attributes
        }

    def guess(self, record: Record, text: str) -> str:
        """Return which class of the record's attribute a text speaks for.

        Raises
        ------
        KeyError
            For an attribute that is none of `attributes`.
        """
        model = self._models[record.attribute]
        return str(model.predict(self._features.transform([text]))[0])


def _features() -> Any:
    with needing("the linear attacker needs scikit-learn", extra="audit"):
        from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415 - optional
        from sklearn.pipeline import make_union  # noqa: PLC0415
    words = TfidfVectorizer(
        sublinear_tf=True, ngram_range=(1, 2), min_df=2, strip_accents="unicode"
    )
    pieces = TfidfVectorizer(
        sublinear_tf=True, analyzer="char_wb", ngram_range=(2, 4), min_df=3, max_features=60_000
    )
    return make_union(words, pieces)


def _fitted(rows: csr_matrix, classes: Sequence[str | None]) -> Any:
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - optional

    labelled = [row for row, value in enumerate(classes) if value is not None]
    model = LogisticRegression(C=_STRENGTH, class_weight="balanced", max_iter=500)
    return model.fit(rows[labelled], [classes[row] for row in labelled])
