"""The context that all parts of a module under construction share: its network, its plan, its names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from energyc.code.module.names import Identifiers, attribute_names, class_name
from energyc.code.module.symbols import Symbols, module_names
from energyc.code.plan import Passes
from energyc.code.plan.module import ModulePlan, plan_module
from energyc.code.tree import facts
from energyc.code.tree.expressions import Attribute, Expr, Name, Number
from energyc.code.tree.quotation import quote
from energyc.code.tree.statements import Body
from energyc.derivation.notation import Notation, of_network
from energyc.language.network import DataInput, Network, Noise
from energyc.mathematics.ir import Einsum, Indicator, Input, Node, walk
from energyc.runtime import FUNCTIONS, GENERATED, PUBLIC


@dataclass(frozen=True)
class Options:
    """The options that a module is made with; its head states them.

    ``biased`` gives the rules that are biased on this network their reasons, ``unproved`` the terms that are not
    known to be gradients (None: all that are written as forces). ``descends``: all flows go down the energies.
    """

    rules: tuple[str, ...]
    label: str
    version: str
    passes: Passes = field(default_factory=Passes)
    biased: Mapping[str, str] = field(default_factory=dict)
    settings: str = ""
    unproved: tuple[str, ...] | None = None
    descends: bool = False

    def plan(self, network: Network) -> ModulePlan:
        """The plan of a module of a network with these options."""
        return plan_module(network, self.rules, self.passes, self.unproved, self.descends)


@dataclass(frozen=True)
class ClassNames:
    """The names of a class of a module and of its records: ``fixed`` is what no step changes.

    ``lets`` is what routines at the same states share, ``held`` what passes to a correction at states that stay,
    ``holomorphic`` the extension to complex states. ``bases`` are the classes of the runtime that it inherits from,
    whose attributes no param may take.
    """

    own: str
    fixed: str
    bases: tuple[str, ...] = ("EnergyNetwork",)
    lets: str = "Lets"
    held: str = "Held"
    holomorphic: str = "Holomorphic"

    @property
    def defined(self) -> tuple[str, ...]:
        """The names of the classes that it defines."""
        return self.own, self.fixed, self.lets, self.held, self.holomorphic

    @staticmethod
    def network(name: str) -> ClassNames:
        """The names for a network without layers."""
        own = class_name(name)
        return ClassNames(own, "Fixed")


class Context:
    """One class of a module while it is being written: that of a network, of a layer, or of what is around layers."""

    def __init__(
        self,
        planned: ModulePlan,
        options: Options,
        class_names: ClassNames | None = None,
        names: Identifiers | None = None,
        known: Sequence[Symbols] = (),
        words: Collection[str] = (),
    ) -> None:
        """``names`` are free at the top of the module, ``known`` is what its other classes call sizes and their roots.

        ``words`` are names that a target's methods read: nothing of a spec takes one. A target that has any calls the
        functions that the runtime exports by their own names.
        """
        network = self.network = planned.equations
        self.options = options
        self.features = planned.features
        self.plan, self.prepared, self.derivation = planned.plan, planned.routines, planned.derivation
        self.block = planned.block
        self.class_names = class_names or ClassNames.network(network.name)
        self.notation: Notation = of_network(network)
        self.letters = _letters(self.notation.habits, network.extents)
        taken = {*attribute_names(*self.class_names.bases), *(p.signature.name for p in self.prepared)}
        attributes = self.attributes = Identifiers(taken)
        self.params = {name: attributes.new(name) for name in network.params}
        words = {*words, *PUBLIC, *GENERATED, *FUNCTIONS} if words else ()
        names = names or module_names(*self.class_names.defined, *words)
        self.symbols = Symbols.of(network, names, known)
        self.symbols.name_roots(walk([o.node for routine in self.plan.routines for o in routine.outputs]), names)
        self.globals = Identifiers({self.class_names.own, *self.symbols.names, *words})
        inputs = (*network.states, *network.clamps, *network.noises, *network.targets)
        self.local = {name: self.globals.new(name) for name in inputs}
        self.given: dict[str, DataInput | Noise] = {**network.clamps, **network.noises}
        #: How many samples there are, in a method that is given what is fixed alone; without clamps there is one.
        self.samples_fixed = quote("len(fixed[0])") if self.given else Number(1)
        self.step = network.step if network.numbered else None
        flags = [node for node in (network.training, self.step) if node is not None]
        self.set: dict[Node, str] = {node: self.globals.new(node.name) for node in flags}
        self.cotangents = {name: self.globals.new(f"cot_{name}") for name in network.states}
        self.directions = {name: self.globals.new(f"v_{name}") for name in network.states}
        self.plus = {name: self.globals.new(f"plus_{name}") for name in network.states}
        self.minus = {name: self.globals.new(f"minus_{name}") for name in network.states}
        sums = self.derivation.sums.inputs if self.features.needs("trajectory") else ()
        self.pulls = {name: self.globals.new(f"pull_{name}") for name in self.derivation.weights}
        self.sums = {name: self.globals.new(f"sum_{name}") for name in sums}
        self.constants = {node: attributes.new(self._constant_wish(node)) for node in self.plan.constants}
        chosen, wishes = self.globals.child(), self.fixed_names(self.plan.fixed)
        self.fields = {node: chosen.new(wishes[node]) for node in self.plan.fixed}

    @property
    def sizes(self) -> Mapping[str, int]:
        """The size of every dim, which is written by its name."""
        return self.symbols.sizes

    def _constant_wish(self, node: Node) -> str:
        return self.plan.names.get(node, "mask" if isinstance(node, Indicator) else "position")

    def own_names(self) -> tuple[dict[Node, Expr], dict[Node, Expr]]:
        """How methods call params and constants; and constants as truth values."""
        own = Name("self")
        names: dict[Node, Expr] = {p.node: Attribute(own, self.params[n]) for n, p in self.network.params.items()}
        constants = {node: Attribute(own, name) for node, name in self.constants.items()}
        masks: dict[Node, Expr] = {node: name for node, name in constants.items() if isinstance(node, Indicator)}
        names.update({node: name for node, name in constants.items() if node not in masks})
        return names, masks

    def fixed_names(self, fixed: Iterable[Node]) -> dict[Node, str]:
        """Wishes for hoisted nodes: the let's own name, or what they are made of or for."""
        return {**{node: _wish(node) for node in fixed}, **self.plan.names}

    def drop_unread(self, methods: Body) -> None:
        """Keep of the hoisted nodes those that methods read."""
        read = facts.attributes("fixed", *methods)
        self.fields = {node: name for node, name in self.fields.items() if name in read}

    def names_in_fixed(self) -> dict[Node, Expr]:
        """The nodes that a method finds in ``fixed``."""
        names: dict[Node, str] = {c.node: self.local[n] for n, c in self.given.items()}
        names |= {**self.set, **self.fields}
        return {node: Attribute(Name("fixed"), name) for node, name in names.items()}


def _wish(node: Node) -> str:
    if isinstance(node, Indicator):
        return "trained" if node.condition.op == "related" else "hit"
    if not isinstance(node, Einsum):
        return "drive" if node.dims else "offset"
    made_of = [part.name for part in walk([node]) if isinstance(part, Input)]
    return "_".join([*made_of, "part"]) if len(made_of) < 3 else "part"


def _letters(habits: Sequence[tuple[str, str]], dims: Iterable[str]) -> dict[str, str]:
    """For each dim the single letters that the spec uses for indices over it, then its own first letter."""
    letters: dict[str, dict[str, None]] = {dim: {} for dim in dims}
    for dim, index in habits:
        if len(index) == 1 and index.isascii() and dim in letters:
            letters[dim][index] = None
    return {dim: "".join(wished) + (dim[0].lower() if dim[0].isascii() else "") for dim, wished in letters.items()}
