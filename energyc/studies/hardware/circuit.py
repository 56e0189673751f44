"""A network's energy as an electrical circuit.

The energy is the circuit's co-content: a state is the voltage of a node, and the current that leaves a node through
an element is the derivative of the element's co-content by that voltage, so that Kirchhoff's current law at every node
is dE/dz = 0 (Millar 1951; Kendall et al. 2020). A state on the edge of its box is held there by a diode.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from energyc.language.diagnostics import Diagnostic, SpecError
from energyc.language.network import Network
from energyc.mathematics.calculus import derivative
from energyc.mathematics.ir import Add, Coefficient, Einsum, Function, Graph, Input, Map, Node
from energyc.studies.hardware.form import Form, Layout, Scalars, read_form

Array = NDArray[np.float64]
#: A conductance to ground below this share of a node's whole conductance is what rounding left of 0.
ROUNDING = 1e-12
GROUND = "0"
#: The largest number of states for which it is decided whether the quadratic part is positive definite.
LARGEST = 3000


@dataclass(frozen=True)
class Resistor:
    """A conductance between two nodes."""

    a: str
    b: str
    conductance: float


@dataclass(frozen=True)
class Junction:
    """A diode of Shockley's law; ``area`` multiplies its saturation current."""

    anode: str
    cathode: str
    law: Diode
    area: float


@dataclass(frozen=True)
class Behaviour:
    """A current ``text`` that flows from node ``a`` through the element to node ``b``."""

    a: str
    b: str
    text: str


@dataclass
class Circuit:
    """The elements of a circuit, and the node of each state.

    ``voltages`` are the ideal sources, by node; ``inverted`` the nodes that an amplifier of gain -1 makes of others;
    ``active`` the negative conductances to ground; ``currents`` what independent sources draw from nodes; ``limits``
    pairs of anode and cathode of ideal diodes. ``smallest`` and ``largest`` are conductances: the least at any node, 0
    where one has none, and the largest of all. ``convex`` says that the quadratic part is positive definite.
    """

    nodes: dict[tuple[str, tuple[int, ...]], str]
    voltages: dict[str, float] = field(default_factory=dict)
    inverted: dict[str, str] = field(default_factory=dict)
    resistors: list[Resistor] = field(default_factory=list)
    active: dict[str, float] = field(default_factory=dict)
    currents: dict[str, float] = field(default_factory=dict)
    limits: list[tuple[str, str]] = field(default_factory=list)
    junctions: list[Junction] = field(default_factory=list)
    behaviours: list[Behaviour] = field(default_factory=list)
    smallest: float = 0.0
    largest: float = 1.0
    convex: bool = True
    biases: dict[float, str] = field(default_factory=lambda: {0.0: GROUND})
    used: set[str] = field(default_factory=lambda: {GROUND, "gnd"})

    def name(self, wish: str) -> str:
        """A new node: SPICE knows no case, and ``gnd`` is the ground."""
        while wish.lower() in self.used:
            wish += "_"
        self.used.add(wish.lower())
        return wish

    def inverse(self, node: str) -> str:
        """The node at minus the voltage of another."""
        if node not in self.inverted:
            self.inverted[node] = self.name(f"{node}_neg")
        return self.inverted[node]

    def bias(self, voltage: float) -> str:
        """The node of a constant voltage."""
        if voltage not in self.biases:
            self.biases[voltage] = self.name(f"bias_{len(self.biases)}")
            self.voltages[self.biases[voltage]] = voltage
        return self.biases[voltage]


def circuit(network: Network, params: Mapping[str, Any], clamps: Mapping[str, Any]) -> Circuit:
    """Return the circuit of a network at some weights and at the clamps of one sample, each ``[*shape]`` by name.

    Raises SpecError with E0960 for each term, and E0961 for each set of a state, that no circuit carries.
    """
    refused = _refused_sets(network)
    form = read_form(network, params, clamps, code="E0960", refused=refused, functions=True, sources=True)
    built = Circuit({})
    states, sources = (_named(built, layout) for layout in (form.states, form.sources))
    built.nodes.update(zip(form.states.places(), states, strict=True))
    for node, (name, place) in zip(sources, form.sources.places(), strict=True):
        built.voltages[node] = float(np.asarray(clamps[name])[place])
    _add_conductances(built, form, states, sources)
    for part in form.scalars:
        _add_elements(built, network, part, states)
    _add_limits(built, network, form.states, states)
    return built


