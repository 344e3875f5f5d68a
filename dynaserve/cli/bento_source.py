"""The folder that a bento is built from: a service of a few lines, and what is baked in.

It is written anew for each build, so that an installed package can do it as well as a checkout,
and so that nothing goes along that was not named. Keys never do: what is in an image can be read
by everyone who has it.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dynaserve.cli.outcome import UsageError

EXTRAS = {
    "classifier": (),
    "anonymizer": ("dynaserve[anonymize]",),
    "summaries": ("dynaserve[canary]",),
}
"""Requirements of each service, beside ``dynaserve[serve]``."""

IGNORED = ("__pycache__/", "*.key", "*.pem", ".env", "*keys*.toml")
"""What BentoML leaves out of a bento even if it lies in the folder (``.bentoignore``)."""

_SERVICE = '''\
"""The {name} as a bento; written by ``dynaserve bento``."""

from __future__ import annotations

from dynaserve.serving.images import in_container
from dynaserve.serving.{name} import {name}_service

{title} = {name}_service(**in_container({arguments}))
'''

# What a file was made with reads it best; newer releases of these may not read it at all.
_MAKERS = {
    ".skops": ("numpy", "scikit-learn", "skops"),
    ".joblib": ("numpy", "scikit-learn", "joblib"),
    ".pkl": ("numpy", "scikit-learn", "joblib"),
    ".pickle": ("numpy", "scikit-learn", "joblib"),
}
_NEEDS = {".pt": ("dynaserve[torch]",), ".pt2": ("dynaserve[torch]",)}


@dataclass(frozen=True)
class Baked:
    """What an image brings along beside the service.

    Attributes
    ----------
    files
        By their names in the bento.
    environment
        The variables that name them; relative, for BentoML serves from the bento's folder.
    packages
        Requirements of theirs.
    """

    files: Mapping[str, Path] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    packages: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recipe:
    """What to make a bento of.

    Attributes
    ----------
    service
        ``classifier``, ``anonymizer`` or ``summaries``.
    model, defense
        Files to bake in.
    trust_pickle
        Whether the model may be a file that can run code.
    packages
        Requirements beside what is known to be needed.
    base_image, python_version
        As of ``in_container``; empty is its default.
    """

    service: str
    model: Path | None = None
    defense: Path | None = None
    trust_pickle: bool = False
    packages: tuple[str, ...] = ()
    base_image: str = ""
    python_version: str = ""

    def bake(self) -> Baked:
        """Return what is baked in, tried as a server would.

        Raises
        ------
        ValueError, OSError, ImportError
            It cannot be served, or not together; the message says why.
        """
        for option, file in (("--model", self.model), ("--defense", self.defense)):
            if file is not None and not file.is_file():
                raise UsageError(f"{option} {file}: no such file")
        if self.model is None and self.defense is None:
            return Baked()
        if self.service == "classifier":
            return _classifier(self.model, self.defense, trust_pickle=self.trust_pickle)
        if self.service == "anonymizer" and self.model is not None and self.defense is None:
            return _gguf(self.model)
        option = "--model" if self.defense is None else "--defense"
        raise UsageError(f"{option}: {self.service} has none")

    def write(self, folder: Path, content: Baked) -> str:
        """Write the folder to build from; return the import string of the service in it."""
        packages = (*EXTRAS[self.service], *content.packages, *self.packages)
        options = {
            "environment": dict(content.environment),
            "base_image": self.base_image,
            "python_version": self.python_version,
        }
        arguments = [*map(_literal, packages)]
        arguments += [f"{name}={_literal(value)}" for name, value in options.items() if value]
        title = self.service.title()
        code = _SERVICE.format(name=self.service, title=title, arguments=", ".join(arguments))
        (folder / "service.py").write_text(code)
        (folder / ".bentoignore").write_text("\n".join(IGNORED) + "\n")
        for name, file in content.files.items():
            shutil.copyfile(file, folder / name)
        return f"service:{title}"


def _classifier(model: Path | None, defense: Path | None, *, trust_pickle: bool) -> Baked:
    from dynaserve.serving.defenses import choose_defense, rehearse  # noqa: PLC0415 - frameworks
    from dynaserve.serving.models import load_model  # noqa: PLC0415
    from dynaserve.serving.settings import ServeSettings  # noqa: PLC0415

    source = None if model is None else str(model)
    name = "dynanoise" if defense is None else str(defense)
    settings = ServeSettings(source=source, defense=name, trust_pickle=trust_pickle)
    loaded = load_model(source, trust_pickle=trust_pickle)
    with _throwaway_key():
        rehearse(loaded, choose_defense(name, loaded, settings))

    files: dict[str, Path] = {}
    environment: dict[str, str] = {}
    packages: tuple[str, ...] = ()
    if model is not None:
        files[model.name] = model
        environment["DYNASERVE_SOURCE"] = model.name
        suffix = model.suffix.lower()
        packages = (*map(_same_version, _MAKERS.get(suffix, ())), *_NEEDS.get(suffix, ()))
    if defense is not None:
        files["defense.toml"] = defense
        environment["DYNASERVE_DEFENSE"] = "defense.toml"
    if trust_pickle:
        environment["DYNASERVE_TRUST_PICKLE"] = "1"
    return Baked(files, environment, packages)


def _gguf(model: Path) -> Baked:
    with model.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise UsageError(f"--model {model}: not a GGUF file")
    return Baked({model.name: model}, {"DYNASERVE_MODEL": model.name})


@contextmanager
def _throwaway_key() -> Iterator[None]:
    """Spare the machine that builds a noise key of its own, which would guard nothing."""
    given = os.environ.get("DYNASERVE_NOISE_KEY")
    os.environ["DYNASERVE_NOISE_KEY"] = given or secrets.token_hex(32)
    try:
        yield
    finally:
        del os.environ["DYNASERVE_NOISE_KEY"]
        if given is not None:
            os.environ["DYNASERVE_NOISE_KEY"] = given


def _same_version(package: str) -> str:
    # '+cpu' and the like name a build, which another index need not have.
    return f"{package}=={importlib.metadata.version(package).partition('+')[0]}"


def _literal(value: object) -> str:
    """Return texts, or a dictionary of them, as Python with double quotes."""
    return json.dumps(value, ensure_ascii=False)
