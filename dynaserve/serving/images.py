"""The image of a bento: how ``bentoml build`` puts this very DynaServe into what it builds.

From a checkout the source goes along as an archive, which the image compiles for its own
processor and C library; from an installed package, its released version does. A served bento
describes its image, too, which does nothing then. No key may come near it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bentoml._internal.configuration import get_uv_command
from bentoml.exceptions import BentoMLException
from bentoml.images import Image

from dynaserve import __version__

CHECKOUT = Path(__file__).parents[2]
"""Where ``setup.py`` is, if this is a checkout."""

_INSTALL = "apt-get install -q -y --no-install-recommends"
TOOLS = (
    f"apt-get update -q && {_INSTALL} ca-certificates g++ make"
    f" && {{ command -v pip || {_INSTALL} python3-dev python3-pip; }}"
    " && rm -f /usr/lib/python3*/EXTERNALLY-MANAGED"
)
"""What compiles and installs: on ``python:*-slim`` a compiler, on plain Debian pip as well.

Debian's pip installs nothing beside the system's packages unless that file is gone.
"""

CONTAINER = {
    "BENTOML_HOST": "0.0.0.0",  # noqa: S104 - inside its container only
    "BENTOML_DO_NOT_TRACK": "True",
}
BUILDING = {"CMAKE_ARGS": "-DGGML_NATIVE=OFF"}
"""Variables for what is compiled: llama.cpp for other processors, too, than the one that builds."""


class DynaServeImage(Image):  # type: ignore[misc] # BentoML's SDK is untyped
    """``bentoml.images.Image`` with ``dynaserve[serve]`` installed; chains like its parent.

    Examples
    --------
    >>> image = DynaServeImage(python_version="3.11").python_packages("skops")
    """

    commands: list[str]

    def __attrs_post_init__(self) -> None:
        """Install the tools that are needed here, once: BentoML copies an image to build it."""
        super().__attrs_post_init__()
        if self.distro == "debian":
            own = [command for command in self.commands[1:] if command != TOOLS]
            self.commands = [TOOLS, *own]

    def freeze(self, bento_fs: Path, *args: Any, **kwargs: Any) -> Any:
        """Add DynaServe to the requirements, then lock them as BentoML does."""
        line = requirement(bento_fs / "src" / "wheels")
        if line not in self.python_requirements.splitlines():  # BentoML may freeze twice
            self.python_requirements += line + "\n"
        return super().freeze(bento_fs, *args, **kwargs)


def in_container(
    *packages: str,
    environment: Mapping[str, str] | None = None,
    base_image: str = "",
    python_version: str = "",
) -> dict[str, Any]:
    """Return the options of ``bentoml.service`` for a service that runs in a container.

    Parameters
    ----------
    packages : str
        Requirements beside ``dynaserve[serve]``.
    environment : mapping of str to str
        Variables with these defaults in the image; nothing secret, for an image hides nothing.
    base_image : str
        A Debian or Ubuntu with Python; without it ``python:X.Y-slim``.
    python_version : str
        Such as ``3.11``; without it that of this process.
    """
    chosen = {"base_image": base_image, "python_version": python_version}
    image = DynaServeImage(**{name: value for name, value in chosen.items() if value})
    if packages:
        image.python_packages(*packages)
    variables = CONTAINER | BUILDING | dict(environment or {})
    envs = [{"name": name, "value": value} for name, value in variables.items()]
    return {"image": image, "envs": envs}


def requirement(wheels: Path) -> str:
    """Return the requirement line of DynaServe, having put its archive into ``wheels`` if needed.

    Raises
    ------
    BentoMLException
        The source archive could not be built; the message holds what the builder said.
    """
    if not (CHECKOUT / "setup.py").is_file():
        return f"dynaserve[serve]=={__version__}"
    command = [*get_uv_command(), "build", "--sdist", "--out-dir", str(wheels), str(CHECKOUT)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if built.returncode != 0:
        raise BentoMLException(f"the source archive of DynaServe cannot be built:\n{built.stderr}")
    # Relative to the bento's source folder, where both the lock and the image are made.
    return f"dynaserve[serve] @ file:./wheels/dynaserve-{__version__}.tar.gz"
