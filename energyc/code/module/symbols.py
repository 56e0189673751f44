"""The sizes of a network and the roots of them, by the names that a module gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import Protocol

from energyc.code.module.names import KERNEL_NAMES, Identifiers, attribute_names
from energyc.code.tree import facts
from energyc.code.tree.expressions import Binary, Exact, Expr, Name, Number, Tuple, Unary
from energyc.code.tree.extents import Extent
from energyc.code.tree.statements import Assign, Blank, Body
from energyc.language.network import Network
from energyc.mathematics.ir import Add, Coefficient, Einsum, Node

#: Symbols with their powers.
Powers = tuple[tuple[str, Fraction], ...]
#: How many sizes a line defines.
_TOGETHER = 8


class Naming(Protocol):
    """Gives each wish a name that is free."""

    def new(self, wish: str) -> str:
        """The name."""
        ...


@dataclass
class Symbols:
    """The names of sizes in a module, and of roots of them: ``scale = A ** -0.5``.

    ``sizes`` are whole numbers that are written by their names; ``values`` are those of dims and consts.
    """

    sizes: dict[str, Extent]
    values: Mapping[str, float]
    scales: dict[Powers, str] = field(default_factory=dict)
    known: Sequence[Symbols] = ()

    @staticmethod
    def of(network: Network, names: Identifiers, known: Sequence[Symbols] = ()) -> Symbols:
        """Names for all sizes, which are then taken; what another class of the module has keeps its name."""
        before = {(dim, int(size)): size for other in known for dim, size in other.sizes.items()}
        extents = network.extents.items()
        sizes = {dim: before.get((dim, size)) or Extent(size, ((names.new(dim), size),)) for dim, size in extents}
        return Symbols(sizes, network.values, known=known)

    @property
    def names(self) -> set[str]:
        """All names that a module gives for these."""
        return set(map(self.name, self.sizes)) | set(self.scales.values())

    def name(self, dim: str) -> str:
        """The name of the size of a dim."""
        return self.sizes[dim].dims[0][0]

    def name_roots(self, nodes: Iterable[Node], names: Naming) -> None:
        """Names for the roots of sizes that are coefficients in nodes, which are then taken."""
        before = {each._by_name(roots): name for each in self.known for roots, name in each.scales.items()}
        for coefficient in _coefficients(nodes):
            roots = tuple((s, p) for s, p in coefficient.powers if p.denominator > 1)
            if roots and roots not in self.scales and all(symbol in self.sizes for symbol, _ in roots):
                self.scales[roots] = before.get(self._by_name(roots)) or names.new("scale")

    def _by_name(self, roots: Powers) -> Powers:
        """A product of roots by the names of its sizes, which are those of all classes of a module."""
        return tuple((self.name(symbol), power) for symbol, power in roots)

    def factor(self, coefficient: Coefficient) -> float:
        """A coefficient as a number, which is written by names where that gives the very same number."""
        value = coefficient.number(self.values)
        if not coefficient.powers or not all(symbol in self.sizes for symbol, _ in coefficient.powers):
            return value
        whole = Coefficient(abs(coefficient.value), coefficient.powers)
        plus, minus = self._written(whole, 1), self._written(whole, -1)
        return Exact(value, plus[0], minus[0]) if plus[1] == abs(value) else value

    def _written(self, coefficient: Coefficient, sign: int) -> tuple[Expr, float]:
        """The expression of a coefficient, and the number that it gives."""
        above: list[tuple[Expr, float]] = []
        below: list[tuple[Expr, float]] = []
        roots = tuple((s, p) for s, p in coefficient.powers if p.denominator > 1)
        if roots:
            above.append(self._root(roots))
        for symbol, power in coefficient.powers:
            if power.denominator == 1:
                size = Name(self.name(symbol)), int(self.sizes[symbol])
                (above if power > 0 else below).extend([size] * abs(int(power)))
        number = coefficient.value.numerator * sign
        if coefficient.value.denominator != 1:
            below.insert(0, (Number(coefficient.value.denominator), coefficient.value.denominator))
        if number == -1 and above:
            above[0] = Unary("-", above[0][0]), -above[0][1]
        elif number != 1 or not above:
            above.insert(0, (Number(number), number))
        top = reduce(_times, above)
        if not below:
            return top
        bottom = reduce(_times, below)
        return Binary("/", top[0], bottom[0]), top[1] / bottom[1]

    def _root(self, roots: Powers) -> tuple[Expr, float]:
        """A product of roots: by its name where it has one."""
        value = Coefficient(Fraction(1), roots).number(self.values)
        return (Name(self.scales[roots]) if roots in self.scales else self.power(roots)), value

    def definition(self, roots: Powers) -> Exact:
        """A product of roots as a number that is written by the names of the sizes."""
        power = self.power(roots)
        return Exact(Coefficient(Fraction(1), roots).number(self.values), power, Unary("-", power))

    def power(self, roots: Powers) -> Expr:
        """A product of roots."""
        powers = [Binary("**", Name(self.name(s)), Number(float(p))) for s, p in roots]
        return reduce(_product, powers)


def definitions(symbols: Sequence[Symbols], body: Body) -> Body:
    """The definitions at the head of a module for the statements of ``body``: those of names that some of them read."""
    read = facts.reads(*body)
    scales = {name: each.power(roots) for each in symbols for roots, name in each.scales.items() if name in read}
    read |= facts.reads(*scales.values())
    called = {each.name(dim): int(size) for each in symbols for dim, size in each.sizes.items()}
    sizes = [(name, size) for name, size in called.items() if name in read]
    made = (*_sizes(sizes), *(Assign(Name(name), power) for name, power in scales.items()))
    return (Blank(), *made) if made else ()


def module_names(*classes: str) -> Identifiers:
    """Names that are free at the top of a module with these classes.

    Settings of a class are not among them: in its body they would stand in the way.
    """
    settings = attribute_names("EnergyNetwork", "LayeredNetwork", "EnergyLayer")
    return Identifiers({*classes, *settings, *KERNEL_NAMES})


def _product(a: Expr, b: Expr) -> Binary:
    return Binary("*", a, b)


def _times(a: tuple[Expr, float], b: tuple[Expr, float]) -> tuple[Expr, float]:
    return Binary("*", a[0], b[0]), a[1] * b[1]


def _coefficients(nodes: Iterable[Node]) -> Iterable[Coefficient]:
    for node in nodes:
        if isinstance(node, Einsum):
            yield node.coefficient
        elif isinstance(node, Add):
            yield from (coefficient for coefficient, _ in node.terms)


def _sizes(sizes: list[tuple[str, int]]) -> Body:
    """``T, D = 64, 128``, some on a line."""
    lines = [sizes[k : k + _TOGETHER] for k in range(0, len(sizes), _TOGETHER)]
    return tuple(Assign(_row([Name(n) for n, _ in line]), _row([Number(size) for _, size in line])) for line in lines)


def _row(items: list[Name] | list[Number]) -> Expr:
    return items[0] if len(items) == 1 else Tuple(tuple(items), bare=True)
