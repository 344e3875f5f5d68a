"""Builds ``dynaserve._core``: one static library per instruction set, linked into one module.

Each library is the same algorithm (``csrc/*/kernel.h``) compiled with its own flags; which
one runs is decided at run time by ``csrc/dispatch.cpp``. On a processor family not listed
in ``INSTRUCTION_SETS`` only the scalar library is built, and everything still works.
"""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

from pybind11.setup_helpers import ParallelCompile, Pybind11Extension
from setuptools import setup
from setuptools.command.build_clib import build_clib
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

# -ffp-contract=off: a result may not depend on what the compiler chose to fuse.
FLAGS = [
    "-std=c++17",
    "-O3",
    "-ffp-contract=off",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
]

AVX2 = ["-mavx2", "-mfma"]
# -Wno-*uninitialized: GCC sees its own _mm512_undefined_ps() (GCC bug 105593).
QUIET = ["-Wno-uninitialized", "-Wno-maybe-uninitialized"]
AVX512 = [*AVX2, *QUIET, "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl"]
INSTRUCTION_SETS: dict[str, dict[str, list[str]]] = {
    "x86_64": {"avx2": AVX2, "avx512": AVX512},
    "amd64": {"avx2": AVX2, "avx512": AVX512},
    "aarch64": {"neon": []},
    "arm64": {"neon": []},
}

if sys.platform == "darwin":
    # A universal Python would compile every file for both processor families at once.
    os.environ.setdefault("ARCHFLAGS", f"-arch {platform.machine()}")

isas = {"scalar": [], **INSTRUCTION_SETS.get(platform.machine().lower(), {})}
built = [(f"DYNASERVE_WITH_{isa.upper()}", "1") for isa in isas]
headers = [str(path) for path in sorted(Path("csrc").rglob("*.h"))]
libraries = {isa: f"csrc/isa/{isa}.cpp" for isa in isas}


def explain(error: CompileError) -> CompileError:
    return CompileError(
        f"{error}\n\nDynaServe's core needs a C++17 compiler (g++ >= 9 or clang >= 10) and the "
        "Python headers. Debian/Ubuntu: apt-get install g++ python3-dev. macOS: xcode-select "
        "--install. If another compiler should be used, name it in CXX and CC."
    )


class BuildLibraries(build_clib):
    def run(self) -> None:
        try:
            super().run()
        except CompileError as error:
            raise explain(error) from error


class BuildCore(build_ext):
    def run(self) -> None:
        self.run_command("build_clib")  # build_ext links the libraries but does not build them
        try:
            super().run()
        except CompileError as error:
            raise explain(error) from error


if sys.maxsize < 2**32:
    sys.exit("DynaServe needs a 64-bit Python: the kernels index arrays past 2^31 bytes.")

ParallelCompile("DYNASERVE_BUILD_JOBS", default=0).install()

setup(
    libraries=[
        (
            f"dynaserve_{isa}",
            {
                "sources": [libraries[isa]],
                "obj_deps": {"": headers},
                "include_dirs": ["csrc"],
                "cflags": [*FLAGS, *flags],
            },
        )
        for isa, flags in isas.items()
    ],
    ext_modules=[
        Pybind11Extension(
            "dynaserve._core",
            ["csrc/module.cpp", "csrc/dispatch.cpp"],
            include_dirs=["csrc"],
            define_macros=built,
            depends=[*headers, *libraries.values()],
            extra_compile_args=FLAGS,
        )
    ],
    cmdclass={"build_clib": BuildLibraries, "build_ext": BuildCore},
)
