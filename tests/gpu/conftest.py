"""Lets only a process that can run the kernels collect `kernels`.

That is one on a machine with a CUDA device, or the one that `test_interpreter.py` starts.
"""

from __future__ import annotations

import os

import torch

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"

collect_ignore = [] if INTERPRETED or torch.cuda.is_available() else ["kernels"]
