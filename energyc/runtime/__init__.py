"""The runtime of every generated network: relaxations, adjoints, nudged phases, learning rules, the class users call.

In: the equations of a generated module. Out: equilibria and gradients. A name is imported when first asked for:
``PUBLIC`` lists those that other wings take, which import the package and not its modules. A generated module (``from
energyc import runtime as rt``) names classes and rules, ``rt.EnergyNetwork``, which ``GENERATED`` lists, and functions
by their module, ``rt.ops.softplus``, which ``FUNCTIONS`` lists.

| room | content |
|---|---|
| ``tensors`` | arithmetic that knows no network: states, linear systems, reductions, sets, draws |
| ``equations`` | the base class of a network's equations, its inputs and records |
| ``relaxation`` | the free phase: a solver of a step method, a step-size controller, a stopping criterion, observers |
| ``convergence`` | whether samples converged, and why not |
| ``adjoints`` | the adjoint of an equilibrium and of recorded steps, for rules and autograd |
| ``nudging`` | nudged phases, their contrast, the strength of a nudge |
| ``networks`` | the classes that users call |
| ``kernels`` | phases by kernels in C++ and Triton |
| ``rules`` | the learning rules, a file for each family |

The runtime imports torch, the standard library and ``files``; its imports are relative, so that
``energyc compile --standalone`` can copy it as it is. It imports no other wing.

Imports: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

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
    from .equations.network_facts import PhaseSettings as PhaseSettings
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
    from .nudging.strength import trial_nudge as trial_nudge
    from .relaxation.solver import run_free_phase as run_free_phase
    from .relaxation.solver import step_method as step_method
    from .relaxation.step_methods import BlockDescent as BlockDescent
    from .relaxation.steps import advance_ as advance_
    from .relaxation.steps import energy as energy
    from .relaxation.steps import projected as projected
    from .rules.clamped import run_clamped_phase as run_clamped_phase
    from .tensors.states import filled as filled
    from .tensors.states import flatten as flatten

#: The contract between generated modules and this runtime: it rises when generated classes have to change.
CONTRACT = 1


def require_contract(number: int) -> None:
    """Check that a generated module and this runtime fit together; a module calls it when it is imported.

    Raises ImportError where the module was written for another contract.
    """
    if number != CONTRACT:
        raise ImportError(
            f"this module was generated for contract {number} of energyc's runtime, and the installed one has "
            f"contract {CONTRACT}; compile its spec again with the installed version: energyc compile SPEC"
        )


def _by_name(names_of: Mapping[str, str]) -> Mapping[str, str]:
    """The module of each name, of the names that modules define."""
    return MappingProxyType({name: module for module, names in names_of.items() for name in names.split()})


#: The public names that are modules, with their places.
_MODULES: Mapping[str, str] = MappingProxyType(
    {
        "causes": "convergence.causes",
        "draws": "tensors.params",
        "ops": "tensors",
        "triton": "kernels.triton_kernels",
        "triton_functions": "kernels.triton_functions",
    }
)
#: What other wings take, by the module that defines it: to relax and to differentiate a network, and to say whether it
#: converged.
PUBLIC: Mapping[str, str] = _by_name(
    {
        "adjoints.implicit": "TransposedStep solve_adjoint",
        "convergence.causes": "NonConvergence causes",
        "convergence.checks": "NotSettledWarning",
        "convergence.trials": "convergence_threshold",
        "equations.inputs": "free_phase noises ordered_states ordered_targets prepared",
        "equations.network_facts": "PhaseSettings",
        "equations.products": "with_products",
        "equations.records": "Answers Fixed FreePhase Gradients Phase Relaxed RuleSettings",
        "kernels.library": "NoCompiler built probed",
        "kernels.triton_functions": "triton_functions",
        "nudging.strength": "trial_nudge",
        "relaxation.solver": "run_free_phase step_method",
        "relaxation.step_methods": "BlockDescent",
        "relaxation.steps": "advance_ energy projected",
        "rules.clamped": "run_clamped_phase",
        "tensors.states": "filled flatten",
    }
)
#: The group that generated modules alone name, by the module that defines it: classes, records, learning rules.
GENERATED: Mapping[str, str] = MappingProxyType(
    {
        **{rule.function: f"rules.{rule.file}" for rule in RULES.values()},
        **_by_name(
            {
                "networks.network": "EnergyNetwork",
                "networks.layers": "EnergyLayer LayeredNetwork Visit",
                "equations.network_facts": "Nudge Relax",
                "equations.products": "RoundedEquations",
                "equations.proximal": "ProximalEquations",
                "kernels.library": "Kernels",
                "kernels.phases": "KernelNetwork",
                "kernels.triton_kernels": "PhaseStep TritonKernels",
                "tensors.sets": "Box Index Real Simplex Sphere Standardized",
                "tensors.states": "Pullback Tensors",
            }
        ),
    }
)
#: The functions that equations call, by the name of their module here: ``rt.ops.softplus``.
FUNCTIONS: Mapping[str, str] = _by_name(
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

__all__ = ["CONTRACT", "FUNCTIONS", "GENERATED", "PUBLIC", "RULES", "Declaration", "require_contract"]


def __getattr__(name: str) -> Any:
    """A public name, imported when first asked for. Raises AttributeError."""
    module = _MODULES.get(name) or PUBLIC.get(name) or GENERATED.get(name)
    if module is None:
        raise AttributeError(f"energyc.runtime has no name {name!r}")
    found = import_module(f".{module}", __name__)
    value = globals()[name] = found if name in _MODULES else getattr(found, name)
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *PUBLIC, *GENERATED, *FUNCTIONS.values()})
