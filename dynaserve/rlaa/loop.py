"""The loop: attack, arbitrate, edit, weigh, until nothing is left that matters.

After "Look Twice before You Leap" (arXiv 2512.06713). It fails closed: a text is called clean or
anonymized only if an attack over every attribute on exactly that text was read whole, everything
actionable that was ever found in it is gone, and no role broke its contract.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal

from dynaserve.rlaa.economics import DEFAULT_MAX_MRS
from dynaserve.rlaa.editing import Change, Edits, Rewrite
from dynaserve.rlaa.llm.protocol import LLM
from dynaserve.rlaa.pseudonyms import Pseudonyms
from dynaserve.rlaa.records import ATTRIBUTES, IDENTIFIER, Level, Result
from dynaserve.rlaa.roles import Arbitrator, Attacker, Editor, Rewriter
from dynaserve.rlaa.running import Run
from dynaserve.rlaa.utility import Utility


class Anonymizer:
    """Takes out of a text what gives its author away, for as long as that is worth it.

    Parameters
    ----------
    llm
        A model to play the roles that are not given. Direct identifiers are found, graded and
        replaced by rules beside it; what it rewrites holds none.
    attacker, arbitrator, editor, rewriter
        Who plays which role. ``mode`` says which of the last two is needed.
    mode
        ``"edit"`` replaces the words that a leak rests on and keeps every other character;
        ``"rewrite"`` is the paper's: a model writes the text anew.
    attributes
        What to protect; direct identifiers always are.
    actionable
        Grades that call for an edit. HIGH must be among them.
    max_mrs
        λ: the most utility, of 1, that an edit may cost for each attribute that an attacker is
        expected to get right before it and not after. Above it the run stops with the text before
        that edit, or with none while a HIGH leak is open. A direct identifier may cost anything.
        See `economics.DEFAULT_MAX_MRS`.
    max_rounds
        How often a text may be edited.
    utility
        Scores a text against its original.
    pseudonyms
        Keeps replacements the same over many texts; for ``mode="edit"`` only. Within one text
        they always are.
    grades
        How the model grades leaks: ``"score"`` by the probabilities of the four grades,
        ``"generate"`` by writing them, for one whose probabilities cannot be had.
    attack_tokens
        Room for the model's reply as attacker; one that needs more counts as none.
    seed
        Of the model's sampling.

    Raises
    ------
    ValueError
        If a role is missing, or an argument is none that it can be.
    ImportError
        Without the extra ``anonymize``.

    Examples
    --------
    >>> from dynaserve.rlaa import Anonymizer
    >>> result = Anonymizer.embedded().run("Nice weather today.")
    >>> result.status.value, result.text
    ('clean', 'Nice weather today.')
    """

    def __init__(
        self,
        llm: LLM | None = None,
        *,
        attacker: Attacker | None = None,
        arbitrator: Arbitrator | None = None,
        editor: Editor | None = None,
        rewriter: Rewriter | None = None,
        mode: Literal["edit", "rewrite"] = "edit",
        attributes: Sequence[str] = ATTRIBUTES,
        actionable: Collection[Level] = frozenset({Level.HIGH, Level.MED}),
        max_mrs: float = DEFAULT_MAX_MRS,
        max_rounds: int = 3,
        utility: Utility | None = None,
        pseudonyms: Pseudonyms | None = None,
        grades: Literal["score", "generate"] = "score",
        attack_tokens: int = 1024,
        seed: int = 0,
    ) -> None:
        if mode not in {"edit", "rewrite"}:
            raise ValueError(f"mode: must be 'edit' or 'rewrite', got {mode!r}")
        if pseudonyms is not None and mode != "edit":
            raise ValueError("pseudonyms: only mode 'edit' keeps replacements consistent")
        if grades not in {"score", "generate"}:
            raise ValueError(f"grades: must be 'score' or 'generate', got {grades!r}")
        if not max_mrs >= 0:
            raise ValueError(f"max_mrs: must be 0 or more, got {max_mrs}")
        for name, number in (("max_rounds", max_rounds), ("attack_tokens", attack_tokens)):
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise ValueError(f"{name}: must be a whole number from 1 on, got {number!r}")
        self._attributes = _scope(attributes)
        self._actionable = _grades(actionable)
        self._max_mrs, self._max_rounds = float(max_mrs), max_rounds
        self._pseudonyms = pseudonyms
        self._mode = mode
        self._attacker = attacker or _played_by(llm, "attacker", seed, max_tokens=attack_tokens)
        self._arbitrator = arbitrator or _played_by(llm, "arbitrator", seed, method=grades)
        if mode == "edit":
            self._editor = editor or _played_by(llm, "editor", seed)
        else:
            self._rewriter = rewriter or _played_by(llm, "rewriter", seed)
        self._utility = Utility() if utility is None else utility

    @classmethod
    def embedded(cls, *, year: int | None = None, **options: Any) -> Anonymizer:
        """Return an anonymizer that needs no model: its rules and gazetteers play every role.

        Parameters
        ----------
        year
            In which the texts were written; None is the present one.
        options
            As in the constructor.
        """
        from dynaserve.rlaa.embedded import EmbeddedEngine  # noqa: PLC0415 - reads its gazetteers

        engine = EmbeddedEngine(year=year)
        roles = {"attacker": engine, "arbitrator": engine, "editor": engine}
        return cls(**roles | options)

    def run(self, text: str, *, attributes: Sequence[str] | None = None) -> Result:
        """Anonymize one text. Several threads may do so at once.

        Parameters
        ----------
        text
            Any text; a long one is read in pieces, cut between sentences.
        attributes
            What to protect in this one, instead of what the anonymizer was made for.

        Returns
        -------
        How it ended. Whatever a role or a model does wrong is in there: status ``failed``, no
        text, and a reason without words of the text.

        Raises
        ------
        TypeError
            If the text is none.
        ValueError
            For an attribute that does not exist.
        """
        if not isinstance(text, str):
            raise TypeError(f"text: must be a string, not {type(text).__name__}")
        return Run(
            text,
            attributes=self._attributes if attributes is None else _scope(attributes),
            attacker=self._attacker,
            arbitrator=self._arbitrator,
            change=self._change(),
            actionable=self._actionable,
            max_mrs=self._max_mrs,
            max_rounds=self._max_rounds,
            utility=self._utility,
        ).result()

    def _change(self) -> Change:
        if self._mode == "edit":
            return Edits(self._editor, self._pseudonyms)
        return Rewrite(self._rewriter)


def _scope(attributes: Sequence[str]) -> tuple[str, ...]:
    if isinstance(attributes, str):
        raise ValueError("attributes: needs a list of names, not one string")
    known = {*ATTRIBUTES, IDENTIFIER}
    if unknown := [name for name in attributes if name not in known]:
        raise ValueError(
            f"attributes: there is no {unknown[0]!r}; choose from {', '.join(ATTRIBUTES)}"
        )
    return tuple(dict.fromkeys((*attributes, IDENTIFIER)))


def _grades(actionable: Collection[Level]) -> frozenset[Level]:
    try:
        grades = frozenset(map(Level, actionable))
    except ValueError as error:
        raise ValueError(f"actionable: {error}") from None
    if Level.HIGH not in grades or Level.INVALID in grades:
        raise ValueError("actionable: must hold HIGH, and may hold MED and LOW")
    return grades


def _played_by(llm: LLM | None, role: str, seed: int, **options: Any) -> Any:
    if llm is None:
        raise ValueError(f"{role}: give one, or a model that plays it")
    from dynaserve.rlaa import guarded, model_roles  # noqa: PLC0415 - only for who has a model
    from dynaserve.rlaa.embedded import EmbeddedEngine  # noqa: PLC0415

    engine = EmbeddedEngine()
    if role == "attacker":
        attacker = model_roles.ModelAttacker(llm, seed=seed, **options)
        return guarded.GuardedAttacker(attacker, engine)
    if role == "arbitrator":
        arbitrator = model_roles.ModelArbitrator(llm, seed=seed, **options)
        return guarded.GuardedArbitrator(arbitrator, engine)
    if role == "editor":
        return guarded.GuardedEditor(model_roles.ModelEditor(llm, seed=seed), engine)
    return guarded.GuardedRewriter(model_roles.ModelRewriter(llm, seed=seed), engine)
