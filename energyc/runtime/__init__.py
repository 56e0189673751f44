"""The runtime of every generated network: relaxations, adjoints, nudged phases, learning rules, the class users call.

In: the equations of a generated module. Out: equilibria and gradients. Generated modules (``from energyc import
runtime as rt``) and the other wings read all of it through this package: ``PUBLIC`` lists its names, ``FUNCTIONS``
those that equations call by their module, as ``rt.ops.softplus``. Each is imported when first asked for.

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

Imports: ``tensors``.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .contract import CONTRACT, require_contract
from .rules import RULES, Declaration

if TYPE_CHECKING:
    from .adjoints.implicit import TransposedStep as TransposedStep
    from .adjoints.implicit import solve_adjoint as solve_adjoint
    from .convergence import causes as causes
    from .convergence.causes import NonConvergence as NonConvergence
    from .convergence.checks import NotSettledWarning as NotSettledWarning
    from .convergence.trials import convergence_threshold as convergence_threshold
    from .equations.inputs import free_phase as free_phase
    from .equations.inputs import noises as noises
    from .equations.inputs import ordered_states as ordered_states
    from .equations.inputs import ordered_targets as ordered_targets
    from .equations.inputs import prepared as prepared
    from .equations.phase_settings import PhaseSettings as PhaseSettings
    from .equations.products import with_products as with_products
    from .equations.records import Answers as Answers
    from .equations.records import Fixed as Fixed
    from .equations.records import FreePhase as FreePhase
    from .equations.records import Gradients as Gradients
    from .equations.records import Phase as Phase
    from .equations.records import Relaxed as Relaxed
    from .equations.records import RuleSettings as RuleSettings
    from .kernels import triton_functions as triton_functions
    from .kernels.library import NoCompiler as NoCompiler
    from .kernels.library import built as built
    from .kernels.library import probed as probed
    from .networks.layers import LayeredNetwork as LayeredNetwork
    from .networks.network import EnergyNetwork as EnergyNetwork
    from .nudging.clamped import run_clamped_phase as run_clamped_phase
    from .nudging.strength import trial_nudge as trial_nudge
    from .relaxation.descent import BlockDescent as BlockDescent
    from .relaxation.solver import run_free_phase as run_free_phase
    from .relaxation.solver import step_method as step_method
    from .relaxation.steps import advance_ as advance_
    from .relaxation.steps import energy as energy
    from .relaxation.steps import projected as projected
    from .tensors.states import Tensors as Tensors
    from .tensors.states import filled as filled
    from .tensors.states import flatten as flatten

#: What a generated module names, by the module that defines it.
_OF_MODULES: Mapping[str, str] = MappingProxyType(
    {
        "networks.network": "EnergyNetwork",
        "networks.layers": "EnergyLayer LayeredNetwork Visit",
        "equations.phase_settings": "Nudge Relax",
        "equations.products": "RoundedEquations",
        "equations.proximal": "ProximalEquations",
        "kernels.phases": "KernelNetwork",
        "kernels.cpp_kernels": "Kernels",
        "kernels.triton_kernels": "PhaseStep TritonKernels",
        "tensors.sets": "Box Index Real Simplex Sphere Standardized",
        "tensors.states": "Pullback Tensors",
        **{f"rules.{rule.module}": rule.module for rule in RULES.values()},
    }
)
#: What other wings take: to relax and to differentiate a network, and to say whether it settled.
_OF_WINGS: Mapping[str, str] = MappingProxyType(
    {
        "adjoints.implicit": "TransposedStep solve_adjoint",
        "convergence.causes": "NonConvergence",
        "convergence.checks": "NotSettledWarning",
        "convergence.trials": "convergence_threshold",
        "equations.inputs": "free_phase noises ordered_states ordered_targets prepared",
        "equations.phase_settings": "PhaseSettings",
        "equations.products": "with_products",
        "equations.records": "Answers Fixed FreePhase Gradients Phase Relaxed RuleSettings",
        "kernels.library": "NoCompiler built probed",
        "nudging.clamped": "run_clamped_phase",
        "nudging.strength": "trial_nudge",
        "relaxation.descent": "BlockDescent",
        "relaxation.solver": "run_free_phase step_method",
        "relaxation.steps": "advance_ energy projected",
        "tensors.states": "filled flatten",
    }
)
#: The functions that equations call, by the public name of their module.
_OF_EQUATIONS: Mapping[str, str] = MappingProxyType(
    {
        "triton": "cdiv dot_precision matrix put_einsum put_product room scatter",
        "draws": "glorot kaiming normal uniform",
        "ops": (
            "along_orthogonal along_sphere batch_median complex_gelu_tanh complex_gelu_tanh_slope "
            "complex_logsumexp complex_sigmoid complex_silu complex_silu_slope complex_softmax complex_softplus "
            "complex_sphere_ complex_standardized_ element first_largest gather gauss gelu_slope gelu_tanh_core "
            "gelu_tanh_slope largest_entry mirrored norm_at_most one_hot or_zero orthogonal overlap_add positions "
            "reached scatter_add segment_count segment_first_largest segment_logsumexp segment_max "
            "segment_softmax segment_sum silu_integral silu_slope softmax softplus softsign step symmetric unit "
            "windows zero_diagonal"
        ),
    }
)
#: The module of each function that equations call, a public name.
FUNCTIONS: Mapping[str, str] = MappingProxyType(
    {name: module for module, names in _OF_EQUATIONS.items() for name in names.split()}
)
#: The public names that are modules.
_MODULES: Mapping[str, str] = MappingProxyType(
    {
        "causes": "convergence.causes",
        "draws": "tensors.draws",
        "ops": "ops",
        "triton_functions": "kernels.triton_functions",
        "triton": "kernels.triton_kernels",
    }
)
#: The module of each public name.
PUBLIC: Mapping[str, str] = MappingProxyType(
    {name: module for module, names in (*_OF_MODULES.items(), *_OF_WINGS.items()) for name in names.split()}
    | dict(_MODULES)
)

__all__ = ["CONTRACT", "FUNCTIONS", "PUBLIC", "RULES", "Declaration", "require_contract"]


def __getattr__(name: str) -> Any:
    """A public name, imported when first asked for. Raises AttributeError."""
    if name not in PUBLIC:
        raise AttributeError(f"energyc.runtime has no name {name!r}")
    module = import_module(f".{PUBLIC[name]}", __name__)
    value = globals()[name] = module if name in _MODULES else getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *PUBLIC})
