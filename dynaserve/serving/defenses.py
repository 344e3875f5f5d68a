"""Which defense guards a served model: from the name or file in the settings to the object.

It fails closed: serving without a defense takes two settings that agree.
"""

from __future__ import annotations

from pathlib import Path

from dynaserve.defenses import Defense, DynaNoise, RankTemplate, Undefended, load_defense
from dynaserve.serving.models import Model
from dynaserve.serving.models.embedded import held_out
from dynaserve.serving.settings import ServeSettings, SettingsError

NAMES = ("dynanoise", "dynanoise-paper", "rank-template", "none")


def choose_defense(name_or_file: str, model: Model, settings: ServeSettings) -> Defense:
    """Return the defense that ``name_or_file`` stands for, bound to ``model``.

    Parameters
    ----------
    name_or_file : str
        One of ``NAMES``, or a file that ``defense.save`` or ``dynaserve calibrate`` wrote.
    model : Model
        Keyed noise is bound to its version; the rank template of the embedded default is
        calibrated on the half of the data that it was not trained on.
    settings : ServeSettings
        Its ``source`` says whether the model is the embedded default, its ``undefended``
        whether serving without a defense is meant.

    Raises
    ------
    SettingsError
        The name is unknown, the file is missing, or the defense may not be used like this.
    ValueError
        The file is not one that ``load_defense`` reads.
    """
    chosen: Defense
    if name_or_file == "dynanoise":
        chosen = DynaNoise.keyed()
    elif name_or_file == "dynanoise-paper":
        chosen = DynaNoise.paper()
    elif name_or_file == "rank-template":
        chosen = embedded_rank_template(settings)
    elif name_or_file == "none":
        chosen = Undefended()
    else:
        chosen = from_file(name_or_file)
    if isinstance(chosen, Undefended) and not settings.undefended:
        raise SettingsError(
            "without a defense the raw scores tell who was in the training data; if that is "
            "meant, say --undefended too (DYNASERVE_UNDEFENDED=1)"
        )
    return chosen.with_model_version(model.version) if isinstance(chosen, DynaNoise) else chosen


def embedded_rank_template(settings: ServeSettings) -> Defense:
    """Calibrate a rank template for the embedded default on its held-out half."""
    if settings.source is not None:
        raise SettingsError(
            "a rank template is calibrated on labelled rows that the model was not trained on. "
            "Make one with: dynaserve calibrate HELD_OUT.npz -o defense.toml, "
            "and serve with --defense defense.toml"
        )
    return RankTemplate.calibrate(*held_out())


def from_file(name: str) -> Defense:
    """Load a saved defense; refuse a name that is neither a file nor a defense."""
    if Path(name).is_file():
        return load_defense(name)
    kind = "there is no such file" if Path(name).suffix == ".toml" else "no defense has that name"
    raise SettingsError(f"defense {name!r}: {kind}; choose {', '.join(NAMES)}, or a FILE.toml")
