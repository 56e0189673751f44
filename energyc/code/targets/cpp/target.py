"""C++ as a target."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from types import MappingProxyType
from typing import TYPE_CHECKING

from energyc.code.targets.interface import Missing, Needs, Ready, Trial

if TYPE_CHECKING:
    from energyc.code.module.context import Options
    from energyc.code.module.printed import Printed
    from energyc.code.plan import ModulePlan

#: How C++ calls each dtype.
_TYPES = MappingProxyType({"float32": "float", "float64": "double"})


class CppTarget:
    """Kernels in C++17 on the CPU, built by the compiler of this machine."""

    name: str = "cpp"
    title: str = "C++ kernels"
    learns: bool = True
    phases: str | None = "C++ kernels"
    usual_on: frozenset[str] = frozenset({"cpu"})
    needs: Needs = Needs(compiler=True)
    settled: str = "built in {seconds} s and settled as torch does ({by}; {bfloat16})"

    def module(self, planned: ModulePlan, options: Options) -> Printed:
        """Write the module."""
        from energyc.code.targets.cpp.module import cpp_module

        return cpp_module(planned, options)

    def ready(self, printed: Printed, device: str, dtype: str) -> Ready:
        """Build the kernels."""
        from energyc.runtime import NoCompiler, built

        if printed.fallback is not None:
            return Ready(reason=printed.fallback)
        if device.partition(":")[0] != "cpu":
            return Ready(reason=f"they run on the cpu, not on {device}")
        if dtype not in _TYPES:
            return Ready(reason=f"they take {' and '.join(_TYPES)}, not {dtype}")
        started = time.perf_counter()
        try:
            library = built(printed.source or "", _TYPES[dtype])
        except NoCompiler as error:
            return Ready(reason=str(error))
        return Ready(time.perf_counter() - started if library.is_new else None)

    def trial(self) -> Trial:
        """The CPU, by the compiler that ``CXX`` names or the first one there is. Raises Missing."""
        compiler = os.environ.get("CXX") or next(filter(shutil.which, ("c++", "g++", "clang++")), None)
        if compiler is None:
            raise Missing("no C++ compiler was found")
        has = "has" if _has_bfloat16(compiler) else "does not have"
        facts = {"compiler": compiler, "by": _version(compiler) or compiler}
        return Trial(facts={**facts, "bfloat16": f"the processor {has} products in bfloat16"})


def _has_bfloat16(compiler: str) -> bool:
    """Whether what a compiler builds for this processor has its products of numbers in bfloat16."""
    from energyc.runtime import probed

    return "__AVX512BF16__" in (probed([*compiler.split(), "-march=native"]) or "")


def _version(compiler: str) -> str:
    """The name and version that a compiler gives itself: the command ``c++`` may be any."""
    done = subprocess.run([*compiler.split(), "--version"], capture_output=True, text=True, timeout=30)
    return done.stdout.partition("\n")[0].strip()


TARGET = CppTarget()