def _refused_sets(network: Network) -> list[Diagnostic]:
    """A diagnostic for each state whose set is not a box."""
    return [
        Diagnostic(
            "E0961",
            f"no diode holds the state {name} on its set, {state.constraint.kind}",
            span=state.span,
            help="boxes and nonnegative states are held by diodes",
        )
        for name, state in network.states.items()
        if state.constraint is not None and state.constraint.kind not in ("box", "nonnegative")
    ]


def _named(built: Circuit, layout: Layout) -> list[str]:
    """A node for each element: ``v_3``, for SPICE reads no brackets."""
    return [built.name("_".join([name, *map(str, place)])) for name, place in layout.places()]


def _add_conductances(built: Circuit, form: Form, states: Sequence[str], sources: Sequence[str]) -> None:
    """Add resistors for the products of two voltages, inverted where they are positive, and for the rest to ground."""
    coupling, drive = form.coupling.tocoo(), form.drive.tocoo()
    diagonal = form.coupling.diagonal()
    rest = diagonal.copy()
    for i, j, value in zip(*coupling.coords, coupling.data, strict=True):
        if i < j and value:
            rest[[i, j]] -= abs(value)
            built.resistors += _coupled(built, states[i], states[j], float(value), both=True)
    for k, i, value in zip(*drive.coords, drive.data, strict=True):
        if value:
            rest[i] -= abs(value)
            built.resistors += _coupled(built, sources[k], states[i], float(value), both=False)
    for node, own, left, current in zip(states, diagonal, rest, form.linear, strict=True):
        if left > ROUNDING * abs(own):
            built.resistors.append(Resistor(node, GROUND, float(left)))
        elif left < -ROUNDING * abs(own):
            built.active[node] = float(left)
        if current:
            built.currents[node] = float(current)
    built.largest = float(max(np.abs(diagonal).max(initial=0), np.abs(coupling.data).max(initial=0)) or 1)
    built.smallest = max(float(diagonal.min(initial=built.largest)), 0.0)
    built.convex = len(states) <= LARGEST and bool(np.linalg.eigvalsh(form.coupling.toarray())[0] > 0)


def _coupled(built: Circuit, a: str, b: str, value: float, *, both: bool) -> Iterator[Resistor]:
    """Yield the resistors of ``value * a * b``: g (a - b)^2 / 2 for -g, and g (a + b)^2 / 2, seen from each, for +g."""
    if value < 0:
        yield Resistor(a, b, -value)
        return
    yield Resistor(built.inverse(a), b, value)
    if both:
        yield Resistor(a, built.inverse(b), value)


def _add_elements(built: Circuit, network: Network, part: Scalars, states: Sequence[str]) -> None:
    """Add a two-terminal element for each scalar function. Raises SpecError for one of more than two voltages."""
    law = shockley(network.graph, part.function, network.values)
    for e in range(len(part.weights)):
        row = part.argument[[e], :].tocoo()
        held = [(states[j], float(a)) for j, a in zip(row.coords[1], row.data, strict=True) if a]
        weight = float(part.weights[e])
        if not held or not weight:
            continue
        across = _across(built, held, float(part.offset[e]))
        if across is None:
            _refuse_element(network, part, f" of {len(held)} voltages that are not a difference of two")
        elif law is not None and weight > 0 and across.offset == 0:
            scaled = Diode(law.saturation, law.thermal / across.scale)
            built.junctions.append(Junction(across.a, across.b, scaled, weight * across.scale))
        else:
            try:
                slope = slope_text(network.graph, part.function, across.text, network.values)
            except NoForm:
                _refuse_element(network, part, ", whose slope is not a function of SPICE")
            built.behaviours.append(Behaviour(across.a, across.b, f"{weight * across.scale!r} * {slope}"))


@dataclass(frozen=True)
class Across:
    """``scale * (v(a) - v(b)) + offset``, the argument of an element's co-content; the scale is positive."""

    a: str
    b: str
    scale: float
    offset: float

    @property
    def text(self) -> str:
        """The argument as SPICE writes it, in parentheses."""
        names = (f"v({name})" for name in (self.a, self.b) if name != GROUND)
        voltage = f"v({self.a}, {self.b})" if GROUND not in (self.a, self.b) else next(names)
        sign = "-" if self.a == GROUND else ""
        return f"({sign}{self.scale!r} * {voltage} + {self.offset!r})"


def _across(built: Circuit, held: Sequence[tuple[str, float]], offset: float) -> Across | None:
    """An affine argument as a voltage between two nodes; None where it is none."""
    if len(held) == 1:
        node, scale = held[0]
        bias = built.bias(-offset / scale)
        return Across(node, bias, scale, 0.0) if scale > 0 else Across(bias, node, -scale, 0.0)
    if len(held) == 2 and held[0][1] == -held[1][1]:
        (first, scale), (second, _) = sorted(held, key=lambda pair: -pair[1])
        return Across(first, second, scale, offset)
    return None


