"""The runtime of every generated network: relaxations, adjoints, nudged phases, learning rules, the class users call.

In: the equations of a generated module. Out: equilibria and gradients. A generated module reads all of it through this
package, as ``from energyc import runtime as rt``: ``PUBLIC`` lists the names, which are imported when first asked for.

| room | content |
|---|---|
| ``tensors`` | arithmetic that knows no network: states, linear systems, reductions, sets, draws |
| ``equations`` | the base class of a network's equations, its inputs and records |
| ``relaxation`` | the free phase: a solver of a step method, a step-size controller, a stopping criterion, observers |
| ``convergence`` | whether samples converged, and why not |
| ``adjoints`` | the adjoint of an equilibrium and of recorded steps, for rules and autograd |
| ``nudging`` | nudged and clamped phases, their contrast, the strength of a nudge |
| ``networks`` | the classes that users call |
| ``kernels`` | phases by kernels in C++ and Triton |
| ``rules`` | the learning rules, a file each |

The runtime imports torch, the standard library and ``files``; its imports are relative, so that
``energyc compile --standalone`` can copy it as it is. It imports no other wing.

Imports: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from .contract import CONTRACT, require_contract

#: The names that generated modules may read, by the module that defines them.
_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "networks.network": "EnergyNetwork",
        "networks.layers": "EnergyLayer LayeredNetwork Visit",
        "equations.phase_settings": "Nudge Relax",
        "equations.products": "RoundedEquations",
        "equations.proximal": "ProximalEquations",
        "kernels.phases": "KernelNetwork",
        "kernels.cpp_kernels": "Kernels",
        "kernels.triton_kernels": (
            "PhaseStep TritonKernels cdiv dot_precision matrix put_einsum put_product room scatter"
        ),
        "rules.adjoint": "adjoint",
        "rules.aep": "aep",
        "rules.bptt": "bptt",
        "rules.centered_ep": "centered_ep",
        "rules.chl": "chl",
        "rules.dual_propagation": "dual_propagation",
        "rules.dyadic_ep": "dyadic_ep",
        "rules.ep": "ep",
        "rules.holomorphic_aep": "holomorphic_aep",
        "rules.holomorphic_ep": "holomorphic_ep",
        "rules.implicit": "implicit",
        "rules.predictive_coding": "predictive_coding",
        "rules.tbptt": "tbptt",
        "rules.tracking_aep": "tracking_aep",
        "rules.vf": "vf",
        "tensors.draws": "glorot kaiming normal uniform",
        "tensors.functions": (
            "gauss gelu_slope gelu_tanh_core gelu_tanh_slope reached silu_integral silu_slope softplus softsign step"
        ),
        "tensors.holomorphic": (
            "complex_gelu_tanh complex_gelu_tanh_slope complex_logsumexp complex_sigmoid complex_silu "
            "complex_silu_slope complex_softmax complex_softplus complex_sphere_ complex_standardized_"
        ),
        "tensors.indexing": "element gather one_hot overlap_add positions scatter_add segment_sum windows",
        "tensors.param_sets": (
            "along_orthogonal along_sphere mirrored norm_at_most orthogonal symmetric unit zero_diagonal"
        ),
        "tensors.reductions": "batch_median first_largest largest_entry or_zero softmax",
        "tensors.segments": "segment_count segment_first_largest segment_logsumexp segment_max segment_softmax",
        "tensors.sets": "Box Index Real Simplex Sphere Standardized",
        "tensors.states": "Pullback Tensors",
    }
)
#: The module of each public name.
PUBLIC: Mapping[str, str] = MappingProxyType(
    {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names.split()}
)

__all__ = ["CONTRACT", "PUBLIC", "require_contract"]


def __getattr__(name: str) -> Any:
    """A public name, imported when first asked for. Raises AttributeError."""
    if name not in PUBLIC:
        raise AttributeError(f"energyc.runtime has no name {name!r}")
    value = globals()[name] = getattr(import_module(PUBLIC[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *PUBLIC})
