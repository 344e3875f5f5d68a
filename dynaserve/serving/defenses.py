"""Which defense guards a served model: from the name or file in the settings to the object.

It fails closed: serving without a defense takes two settings that agree, and a template serves
the model that it was calibrated on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from dynaserve.defenses import Defense, DynaNoise, RankTemplate, Undefended, load_defense
from dynaserve.serving.models import Model
from dynaserve.serving.models.embedded import held_out
from dynaserve.serving.models.scores import probe_rows
from dynaserve.serving.settings import ServeSettings, SettingsError

NAMES = ("dynanoise", "dynanoise-paper", "rank-template", "none")


def choose_defense(name_or_file: str, model: Model, settings: ServeSettings) -> Defense:
    """Return the defense that ``name_or_file`` stands for, bound to ``model``.

    Parameters
    ----------
    name_or_file : str
        One of ``NAMES``, or a file that ``defense.save`` or ``dynaserve calibrate`` wrote.
    model : Model
        Keyed noise is bound to its version, a rank template must be; that of the embedded
        default is calibrated on the half of the data that the model was not trained on.
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
        chosen = embedded_rank_template(model, settings)
    elif name_or_file == "none":
        chosen = Undefended()
    else:
        chosen = from_file(name_or_file)
    if releases_scores(chosen) and not settings.undefended:
        raise SettingsError(
            "without a defense, or with noise of variance 0, the raw scores tell who was in the "
            "training data; if that is meant, say --undefended too (DYNASERVE_UNDEFENDED=1)"
        )
    if isinstance(chosen, DynaNoise):
        return chosen.with_model_version(model.version)
    if isinstance(chosen, RankTemplate) and chosen.model_version not in ("", model.version):
        raise SettingsError(
            f"defense {name_or_file}: calibrated on model version {chosen.model_version[:12]}, but "
            f"{model.name} has version {model.version[:12]}; calibrate again, with: dynaserve "
            "calibrate HELD_OUT.npz -o defense.toml --model SOURCE"
        )
    return chosen


def rehearse(model: Model, defense: Defense) -> NDArray[Any]:
    """Return a made-up row (1, *input_shape) after sending it through both.

    Raises
    ------
    ValueError
        They do not fit together: the defense was made for other classes.
    """
    row = probe_rows(model.input_shape, model.dtype, 1)
    defense(model.logits(row), queries=row)
    return row


def releases_scores(defense: Defense) -> bool:
    """Whether what goes out is the softmax itself."""
    noiseless = isinstance(defense, DynaNoise) and defense.config.base_variance == 0
    return noiseless or isinstance(defense, Undefended)


def embedded_rank_template(model: Model, settings: ServeSettings) -> Defense:
    """Calibrate a rank template for the embedded default on its held-out half."""
    if settings.source is not None:
        raise SettingsError(
            "a rank template is calibrated on labelled rows that the model was not trained on. "
            "Make one with: dynaserve calibrate HELD_OUT.npz -o defense.toml, "
            "and serve with --defense defense.toml"
        )
    return RankTemplate.calibrate(*held_out()).with_model_version(model.version)


def from_file(name: str) -> Defense:
    """Load a saved defense; refuse a name that is neither a file nor a defense."""
    if Path(name).is_file():
        return load_defense(name)
    kind = "there is no such file" if Path(name).suffix == ".toml" else "no defense has that name"
    raise SettingsError(f"defense {name!r}: {kind}; choose {', '.join(NAMES)}, or a FILE.toml")
