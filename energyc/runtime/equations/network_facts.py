"""The facts about a network, which a generated class declares: settings of its phases, names, shapes, params."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..tensors.sets import Index, Real, StateSet
from .records import shaped


class PhaseSettings:
    """Settings of relaxation and nudging; a generated class overrides those that its spec sets.

    It declares that as ``relaxation = rt.Relax(steps=20)`` and ``nudging = rt.Nudge(steps=8)``, which become the
    attributes ``relax_steps`` and ``nudge_steps``. A network may be given others.
    """

    relax_solver = "gradient"
    #: The products with which a relaxation begins, where it has others than the rest; ``products``: its own, where they
    #: are in bfloat16, in which it does not come to its tolerance.
    relax_products: str | None = None
    #: Whether a relaxation chooses its step sizes itself.
    relax_auto = False
    #: The memory and the damping of Anderson acceleration.
    relax_memory = 5
    relax_damping = 1.0
    relax_steps: int
    relax_step: tuple[float, ...]
    relax_tolerance: float | None = None
    relax_measure = "residual"
    relax_patience = 1
    relax_exit = "settled"
    relax_chunk = 25
    relax_max_steps: int | None = None
    relax_explosion: float | None = 1e4
    beta: float | str | None = None
    #: The strength that ``auto`` last chose.
    last_beta: float | None = None
    nudge_steps: int | None = None
    #: Nudged phases go on to this share of change of their contrast, for so many steps at most.
    nudge_tolerance: float | None = None
    nudge_max_steps: int = 0
    points = 4
    radius: float | str | None = None
    snapshots: int | None = None
    #: The rate of contraction above which a penalty acts; None where there is none, or that on the Jacobian.
    contraction_rate: float | None = None
    #: The share of the nudge that goes to the first half of a dyad.
    alpha = 0.5
    #: Whether two nudged phases are one batch; None: on a GPU.
    nudge_together: bool | None = None
    #: What the operands of products are rounded to in float32: ``float32``, ``tf32``, ``bfloat16``, or ``contrast``,
    #: which is the last but for forces; None: as torch is set.
    products: str | None = None


class Declaration:
    """Settings that a class declares at once: each becomes an attribute of the class. Raises TypeError for others."""

    prefix: ClassVar[str]

    def __init__(self, **values: Any) -> None:
        self.attributes = {self.attribute(name): value for name, value in values.items()}

    def attribute(self, name: str) -> str:
        """The attribute that a setting is: with the prefix, or else by its own name."""
        known = {*vars(PhaseSettings), *PhaseSettings.__annotations__}
        for attribute in (f"{self.prefix}_{name}", name):
            if attribute in known:
                return attribute
        raise TypeError(f"{type(self).__name__} has no setting {name!r}")

    def __set_name__(self, owner: type, name: str) -> None:
        """Give the class its attributes."""
        for attribute, value in self.attributes.items():
            setattr(owner, attribute, value)


class Relax(Declaration):
    """The settings of relaxations."""

    prefix = "relax"


class Nudge(Declaration):
    """The settings of nudged phases."""

    prefix = "nudge"


class NetworkFacts(nn.Module):
    """The names and shapes of a network, and its params."""

    name: str
    #: The spaces of states, clamps, noises and targets, which a generated class declares.
    states: Mapping[str, Real] = {}
    clamps: Mapping[str, Real | Index] = {}
    noises: Mapping[str, Real] = {}
    targets: Mapping[str, Real | Index] = {}
    state_shapes: Mapping[str, tuple[int, ...]] = {}
    #: The sets that states are kept in, by the names of those that are.
    state_sets: Mapping[str, StateSet] = {}
    #: The shape of each input without the batch, and the size of the dim that an integer input indexes.
    clamp_shapes: Mapping[str, tuple[tuple[int, ...], int | None]] = {}
    target_shapes: Mapping[str, tuple[tuple[int, ...], int | None]] = {}
    #: The shape of each noise without the batch.
    noise_shapes: Mapping[str, tuple[int, ...]] = {}
    #: Attributes of the params that Python does not let keep their names.
    param_attributes: Mapping[str, str] = {}
    param_bounds: Mapping[str, tuple[float | None, float | None]] = {}
    term_names: tuple[str, ...] = ()
    readout_names: tuple[str, ...] = ()
    metric_names: tuple[str, ...] = ()
    #: The costs, where they are several: they are among the metrics.
    cost_names: tuple[str, ...] = ()
    #: The energies that are families, whose members ``_families`` gives.
    family_names: tuple[str, ...] = ()
    #: What its energies and forces are together, and what its phases run as, where that is known.
    force_class: str | None = None
    #: Rules that are not defined on this network, each with the reason; known where energyc loads it.
    undefined: Mapping[str, str] = {}
    target: str | None = None
    #: The recorder of steps on a GPU; None where steps are not recorded.
    graphs: Any = None
    #: The real clamps by which steps have no slopes but those that ``_sums_clamp_gradient`` gives.
    summed: tuple[str, ...] = ()
    #: Params that only terms without an energy read.
    force_params: tuple[str, ...] = ()
    #: Whether a kink of an energy moves by a proximal step.
    kinked = False
    #: Whether all flows go down the energies in a metric, so that rules for gradients use ``_nudge``.
    descends = False
    #: Whether the force reads the number of the step, so that nothing is at rest under it.
    numbered = False
    #: Whether kernels keep the states of steps and go back through them.
    retraced = False
    #: Whether a kernel makes a free phase to the end of each sample.
    settling = False
    #: The states whose steps are measured by the gradients that their flows name, which ``_slopes`` gives.
    sloped: tuple[str, ...] = ()
    #: The states of each block in the order of a sweep, by their numbers.
    blocks: tuple[tuple[int, ...], ...] = ()
    #: D in the force ``b - D z`` on each state that moves exactly; None where its block gives it.
    block_slopes: Mapping[int, float | None] = {}
    #: The states that the cost reads, each with the slope of dC/dz; None where that is not one number.
    cost_slopes: Mapping[int, float | None] = {}
    #: When a sample depends on the others of its batch, by means over it: ``training``, ``always``, or None.
    batch_mates: str | None = None
    #: Rules that are biased on this network, each with the reason.
    biased: Mapping[str, str] = {}
    #: Whether a correction acts on dyads: there are terms that are not proved conservative.
    turned = False
    #: How precisely each state is predicted, in an energy of squared prediction errors.
    precisions: tuple[float, ...] = ()

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Read what the class declares. Raises ImportError for a class of an earlier version."""
        super().__init_subclass__(**keywords)
        refuse_earlier(cls)
        if "states" in vars(cls):
            cls.state_shapes = {name: space.shape for name, space in cls.states.items()}
            cls.state_sets = {name: space for name, space in cls.states.items() if isinstance(space, StateSet)}
        if "clamps" in vars(cls):
            cls.clamp_shapes = {name: (space.shape, space.classes) for name, space in cls.clamps.items()}
        if "noises" in vars(cls):
            cls.noise_shapes = {name: space.shape for name, space in cls.noises.items()}
        if "targets" in vars(cls):
            cls.target_shapes = {name: (space.shape, space.classes) for name, space in cls.targets.items()}

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__()
        anchor = torch.zeros((), device=device, dtype=dtype or torch.get_default_dtype())
        self.register_buffer("_anchor", anchor, persistent=False)
        self._anchor: Tensor
        #: The names of what was warned of as not settled.
        self.warned: set[str] = set()
        self.nudges: dict[str, int] = {}  # how many gradients each rule has given
        self._initialize(torch.Generator().manual_seed(seed))

    def _initialize(self, random: torch.Generator) -> None:
        """Params, drawn in float64 on the CPU, and constants: a generated class states them."""

    def __repr__(self) -> str:
        """Sizes, shapes and rules."""
        return described(self)

    @property
    def device(self) -> torch.device:
        """Return the device of the network."""
        return self._anchor.device

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of params and states."""
        return self._anchor.dtype

    @property
    def state_names(self) -> tuple[str, ...]:
        """The states in the order of the spec."""
        return tuple(self.state_shapes)

    @property
    def constrained(self) -> bool:
        """Return whether a state is kept in a set, or has a kink that it moves by a proximal step."""
        return self.kinked or bool(self.state_sets)

    @property
    def coupled(self) -> bool:
        """Return whether a sample now depends on the others of its batch."""
        return self.batch_mates == "always" or (self.batch_mates == "training" and self.training)

    @property
    def params(self) -> dict[str, Tensor]:
        """Untied params by the spec's names; a tie's name gives a read-only view of its source."""
        return {**self._owners(), **self._ties()}

    def _owners(self) -> dict[str, nn.Parameter]:
        """Untied params by the spec's names."""
        names = {attribute: name for name, attribute in self.param_attributes.items()}
        return {names.get(own, own): param for own, param in self._parameters.items() if param is not None}

    def _param(self, start: Tensor) -> nn.Parameter:
        """A param with its starting value, which is made in float64 on the CPU."""
        return nn.Parameter(start.to(self.device, self.dtype))

    def _constant(self, name: str, value: Tensor) -> None:
        """A tensor that depends on sizes alone; it moves with the network and is not part of its state dict."""
        self.register_buffer(name, value, persistent=False)

    def _ties(self) -> dict[str, Tensor]:
        """The tied names, each a view of its source."""
        return {}


