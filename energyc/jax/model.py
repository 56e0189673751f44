"""A network as pure functions of records of arrays, the settings of its phases, and what phases and rules return.

Every array of states, clamps and targets has the batch as its first axis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial, update_wrapper
from typing import Any, NamedTuple, TypeAlias

import jax.numpy as jnp
from jax import Array

from .sets import Kinks, Real

#: The number of ``energyc.runtime``, which generated modules require of both.
CONTRACT = 1

#: The records of a generated module: NamedTuples of arrays, each a pytree.
Params: TypeAlias = Any
Clamps: TypeAlias = Any
Targets: TypeAlias = Any
States: TypeAlias = Any
Fixed: TypeAlias = Any
Readouts: TypeAlias = Any
#: A function of the params, the states and what is fixed.
Equation: TypeAlias = Callable[..., Any]


def require_contract(number: int) -> None:
    """Check that a generated module fits this package.

    Raises ImportError for a module that was written for another contract.
    """
    if number != CONTRACT:
        raise ImportError(
            f"this module was generated for contract {number} of energyc.jax, and the installed one is {CONTRACT}; "
            "generate it again: energyc compile SPEC --target jax"
        )


class Records(NamedTuple):
    """The NamedTuples of params, clamps and states, and of targets where there are any."""

    params: Any
    clamps: Any
    states: Any
    targets: Any = None


class Relaxed(NamedTuple):
    """The end of a relaxation.

    ``states`` are arrays [batch, ...], ``residual`` [batch] is infinite where a sample exploded, ``steps`` [batch].
    Where the relaxation chooses its step sizes, ``pace`` is the factor of the last ones, and evaluations for the choice
    count as steps.
    """

    states: States
    residual: Array
    steps: Array
    pace: Array | None = None


class Gradients(NamedTuple):
    """The gradient of the mean cost by params, the cost of each sample [batch], and the free phase it belongs to."""

    params: Params
    cost: Array
    free: Relaxed


@dataclass(frozen=True)
class Settings:
    """The settings of the free phase and of nudged phases, as a spec has them under ``relax`` and ``nudge``.

    =================  ==================================================================================
    step               the step size of all states, or of each in order
    automatic          whether each relaxation chooses its step size; then ``step`` is relative
    steps              the steps of a free phase, with a tolerance before its first look at the residual
    tolerance          the residual at which a sample has converged; None for exactly ``steps`` steps
    max_steps, chunk   with a tolerance: the most steps, and those between two looks at the residual
    inference          whether samples stop early outside of training alone
    patience           with ``inference``: the small steps in a row after which a sample stops
    measure            of a step: ``residual``, ``energy`` or ``gradient``
    explosion          growth of a state over its start that is suspected as an explosion; None for bounded states
    beta               the strength of a nudge; None to choose it in each gradient
    nudge_steps        the steps of a nudged phase
    snapshots          the steps between two looks at the contrast of two nudged phases; None for no looks
    nudge_tolerance    with ``snapshots``: the relative change of the contrast that ends the phases, None for none
    nudge_max_steps    with ``snapshots``: the most steps of a nudged phase
    =================  ==================================================================================
    """

    step: float | tuple[float, ...] = 1.0
    automatic: bool = False
    steps: int = 0
    tolerance: float | None = None
    max_steps: int = 0
    chunk: int = 25
    inference: bool = False
    patience: int = 1
    measure: str = "residual"
    explosion: float | None = None
    beta: float | None = None
    nudge_steps: int = 0
    snapshots: int | None = None
    nudge_tolerance: float | None = None
    nudge_max_steps: int = 0

    @property
    def longest(self) -> int:
        """The most steps of a free phase."""
        return self.steps if self.tolerance is None else self.max_steps

    @property
    def exact(self) -> bool:
        """Return whether a free phase that is learned from has a fixed number of steps."""
        return self.tolerance is None or self.inference


@dataclass(frozen=True, eq=False)
class Model:
    """The equations of a network, and the settings of its phases. All but ``prepare`` and ``force`` may be missing.

    ``sets`` has the set of each state. The functions, where ``at`` stands for ``params, states, fixed``:

    ===========================  ==============================================================================
    init(key, dtype)             the first params
    prepare(params, clamps)      what no step changes: the clamps, and what depends on clamps and params alone
    start(params, fixed)         the states before they are projected; zeros where it is missing
    force(at)                    F: the force on each state, without kinks that move by proximal steps
    terms(at)                    each energy [batch], by name
    readouts(at)                 the answers
    cost(at, targets)            the cost [batch]
    contrast(params, plus,       dE/dtheta at plus less that at minus, summed over the batch, by params in which
      minus, fixed)              it is linear or bilinear in the states
    gradients(at)                with ``measure = gradient``: the gradients by which a step is measured
    nudge(at, targets)           in a descent in a metric: what a nudge subtracts from the force
    nonconservative(at)          a force whose J - J^T is that of F, where it is not 0
    forces(at)                   the force without an energy, where its params are also those of an energy
    weights(params, fixed)       the weights of ``kinks`` that move by proximal steps
    blocks[k](at)                with sweeps: by each state of a block the force on it, and D where that is b - D z
    ===========================  ==============================================================================

    ``energy_params`` are further params by which the energies are differentiated, ``energies`` the energies that a
    contrast is of (None: all), ``force_params`` the params of forces without an energy. ``cost_slopes`` are the slopes
    that a squared error adds to D, ``sloped`` the states whose flows name ``gradients``. ``training`` is the field of
    ``fixed`` that says whether the network is trained, and ``number`` that of the number of the step.
    """

    records: Records
    sets: Mapping[str, Real]
    settings: Settings
    prepare: Callable[..., Fixed]
    force: Equation
    init: Callable[..., Params] | None = None
    start: Callable[..., States] | None = None
    terms: Equation | None = None
    readouts: Equation | None = None
    cost: Equation | None = None
    contrast: Callable[..., dict[str, Array]] | None = None
    energy_params: tuple[str, ...] = ()
    energies: tuple[str, ...] | None = None
    force_params: tuple[str, ...] = ()
    forces: Equation | None = None
    nonconservative: Equation | None = None
    nudge: Equation | None = None
    gradients: Equation | None = None
    sloped: tuple[str, ...] = ()
    weights: Equation | None = None
    kinks: Mapping[str, Kinks] = field(default_factory=dict)
    blocks: tuple[Equation, ...] = ()
    cost_slopes: Mapping[str, float] = field(default_factory=dict)
    training: str | None = None
    number: str | None = None

    @cached_property
    def step_size(self) -> States:
        """The step size of each state."""
        step, count = self.settings.step, len(self.sets)
        return self.records.states(*(step if isinstance(step, tuple) else (step,) * count))

    def prepared(self, params: Params, clamps: Clamps, training: Any = True) -> Fixed:
        """Quantities that are constant during a relaxation; ``training`` says whether a rule learns from it."""
        return self.prepare(params, clamps) if self.training is None else self.prepare(params, clamps, training)

    def started(self, params: Params, fixed: Fixed) -> States:
        """The states before the first step, not yet on their sets."""
        if self.start is not None:
            return self.start(params, fixed)
        clamps = self.records.clamps._fields
        batch = len(getattr(fixed, clamps[0])) if clamps else 1
        dtype = params[0].dtype if params else jnp.result_type(float)
        return self.records.states(*(jnp.zeros((batch, *own.shape), dtype) for own in self.sets.values()))

    def project(self, states: States) -> States:
        """Each state on its set."""
        return self.records.states(*(own.project(x) for own, x in zip(self.sets.values(), states, strict=True)))

    def energy(self, params: Params, states: States, fixed: Fixed) -> Array:
        """The sum of the energies: [batch]."""
        terms = {} if self.terms is None else self.terms(params, states, fixed)
        return sum(terms.values(), jnp.zeros(len(states[0]), states[0].dtype))

    def force_with_kinks(self, params: Params, states: States, fixed: Fixed) -> States:
        """The force, and that of kinks that move by proximal steps where no state is on one."""
        force = self.force(params, states, fixed)
        if self.weights is None:
            return force
        weights, at = self.weights(params, fixed), states._asdict()
        return force._replace(**{n: getattr(force, n) + own.force(at[n], weights) for n, own in self.kinks.items()})


def bind(model: Any, *functions: Callable[..., Any]) -> tuple[Callable[..., Any], ...]:
    """Functions of this package with the model given: ``relax, step = ej.bind(MODEL, ej.relax, ej.step)``."""
    return tuple(update_wrapper(partial(function, model), function) for function in functions)