def _refuse_element(network: Network, part: Scalars, reason: str) -> NoReturn:
    message = f"the energy {part.term} takes {part.function.name}{reason}"
    span = network.energies[part.term].tree.left.span
    help_text = "an element has two terminals, as in f(v[j]), f(v[j] - c) or f(v[i] - v[j])"
    raise SpecError(network.source, [Diagnostic("E0960", message, span=span, help=help_text)])


def _add_limits(built: Circuit, network: Network, layout: Layout, nodes: Sequence[str]) -> None:
    """Add the diodes that hold states in their boxes."""
    for node, (name, _) in zip(nodes, layout.places(), strict=True):
        held = network.states[name].constraint
        if held is None:
            continue
        low = 0.0 if held.kind == "nonnegative" else held.low
        if low is not None:
            built.limits.append((built.bias(low), node))
        if held.high is not None:
            built.limits.append((node, built.bias(held.high)))


# ------------------------------------------------------------------ scalar functions as SPICE writes them


class NoForm(Exception):
    """SPICE has no form of a function; ``name`` is its name."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(frozen=True)
class Diode:
    """Shockley's law: the current ``saturation * (exp(u / thermal) - 1)`` at the voltage u, both constants positive."""

    saturation: float
    thermal: float


def shockley(graph: Graph, function: Function, numbers: Mapping[str, float]) -> Diode | None:
    """The diode whose co-content a function is; None where it is that of another element."""
    u = graph.input("u", "argument")
    terms = _terms(derivative(graph, function, u), 1.0, numbers)
    exponentials = [(scale, node) for scale, node in terms if isinstance(node, Map) and node.function.named("exp")]
    shift = sum(scale for scale, node in terms if node is None)
    if len(terms) != 2 or len(exponentials) != 1:
        return None
    scale, exponential = exponentials[0]
    rate = _rate(exponential.argument, u, numbers)
    return Diode(scale, 1 / rate) if shift == -scale < 0 and rate is not None and rate > 0 else None


def _terms(node: Node, factor: float, numbers: Mapping[str, float]) -> list[tuple[float, Node | None]]:
    """A scalar node as a sum of factors times nodes, the constant 1 without a node."""
    if isinstance(node, Add):
        return [part for c, child in node.terms for part in _terms(child, factor * c.number(numbers), numbers)]
    if isinstance(node, Einsum) and not node.labels and len(node.operands) == 1:
        return _terms(node.operands[0].node, factor * node.coefficient.number(numbers), numbers)
    if isinstance(node, Einsum) and not node.labels and not node.operands:
        return [(factor * node.coefficient.number(numbers), None)]
    return [(factor, node)]


def _rate(node: Node, u: Input, numbers: Mapping[str, float]) -> float | None:
    """The c of a node ``c * u``."""
    if node is u:
        return 1.0
    if isinstance(node, Einsum) and not node.labels and [o.node for o in node.operands] == [u]:
        return node.coefficient.number(numbers)
    return None


def slope_text(graph: Graph, function: Function, argument: str, numbers: Mapping[str, float]) -> str:
    """The derivative of a function at ``argument``, a text that binds as an atom. Raises NoForm."""
    u = graph.input("u", "argument")
    return _text(derivative(graph, function, u), argument, numbers)


def _text(node: Node, u: str, numbers: Mapping[str, float]) -> str:
    match node:
        case Input(kind="argument"):
            return u
        case Einsum() if not node.labels:
            factors = [_text(operand.node, u, numbers) for operand in node.operands]
            return "(" + " * ".join([_number(node.coefficient, numbers), *factors]) + ")"
        case Add() if not node.dims:
            terms = [f"{_number(c, numbers)} * {_text(child, u, numbers)}" for c, child in node.terms]
            return "(" + " + ".join(terms) + ")"
        case Map():
            return _call(node.function, _text(node.argument, u, numbers))
    raise NoForm(getattr(node, "name", type(node).__name__))


def _call(function: Function, argument: str) -> str:
    if function.slope is not None:
        raise NoForm(function.name)
    try:
        return function.entry.form("spice").of(argument, argument)
    except NotImplementedError as error:
        raise NoForm(function.name) from error


def _number(coefficient: Coefficient, numbers: Mapping[str, float]) -> str:
    return repr(coefficient.number(numbers))
