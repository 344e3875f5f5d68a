"""Occupations: the same words but for order, rank and synonyms; half for the kind alone."""

from __future__ import annotations

from dynaserve.rlaa.evaluation.scoring.words import affirmed, alike, content

_WITHOUT = {
    "a", "an", "the", "of", "at", "in", "for", "and", "or", "with", "as", "is", "works", "work",
    "working", "worker", "job", "role", "professional", "part", "full", "time", "junior", "senior",
    "head", "lead", "chief", "executive", "retired", "former", "freelance", "aspiring", "self",
    "employed", "student", "trainee", "intern", "medical", "specialist", "field", "industry",
}  # fmt: skip
_MEANING = {
    "lecturer": "professor", "academic": "professor", "college": "university",
    "developer": "engineer", "programmer": "engineer", "coder": "engineer",
    "physician": "doctor", "surgeon": "doctor", "attorney": "lawyer", "cook": "chef",
    "educator": "teacher", "video": "film", "movie": "film",
    "finance": "financial", "marketer": "marketing", "waitress": "waiter", "server": "waiter",
    "archeologist": "archaeologist", "store": "shop", "retail": "shop",
}  # fmt: skip


def score_occupation(guess: str, truth: str) -> float:
    """Return 1 for the same occupation, 0.5 for its kind ("engineer" for a civil engineer)."""
    guessed, actual = (
        content(affirmed(words), without=_WITHOUT, meaning=_MEANING) for words in (guess, truth)
    )
    if not guessed or not actual:
        return 0.0
    if alike(guessed, actual) or set(actual) <= set(guessed):
        return 1.0
    return 0.5 if set(guessed) < set(actual) and guessed[-1] == actual[-1] else 0.0
