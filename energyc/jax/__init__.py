"""The runtime of modules that energyc generates for JAX: relaxations and learning rules as functions over a model.

A generated module states a network's equations as pure functions of NamedTuples, and gathers them in a :class:`Model`.
Everything else is here, and works for every model: ``relax`` and ``step``, the rules (``implicit``, ``centered_ep``,
``tracking_aep``, ``bptt``, ...), ``answer``, which ``jax.grad`` goes through, and networks of layers. The package
imports JAX and NumPy alone. Where a function needs a derivative it takes ``jax.vjp`` or ``jax.jvp`` of the equations,
one evaluation at a time.

==================================  ==========================================================================
model, sets                         what a module declares, and what functions return; sets of states and params
steps, relaxation                   the free phase: steps and sweeps, the stopping criteria, divergence, step
                                    sizes by curvature
equilibrium                         what a rule is given; the adjoint equation, backpropagation through steps
nudged_phases                       pairs of nudged phases, their end, the strength of a nudge
rules                               gradients
networks                            relaxations that ``jax.grad`` goes through; networks of layers; a network as an
                                    object with params of its own
indexing, functions                 array functions that equations call
==================================  ==========================================================================

Imports: nothing; libraries: ``jax``, ``numpy``.
"""

from __future__ import annotations

from jax.typing import DTypeLike

from .equilibrium import Equilibrium, total_vjp
from .functions import gelu_slope, gelu_tanh_core, gelu_tanh_slope, rim_log, rim_power, silu_integral, silu_slope
from .indexing import (
    element,
    first_largest,
    gather,
    largest_entry,
    logsumexp,
    or_zero,
    overlap_add,
    parted,
    placed,
    rows,
    scatter_add,
    segment_count,
    segment_first_largest,
    segment_logsumexp,
    segment_max,
    segment_softmax,
    segment_sum,
    softmax,
    spread,
    windows,
)
from .model import CONTRACT, Gradients, Model, Records, Relaxed, Settings, bind, require_contract
from .networks import LayeredModel, Network, Visit, answer, answer_through_steps, by_copy, copied, relax, visit
from .relaxation import residual, step
from .rules import Rule, adjoint, aep, bptt, centered_ep, ep, implicit, rule, tbptt, tracking_aep, vf
from .sets import (
    Box,
    Corner,
    Kinks,
    Norm,
    Real,
    Simplex,
    Sphere,
    Standardized,
    along_orthogonal,
    along_sphere,
    mirrored,
    norm_at_most,
    orthogonal,
    symmetric,
    unit,
    zero_diagonal,
)
from .steps import System

__all__ = [
    "CONTRACT", "Box", "Corner", "DTypeLike", "Equilibrium", "Gradients", "Kinks", "LayeredModel", "Model", "Network",
    "Norm", "Real", "Records", "Relaxed", "Rule", "Settings", "Simplex", "Sphere", "Standardized", "System", "Visit",
    "adjoint", "aep", "along_orthogonal", "along_sphere", "answer", "answer_through_steps", "bind",
    "bptt", "by_copy", "centered_ep", "copied", "element", "ep", "first_largest", "gather", "gelu_slope",
    "gelu_tanh_core", "gelu_tanh_slope", "implicit", "largest_entry", "logsumexp", "mirrored", "norm_at_most",
    "or_zero", "orthogonal", "overlap_add", "parted", "placed", "relax", "require_contract", "residual", "rim_log",
    "rim_power", "rows", "rule", "scatter_add", "segment_count", "segment_first_largest", "segment_logsumexp",
    "segment_max", "segment_softmax", "segment_sum", "silu_integral", "silu_slope", "softmax", "spread", "step",
    "symmetric", "tbptt", "total_vjp", "tracking_aep", "unit", "vf", "visit", "windows", "zero_diagonal",
]  # fmt: skip
