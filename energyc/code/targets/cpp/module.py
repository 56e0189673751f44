"""A network as a PyTorch module whose phases run in C++ kernels."""

from __future__ import annotations

from collections.abc import Sequence

from energyc.code.loops import Kernel
from energyc.code.module.context import Options
from energyc.code.module.printed import Printed
from energyc.code.module.runtime import runtime
from energyc.code.plan import ModulePlan
from energyc.code.targets.cpp.source import whole_source
from energyc.code.targets.kernels import Written, kernel_module
from energyc.code.tree.expressions import Dict, Name, String, Tuple, call
from energyc.code.tree.statements import Comment, Verbatim


def cpp_module(planned: ModulePlan, options: Options) -> Printed:
    """The module; where a network has no kernels it is that of the torch target, and says why."""
    return kernel_module(planned, options, "cpp", "array", _written)


def _written(kernels: Sequence[Kernel]) -> Written:
    source = f"\n{whole_source(kernels)}"
    names = Tuple(tuple(String(kernel.name) for kernel in kernels))
    remark = Comment("The kernels in C++17.", documents=True)
    definition = Verbatim(f'SOURCE = r"""{source}"""', defines=frozenset({"SOURCE"}))
    rounded = Dict(
        tuple((String(k.name), String("contrast" if k.contrasts else "bfloat16")) for k in kernels if k.rounds)
    )
    given = (names, rounded) if rounded.items else (names,)
    return Written((remark, definition), call(runtime("Kernels"), Name("SOURCE"), *given), source)
