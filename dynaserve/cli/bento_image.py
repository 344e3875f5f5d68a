"""A container image from a bento, by BentoML's own steps and one more: what runs, and no more.

BentoML's Dockerfile has one stage, so its image keeps the compiler, pip and every cache. Here
that stage only builds; a last one takes the environment and the bento out of it, owned by root
and run by a user that may write nothing but ``STATE`` and ``/tmp``.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

USER = 1034
"""BentoML's; as a number, for Kubernetes cannot tell that a name is not root."""
STATE = "/var/lib/dynaserve"
BENTO = "/home/bentoml/bento"
_BUILT = "base-container"

ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "PATH": "/app/.venv/bin:/usr/local/bin:/usr/bin:/bin",
    "PYTHONUNBUFFERED": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "HOME": "/tmp",  # noqa: S108 - of the container; libraries keep their caches in it
    "BENTOML_HOME": "/tmp/bentoml",  # noqa: S108
    "BENTOML_CONTAINERIZED": "true",
    "BENTO_PATH": BENTO,
    "DYNASERVE_STATE_DIR": STATE,
}

# As BentoML's entry point and the service find it.
_READY = (
    "import os, urllib.request as r; e = os.environ; "
    "port = e.get('PORT') or e.get('BENTOML_PORT') or e.get('DYNASERVE_PORT') or '3000'; "
    "r.urlopen(f'http://127.0.0.1:{port}/readyz', timeout=4)"
)

_LAST_STAGE = """
USER root
RUN chmod -R a+rX,go-w /app {bento} && \\
    find /app/.venv/lib -type d -name tests \\( -path '*/site-packages/numpy/*' -o \\
        -path '*/site-packages/scipy/*' -o -path '*/site-packages/sklearn/*' \\) \\
        -prune -exec rm -rf {{}} +

FROM {base_image}
RUN echo 'dynaserve:x:{user}:{user}::/tmp:/usr/sbin/nologin' >> /etc/passwd && \\
    mkdir -m 0700 {state} && chown {user}:{user} {state}
COPY --from={built} --chown=0:0 /app /app
COPY --from={built} --chown=0:0 {bento} {bento}
ENV {environment}
WORKDIR {bento}
EXPOSE 3000
USER {user}:{user}
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD {ready}
ENTRYPOINT ["{bento}/env/docker/entrypoint.sh"]
"""


def make_image(bento: Any, backend: str, tags: Iterable[str], options: Mapping[str, Any]) -> None:
    """Build the image of a bento.

    Parameters
    ----------
    bento : bentoml.Bento
        From the local store.
    backend : str
        A builder that BentoML knows, such as ``docker``, ``podman`` or ``buildah``.
    tags : iterable of str
        Names for the image.
    options : mapping of str to True or tuple of str
        More options of the backend's ``build``.

    Raises
    ------
    BentoMLException
        The backend's build failed.
    """
    from bentoml._internal.container import construct_containerfile, get_backend  # noqa: PLC0415
    from bentoml.exceptions import BentoMLException  # noqa: PLC0415

    from dynaserve.serving.images import BUILDING  # noqa: PLC0415

    builder = get_backend(backend)
    envs = {env.name: env.value for env in bento.info.envs if env.name not in BUILDING}
    with construct_containerfile(bento, enable_buildkit=builder.enable_buildkit) as made:
        context, dockerfile = made
        file = Path(dockerfile)
        file.write_text(two_stages(file.read_text(), bento.info.image.base_image, envs))
        try:
            builder.build(file=dockerfile, context_path=context, tag=tuple(tags), **options)
        except (subprocess.CalledProcessError, BentoMLException) as error:
            # All of it was shown as it came.
            last = str(error).strip().splitlines()[-1]
            raise BentoMLException(f"{backend} could not make the image: {last}") from error


def require_backend(backend: str) -> None:
    """Raise ``OSError`` unless the backend answers."""
    from dynaserve.serving.models.imports import require  # noqa: PLC0415 - frameworks

    container = require("bentoml.container", extra="serve")
    try:
        healthy = container.health(backend)
    except (subprocess.CalledProcessError, OSError):
        healthy = False
    if not healthy:
        raise OSError(
            f"{backend} is not installed or does not answer; install or start it, or choose "
            "another --backend"
        )


def two_stages(dockerfile: str, base_image: str, envs: Mapping[str, str]) -> str:
    """Return BentoML's Dockerfile with a last stage of only what runs.

    Raises
    ------
    RuntimeError
        BentoML wrote another Dockerfile than it did up to now.
    """
    if f" AS {_BUILT}\n" not in dockerfile or BENTO not in dockerfile:
        raise RuntimeError(f"no stage {_BUILT} with {BENTO} in the Dockerfile that BentoML wrote")
    variables = ENVIRONMENT | dict(envs)
    return dockerfile + _LAST_STAGE.format(
        base_image=base_image,
        bento=BENTO,
        built=_BUILT,
        environment=" ".join(f"{name}={_quoted(value)}" for name, value in variables.items()),
        ready=json.dumps(["/app/.venv/bin/python", "-c", _READY]),
        state=STATE,
        user=USER,
    )


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("$", "\\$")