def refuse_earlier(kind: type) -> None:
    """Raise ImportError for a class of a module of version 0.2 or before, which inherits its own equations."""
    if any(base.__name__ == f"{kind.__name__}Equations" for base in kind.__bases__):
        raise ImportError(
            f"the module of {kind.__name__} was generated by an earlier version of energyc; compile its spec again "
            "with the installed version: energyc compile SPEC"
        )


def described(net: Any) -> str:
    """The name, shapes, params, rules, class, dtype and device of a network, a line each."""
    lines = [f"{head}: {', '.join(items)}" for head, items in facts(net) if items]
    about = [net.force_class, net.target, str(net.dtype).removeprefix("torch."), f"on {net.device}"]
    lines.append(", ".join(part for part in about if part))
    wrapped = [part for line in lines for part in textwrap.wrap(line, 110, subsequent_indent="  ")]
    return "\n".join([f"{type(net).__name__}(", *(f"  {line}" for line in wrapped), ")"])


def facts(net: Any) -> Iterator[tuple[str, list[str]]]:
    """The parts of a network, by kind."""
    yield "states", [shaped(name, shape) for name, shape in net.state_shapes.items()]
    for kind, shapes in (("clamps", net.clamp_shapes), ("targets", net.target_shapes)):
        yield kind, [shaped(name, *about) for name, about in shapes.items()]
    yield "noise", [shaped(name, shape) for name, shape in net.noise_shapes.items()]
    params = held_params(net)
    count = sum(param.numel() for param in params.values())
    yield f"params ({count:,})", [shaped(name, param.shape) for name, param in params.items()]
    yield "readouts", list(net.readout_names)
    layers, copies = getattr(net, "layers", {}), getattr(net, "copies", {})
    yield "layers", [f"{name} x {copies[name]}" if name in copies else name for name in layers]
    yield "rules", list(getattr(net, "rules", ()))


def held_params(net: Any) -> Mapping[str, Tensor]:
    """The params of a network; none of a layer that is not given those of a copy."""
    try:
        return dict(net._owners())
    except AttributeError:
        return {}
