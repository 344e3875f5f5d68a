"""The image of a bento: how ``bentoml build`` puts this very DynaServe into what it builds.

From a checkout the source goes along as an archive, which the image compiles for its own
processor and C library; from an installed package, its released version does. Used at build
time only: a served bento imports this and calls nothing.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from bentoml._internal.configuration import get_uv_command
from bentoml.exceptions import BentoMLException
from bentoml.images import Image

from dynaserve import __version__

CHECKOUT = Path(__file__).parents[2]
"""Where ``setup.py`` is, if this is a checkout."""


class DynaServeImage(Image):  # type: ignore[misc] # BentoML's SDK is untyped
    """``bentoml.images.Image`` with ``dynaserve[serve]`` installed; chains like its parent.

    Examples
    --------
    >>> image = DynaServeImage(python_version="3.11").python_packages("skops")
    """

    def freeze(self, bento_fs: Path, *args: Any, **kwargs: Any) -> Any:
        """Add DynaServe to the requirements, then lock them as BentoML does."""
        line = requirement(bento_fs / "src" / "wheels")
        if line not in self.python_requirements.splitlines():  # BentoML may freeze twice
            self.python_requirements += line + "\n"
        return super().freeze(bento_fs, *args, **kwargs)


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
