"""The runtime that a self-contained module carries: all that its own part, its parts and its public members reach.

Reachability is by names: a definition is carried if a name that is read is its own, a member of a class if an
attribute of that name is read of anything. Of the classes that a network inherits from, a member stays away where all
of the module's classes find another one before it.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

from energyc.code.module.context import Options
from energyc.code.module.decided import DECIDED, Decided
from energyc.code.module.library import Definition, Library, Member, Reads, library
from energyc.code.plan import features_of
from energyc.code.tree import facts
from energyc.code.tree.expressions import Constant, Dict, Expr, Name, Number, String, Tuple
from energyc.code.tree.statements import Annotated, Assign, Body, Class, Function, Verbatim
from energyc.language.network import Network

#: The most characters of a line.
LONGEST = 120
#: The members of a network that users call.
PUBLIC = frozenset(
    "params energy terms force relax readout cost metrics gradients correction forward layer assign".split()
)

#: The classes that users meet, which keep their whole docstring; others keep the first paragraph.
DOCUMENTED = frozenset({"EnergyNetwork", "Gradients", "LayeredNetwork", "Relaxed"})


def runtime_of(network: Network, options: Options, own: Body) -> Body:
    """The runtime of a module of a network, whose ``own`` part is given; nothing where it is imported."""
    if options.runtime == "import":
        return ()
    replaced = frozenset([] if network.blocks else ["Fixed"])  # by the network's own record
    found = library()
    classes = Classes.of(own, found)
    reads = Reads(facts.free_names(*own), facts.every_attribute(*own))
    if options.runtime == "full":
        return Reach(found, classes, replaced).carried(reads, found.parts, found.members("EnergyNetwork"))
    networks = [network, *(layer.network for layer in network.layers.values())]
    parts = {key: found.parts[key] for key in _parts(networks, options)}
    decided = Decided(classes.decided(), parts)
    noisy = any(each.noises for each in networks)
    public = ["draw_noise"] * noisy + ["project_params"] * any(_bounded(each) for each in networks)
    return Reach(found, classes, replaced, decided).carried(reads, parts if decided.apart else (), public)


def _parts(networks: Sequence[Network], options: Options) -> Iterator[tuple[str, str]]:
    """The parts that the settings of a network and of its layers choose."""
    for each in networks:
        yield from features_of(each, options.rules).parts(each)
    if networks[0].blocks:
        yield from [("differentiation", "implicit"), ("differentiation", "bptt")]
        yield from [("differentiation", "phases")] * bool(features_of(networks[0], options.rules).of_layers)
        yield from [("inputs", "noise of layers")] * any(each.noises for each in networks)


def _bounded(network: Network) -> bool:
    return any((param.low, param.high) != (None, None) for param in network.params.values())


@dataclass(frozen=True)
class Classes:
    """The classes that a module defines itself, with their bases and what they define, and the order of look-up.

    ``values`` are the attributes of each to which it gives plain data.
    """

    bases: Mapping[str, tuple[str, ...]]
    defines: Mapping[str, frozenset[str]]
    values: Mapping[str, Mapping[str, object]]
    found: Library

    @staticmethod
    def of(own: Body, found: Library) -> Classes:
        """Of a module's own part."""
        nodes = [node for node in own if isinstance(node, Class)]
        bases = {n.name: tuple(base.id for base in n.bases if isinstance(base, Name)) for n in nodes}
        values = {node.name: dict(_values(node)) for node in nodes}
        return Classes(bases, {node.name: frozenset(_defined(node)) for node in nodes}, values, found)

    def order(self, name: str) -> list[str]:
        """The classes in which an attribute is looked up, of the module and of the library."""
        definition = self.found.definitions.get(name)
        bases = self.bases.get(name, definition.bases if definition else ())
        known = [base for base in bases if base in self.bases or base in self.found.definitions]
        after = [place for base in known for place in self.order(base)]
        return [name, *(place for k, place in enumerate(after) if place not in after[k + 1 :])]

    @cached_property
    def inherited(self) -> frozenset[str]:
        """The classes that those of the module are, or inherit from."""
        return frozenset(name for order in self.finals for name in order)

    def decided(self) -> dict[str, object]:
        """The attributes that have one value in all networks of the module."""
        networks = [order for order in self.finals if "NetworkFacts" in order]
        found = {name: [self._value(order, name) for order in networks] for name in DECIDED}
        return {name: of[0][0] for name, of in found.items() if of and of[0] is not None and of.count(of[0]) == len(of)}

    def _value(self, order: Sequence[str], name: str) -> tuple[object] | None:
        """The value of an attribute where it is looked up first, in a tuple; None: it is computed, or not there."""
        for place in order:
            is_own = place in self.bases
            values = self.values[place] if is_own else dict(self.found.definitions[place].defaults)
            if name in values:
                return (_hashable(values[name]),)
            if name in (self.defines[place] if is_own else self.found.definitions[place].ending):
                return None
        return None

    @cached_property
    def finals(self) -> list[list[str]]:
        """The orders of the classes that no other one inherits from, as far as the library has a share in them."""
        inherited = {base for bases in self.bases.values() for base in bases}
        orders = [self.order(name) for name in self.bases if name not in inherited]
        return [order for order in orders if any(name in self.found.definitions for name in order)]


