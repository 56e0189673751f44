"""The names that a module has of its network, for the parts beside them to be checked with; none is carried."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from jax import Array

Params: TypeAlias = Any
Clamps: TypeAlias = Any
Targets: TypeAlias = Any
States: TypeAlias = Any
Fixed: TypeAlias = Any
Readouts: TypeAlias = Any
Slopes: TypeAlias = dict[str, Array]

STEP: States = None
STEPS: int = 0
CHUNK: int = 0
MAX_STEPS: int = 0
TOLERANCE: float = 0.0
EXPLOSION: float = 0.0
BETA: float = 0.0
NUDGE_STEPS: int = 0
SNAPSHOTS: int = 0
PATIENCE: int = 1
UNNAMED: dict[str, float] = {}
BLOCKS: int = 0
COST_SLOPES: dict[str, float] = {}
SUMS: tuple[str, ...] = ()
FORCE_PARAMS: tuple[str, ...] = ()


class Layer(Any):  # type: ignore[misc]
    """What layers have in common."""


def blocks(params: Params, clamps: Clamps, visit: Any) -> tuple[Any, list[Any]]:
    """Give what the answers read of the layers in a row, and where each of these ended."""
    raise NotImplementedError


def init(key: Array, dtype: Any = float) -> Params:
    """Draw params."""
    raise NotImplementedError


def prepare(params: Params, clamps: Clamps, training: bool = False) -> Fixed:
    """Give what no step changes."""
    raise NotImplementedError


def start(params: Params, fixed: Fixed) -> States:
    """Give the states before the first step."""
    raise NotImplementedError


def terms(params: Params, states: States, fixed: Fixed) -> dict[str, Array]:
    """Give each energy."""
    raise NotImplementedError


def force(params: Params, states: States, fixed: Fixed) -> States:
    """Give the force."""
    raise NotImplementedError


def named_gradients(params: Params, states: States, fixed: Fixed) -> tuple[Array, ...]:
    """Give the gradients that flows name."""
    raise NotImplementedError


def force_vjp(params: Params, states: States, fixed: Fixed, cotangents: States) -> tuple[States, Slopes]:
    """Give J^T cotangents, and the slopes by params."""
    raise NotImplementedError


def step_vjp(params: Params, states: States, fixed: Fixed, cotangents: States) -> tuple[States, Slopes]:
    """Give J^T cotangents, what is added up over steps, and the other slopes by params."""
    raise NotImplementedError


def sums_gradient(params: Params, fixed: Fixed, sums: Sequence[Array]) -> Slopes:
    """Give the slopes of all steps together."""
    raise NotImplementedError


def proximal(params: Params, fixed: Fixed, states: States, step: States) -> States:
    """Give the proximal points of kinks and sets."""
    raise NotImplementedError


def proximal_vjp(params: Params, fixed: Fixed, at: States, cotangents: States) -> States:
    """Give the adjoint of their derivative."""
    raise NotImplementedError


def smooth_vjp(params: Params, states: States, fixed: Fixed, cotangents: States) -> tuple[States, Slopes]:
    """Give J^T cotangents, and the slopes by params, without kinks that move by proximal steps."""
    raise NotImplementedError


def kink_slopes(params: Params, states: States, fixed: Fixed, cotangents: States) -> Slopes:
    """Give the slopes by the weights of these kinks."""
    raise NotImplementedError


def start_vjp(params: Params, fixed: Fixed, cotangents: States) -> Slopes:
    """Give the slopes of the start."""
    raise NotImplementedError


def clamp_gradient(params: Params, states: States, fixed: Fixed, cotangents: States) -> Slopes:
    """Give the slopes by clamps."""
    raise NotImplementedError


def readouts(params: Params, states: States, fixed: Fixed) -> Readouts:
    """Give the answers."""
    raise NotImplementedError


def readout_vjp(params: Params, states: States, fixed: Fixed, cotangents: Readouts) -> tuple[States, Slopes]:
    """Give the slopes of the answers."""
    raise NotImplementedError


def cost(params: Params, states: States, fixed: Fixed, targets: Targets) -> Array:
    """Give the cost of each sample."""
    raise NotImplementedError


def cost_vjp(params: Params, states: States, fixed: Fixed, targets: Targets) -> tuple[States, Slopes]:
    """Give dC/dz, and the direct slopes by params."""
    raise NotImplementedError


def nudge(params: Params, states: States, fixed: Fixed, targets: Targets) -> States:
    """Give what a nudge subtracts from the force."""
    raise NotImplementedError


def correction(params: Params, states: States, fixed: Fixed, directions: States) -> States:
    """Give (J_nc - J_nc^T) directions."""
    raise NotImplementedError


def block(number: int, params: Params, states: States, fixed: Fixed) -> dict[str, Any]:
    """Give by each state of a block the force on it, and D where that is ``b - D z``."""
    raise NotImplementedError


def energy_slopes(params: Params, plus: States, minus: States, fixed: Fixed) -> list[Slopes]:
    """Give dE/dtheta at plus less that at minus."""
    raise NotImplementedError


def at_step(fixed: Fixed, number: Any) -> Fixed:
    """Give what is fixed in a step."""
    raise NotImplementedError


def project(states: States) -> States:
    """Put states on their sets."""
    raise NotImplementedError


def project_vjp(at: States, cotangents: States) -> States:
    """Give the adjoint of the projection."""
    raise NotImplementedError
