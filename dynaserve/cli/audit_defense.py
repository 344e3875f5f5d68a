"""Which defense ``dynaserve audit`` puts before the model: the same words as ``serve`` takes.

An audit needs no secret: keyed noise gets a throw-away key, so that a report can be made again
anywhere and the key that guards a served model is not even read.
"""

from __future__ import annotations

import numpy as np

from dynaserve.cli.audited import Audited
from dynaserve.cli.held_out import HeldOutRows
from dynaserve.defenses import Defense, DynaNoise, NoiseKey, RankTemplate, Undefended, load_defense
from dynaserve.defenses.document import read_document
from dynaserve.defenses.rank_template.calibrate import MIN_ROWS
from dynaserve.serving.defenses import NAMES


def audited_defense(name_or_file: str, held_out: HeldOutRows | None, *, seed: int) -> Defense:
    """Return the defense of that name or file.

    Parameters
    ----------
    name_or_file
        ``dynanoise``, ``dynanoise-paper``, ``rank-template``, ``none``, or a TOML file.
    held_out
        What ``rank-template`` is calibrated on.
    seed
        Of the throw-away key.

    Raises
    ------
    ValueError
        The name is unknown, the file is no defense, or rows to calibrate on are missing.
    """
    if name_or_file == "dynanoise":
        return DynaNoise.keyed(_throw_away_key(seed))
    if name_or_file == "dynanoise-paper":
        return DynaNoise.paper()
    if name_or_file == "none":
        return Undefended()
    if name_or_file == "rank-template":
        if held_out is None:
            raise ValueError(
                "--defense rank-template: it is calibrated on labelled rows that no audited model "
                "was trained on and that are not audited; name them with --held-out FILE.npz"
            )
        return RankTemplate.calibrate(held_out.logits, held_out.labels)
    return _from_file(name_or_file, seed)


def shadow_templates(defense: Defense, audited: Audited) -> list[Defense] | None:
    """Return a template for each shadow, made from its answers to the same held-out rows.

    That is what an attacker would do who knows how the target's own was made. None leaves the
    choice to the audit: for other defenses, or without such answers.
    """
    rows, answers = audited.held_out, audited.shadow_held_out
    if not isinstance(defense, RankTemplate) or rows is None or answers is None:
        return None
    if len(rows.labels) < MIN_ROWS:
        return None
    ranks, buckets = len(defense.template.rank_weights), len(defense.template.confidence)
    return [RankTemplate.calibrate(one, rows.labels, ranks, buckets) for one in answers]


def _from_file(name: str, seed: int) -> Defense:
    try:
        document = read_document(name)
    except FileNotFoundError:
        kind = "there is no such file" if name.endswith(".toml") else "no defense has that name"
        raise ValueError(
            f"--defense {name}: {kind}; choose {', '.join(NAMES)}, or a FILE.toml"
        ) from None
    except ValueError as error:
        raise ValueError(f"defense file {name}: {error}") from None
    keyed = document.kind == DynaNoise.KIND and document.parameters.get("noise") == "keyed"
    return load_defense(name, key=_throw_away_key(seed) if keyed else None)


def _throw_away_key(seed: int) -> NoiseKey:
    return NoiseKey(np.random.default_rng([seed, 7]).bytes(32))