def _hashable(value: object) -> object:
    """Plain data as they are asked about: whether there are any, and whether they are the same."""
    return tuple(value.items()) if isinstance(value, dict) else value


def _defined(node: Class) -> Iterator[str]:
    for statement in node.body:
        match statement:
            case Function(name) | Annotated(name, _, Expr()) | Assign(Name(name), _):
                yield name


def _values(node: Class) -> Iterator[tuple[str, object]]:
    for statement in node.body:
        match statement:
            case Assign(Name(name), Constant(value) | String(value)):
                yield name, value
            case Assign(Name(name), Number(value)):
                yield name, value
            case Assign(Name(name), Tuple(items) | Dict(items)):
                yield name, tuple(items)


@dataclass
class Reach:
    """The parts of the runtime that are reached so far, by the names and attributes that are read.

    What is ``decided`` is put into each of them before it is read; without it all stays as it is written.
    """

    found: Library
    classes: Classes
    without: frozenset[str]
    decided: Decided | None = None
    heads: dict[str, Definition] = field(default_factory=dict)
    pieces: dict[tuple[str, str], Member] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.orders, self.inherited = self.classes.finals, self.classes.inherited

    def carried(self, own: Reads, parts: Iterable[tuple[str, str]], public: Iterable[str]) -> Body:
        """The source that is carried for what a module's ``own`` part reads and users call.

        That is ``PUBLIC`` and ``public``. ``parts`` are those that are looked up when the module runs.
        """
        self.read_by_itself = own.names
        self.follow(own)
        self.follow(Reads(frozenset(self.found.parts[key] for key in parts), PUBLIC.union(public)))
        texts = dict(self.texts())
        return (Verbatim("\n\n\n".join(texts.values()), frozenset(self.names), frozenset(texts)),) if texts else ()

    def follow(self, reads: Reads) -> None:
        """Add what is read, and all that is read by what that reaches."""
        waiting = [reads]
        while waiting:
            found = waiting.pop()
            names, attributes = found.names - self.names, found.attributes - self.attributes
            self.names |= names
            self.attributes |= attributes
            for definition in filter(self._carries, self.found.named(names)):
                waiting += [self._definition(definition).reads, *(member.reads for member in self.members(definition))]
            for definition, member in (owned for name in attributes for owned in self.found.owned.get(name, ())):
                if self._carries(definition) and self._reaches(definition.name, member):
                    waiting.append(self._member(definition, member).reads)

    def _definition(self, definition: Definition) -> Definition:
        """A function, or the head of a class, with what is decided put in."""
        if self.decided is None:
            return definition
        if definition.name not in self.heads:
            head = self.decided.of_head(definition.head)
            text = definition.text if head else self.decided.of(definition.text, of_network=False)
            self.heads[definition.name] = replace(definition, head=head, text=text)
        return self.heads[definition.name]

    def _member(self, definition: Definition, member: Member) -> Member:
        """A member of a class with what is decided put in."""
        if self.decided is None:
            return member
        key = definition.name, member.name
        if key not in self.pieces:
            text = self.decided.of(member.text, of_network=definition.name in self.inherited)
            self.pieces[key] = replace(member, text=text)
        return self.pieces[key]

    def definitions(self) -> list[Definition]:
        """The definitions that are reached."""
        return list(map(self._definition, filter(self._carries, self.found.definitions.values())))

    def _carries(self, definition: Definition) -> bool:
        return definition.name in self.names and definition.name not in self.without

    def members(self, definition: Definition) -> list[Member]:
        """The members of a class that are reached."""
        whole = self._called_from_outside(definition)
        reached = [member for member in definition.members if whole or self._reaches(definition.name, member)]
        return [self._member(definition, member) for member in reached]

    def _called_from_outside(self, definition: Definition) -> bool:
        """Whether a library calls the members of a class, as torch those of an autograd function."""
        known = all(base in self.found.definitions or base in ("NamedTuple", "Protocol") for base in definition.bases)
        return definition.name not in self.inherited and not known

    def _reaches(self, owner: str, member: Member) -> bool:
        if member.name == "__repr__":
            return False
        if member.name.startswith("__"):
            return True
        if owner not in self.inherited:
            return not member.is_method or member.name in self.attributes
        return member.has_value and member.name in self.attributes and self._first(owner, member.name)

    def _first(self, owner: str, name: str) -> bool:
        """Whether a class of the module finds the member in ``owner``, or passes on to it from one before."""
        for order in self.orders:
            for place in order:
                if place == owner:
                    return True
                if self._ends_search(place, name):
                    break
        return False

    def _ends_search(self, place: str, name: str) -> bool:
        if place in self.classes.defines:
            return name in self.classes.defines[place]
        return name in self.found.definitions[place].ending

    def texts(self) -> Iterator[tuple[str, str]]:
        """The definitions that are reached, in order: their names and their source."""
        reached = {definition.name: definition for definition in self.definitions()}
        absorbed = self._absorbed(reached)
        for name, definition in reached.items():
            if not definition.head:
                yield name, definition.text if is_rule(definition) else brief(definition.text)
            elif name not in absorbed:
                yield name, self._class(definition, absorbed)

    def _absorbed(self, reached: Mapping[str, Definition]) -> set[str]:
        """The classes that the module does without: they have no member left, or one class alone inherits from them."""
        named = {base for bases in self.classes.bases.values() for base in bases}
        named |= {order[0] for order in self.orders} | self.read_by_itself
        classes = [definition for definition in reached.values() if definition.head]
        for definition in reached.values():
            pieces = self.members(definition) if definition.head else [definition]
            named = named.union(*(piece.reads.names for piece in pieces))
        heirs = {d.name: [heir for heir in classes if d.name in heir.bases] for d in classes}
        found = set()
        for definition in classes:
            members = self.members(definition)
            if definition.name in self.inherited and definition.name not in named:
                alone = len(heirs[definition.name]) == 1 and _apart(members, self.members(heirs[definition.name][0]))
                found |= {definition.name} if alone or not members else set()
        return found

    def _class(self, definition: Definition, absorbed: Collection[str]) -> str:
        """A class with the members that are reached, those of the classes that it absorbs before its own."""
        bases, members = self._whole(definition, absorbed)
        head = definition.head if definition.name in DOCUMENTED else brief(definition.head)
        if any(base in absorbed for base in definition.bases):
            head = re.sub(rf"(class {definition.name}\()[^)]*\)", rf"\1{', '.join(dict.fromkeys(bases))})", head)
        return head + "".join(_spaced(members))

    def _whole(self, definition: Definition, absorbed: Collection[str]) -> tuple[list[str], list[Member]]:
        """The bases and members of a class, with those of the classes that it absorbs."""
        bases: list[str] = []
        members: list[Member] = []
        for base in _bases(definition):
            if base in absorbed:
                behind = self._whole(self.found.definitions[base], absorbed)
                bases, members = bases + behind[0], members + behind[1]
            else:
                bases.append(base)
        return bases, sorted([*members, *self.members(definition)], key=lambda member: member.is_method)


def _bases(definition: Definition) -> list[str]:
    """The bases in the head of a class, as they are written there."""
    found = re.search(rf"class {definition.name}\(([^)]*)\)", definition.head)
    return found[1].split(", ") if found else []


def _apart(members: Sequence[Member], others: Sequence[Member]) -> bool:
    """Whether two classes define nothing twice."""
    return {member.name for member in members}.isdisjoint(member.name for member in others)


def _spaced(members: Sequence[Member]) -> Iterator[str]:
    """The members of a class below its head: a blank line before each, but between attributes that have none."""
    before: Member | None = None
    for member in members:
        close = before is not None and not before.is_method and not member.is_method
        yield f"{chr(10) if close else chr(10) * 2}{textwrap.indent(documented(member), '    ')}"
        before = member


def is_rule(definition: Definition) -> bool:
    """Whether a definition is one of those in the files of the learning rules."""
    return ".rules." in definition.module


def documented(member: Member) -> str:
    """The text of a member, with the whole docstring where users call it."""
    return member.text if member.name in PUBLIC else brief(member.text)


@cache
def brief(text: str) -> str:
    """The text of a definition, with the first paragraph alone of its docstring."""
    node = ast.parse(text).body[0]
    if not isinstance(node, ast.FunctionDef | ast.ClassDef) or not ast.get_docstring(node):
        return text
    lines, quoted = text.split("\n"), node.body[0]
    first = quoted.lineno - 1
    end = next((k for k in range(first, quoted.end_lineno or 0) if not lines[k]), None)
    if end is None:
        return text
    closed = [f'{lines[first]}"""'] if end == first + 1 and len(lines[first]) <= LONGEST - 3 else lines[first:end]
    closed += [] if closed[-1].endswith('"""') else [" " * quoted.col_offset + '"""']
    return "\n".join([*lines[:first], *closed, *lines[quoted.end_lineno :]])
