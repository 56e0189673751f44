"""Names for the nodes that have none in the spec: by their form, else by what they are part of.

====================  ========================================================================
``z_centered``        z less a mean of itself
``z_variance``        the mean of the squares of what is centered, with what is added to it
``z_variance_rsqrt``  the reciprocal root of z_variance
``z_normalized``      what is centered by the root of its variance
``scores``            what a softmax, a logsumexp or a max is of
``pull_scores``       what reaches the scores of a softmax from behind it
``silu_argument``     what a function is of
``label_one_hot``     where an index is that of label
``W_z``               a product of W and z
``n1_part``           what only n1 is made of
====================  ========================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType

from energyc.mathematics.ir import Add, Coefficient, Einsum, Indicator, LogSumExp, Map, Max, Node, Softmax, walk
from energyc.mathematics.sparse import Segment

#: The longest name of a product by its two operands.
LONGEST = 20
#: What some powers are called.
_POWERS: Mapping[Fraction, str] = MappingProxyType(
    {Fraction(-1): "reciprocal", Fraction(1, 2): "sqrt", Fraction(-1, 2): "rsqrt", Fraction(2): "square"}
)
_CENTERED, _VARIANCE = "_centered", "_variance"


class Wishes:
    """The names that nodes of a routine would have.

    ``own`` gives what a node is called already, ``short`` the same where the name is the spec's; ``roots`` are the
    outputs with their names, and ``named`` what the spec's lets call nodes.
    """

    def __init__(
        self,
        short: Callable[[Node], str],
        own: Callable[[Node], str],
        roots: Mapping[Node, str],
        named: Mapping[Node, str],
    ) -> None:
        self.short, self.own = short, own
        whole = {**roots, **named}
        nodes = list(walk(roots))
        self.arguments = _arguments(nodes)
        self.part_of = _part_of(nodes, whole)

    def of(self, node: Node) -> str:
        """A name that says what an anonymous node is."""
        match node:
            case Softmax():
                return "weights"
            case LogSumExp():
                return "logsumexp"
            case Segment():
                return {Softmax: "weights", LogSumExp: "logsumexp"}.get(node.kind, node.kind.operator)
            case Map():
                return self._power(node) or node.function.name
            case Einsum() if len(node.operands) == 2:
                return self._normalized(node) or self._product(node) or self._part(node) or "product"
            case Add():
                known = self._centered(node) or self._variance(node) or self._behind_softmax(node)
                known = known or self.arguments.get(node, "")
                return known or self._part(node) or "total"
            case Indicator():
                return "_".join([*filter(None, map(self.own, node.children)), "one_hot"])
        return self._part(node) or "part"

    def _part(self, node: Node) -> str:
        whole = self.part_of.get(node)
        return f"{whole}_part" if whole else ""

    def _product(self, node: Einsum) -> str:
        parts = [self.short(operand.node) for operand in node.operands]
        joined = "_".join(part for part in parts if part)
        return joined if all(parts) and len(joined) <= LONGEST else ""

    def _power(self, node: Map) -> str:
        """The name of a root or a reciprocal: that of its argument, and its kind."""
        name, kind = self.own(node.argument), _POWERS.get(node.function.exponent or Fraction(1), "")
        return f"{name}_{kind}" if kind and 0 < len(name) <= LONGEST else kind

    def _centered(self, node: Add) -> str:
        """``z - mean(z)``."""
        if len(node.terms) != 2:
            return ""
        for (_, kept), (factor, mean) in (node.terms, node.terms[::-1]):
            if _is_mean(factor, mean, kept):
                return f"{name}{_CENTERED}" if (name := self.own(kept)) else ""
        return ""

    def _variance(self, node: Add) -> str:
        """The mean of the squares of what is centered, and a number."""
        squares = [term for _, term in node.terms if isinstance(term, Einsum) and len(term.operands) == 2]
        if len(squares) != 1 or not squares[0].contracted:
            return ""
        first, second = (operand.node for operand in squares[0].operands)
        name = self.own(first)
        return name.removesuffix(_CENTERED) + _VARIANCE if first is second and name.endswith(_CENTERED) else ""

    def _behind_softmax(self, node: Add) -> str:
        """``p * pull_p - p * sum(p * pull_p)``, p a softmax."""
        first = node.terms[0][1]
        if len(node.terms) != 2 or not isinstance(first, Einsum) or len(first.operands) != 2 or first.contracted:
            return ""
        weights = [o.node for o in first.operands if isinstance(o.node, Softmax)]
        pulled = [o.node for o in first.operands if self.own(o.node).startswith("pull_")]
        return "pull_scores" if weights and pulled else ""

    def _normalized(self, node: Einsum) -> str:
        names = {_of_root(operand.node, self.own) for operand in node.operands}
        bases = {name.removesuffix(_CENTERED).removesuffix(_VARIANCE) for name in names}
        centered = any(name.endswith(_CENTERED) for name in names) and any(name.endswith(_VARIANCE) for name in names)
        return f"{min(bases)}_normalized" if centered and len(bases) == 1 and not node.contracted else ""


def _is_mean(factor: Coefficient, node: Node, of: Node) -> bool:
    """Whether something is less than nothing times a sum over another alone, broadcast or not."""
    summed = False
    while isinstance(node, Einsum) and len(node.operands) == 1 and node is not of:
        factor, summed = factor * node.coefficient, summed or bool(node.contracted)
        node = node.operands[0].node
    return summed and node is of and factor.value < 0


def _of_root(node: Node, own: Callable[[Node], str]) -> str:
    """The name of a node; for a reciprocal of a square root, the name of the argument."""
    if isinstance(node, Map) and node.function.exponent == Fraction(-1, 2):
        return own(node.argument)
    return own(node)


def _arguments(nodes: Iterable[Node]) -> dict[Node, str]:
    """The names of the arguments of functions and reductions."""
    names: dict[Node, str] = {}
    for node in nodes:
        if isinstance(node, Softmax | LogSumExp | Max):
            names[node.argument] = "scores"
        elif isinstance(node, Map) and node.function.exponent is None:
            name = f"{node.function.name}_argument"
            names[node.argument] = min(names.get(node.argument, name), name, key=len)
    return names


def _part_of(nodes: Sequence[Node], names: Mapping[Node, str]) -> dict[Node, str]:
    """The one named node that each anonymous one is part of, where there is one alone; ``nodes`` are children first."""
    found: dict[Node, str] = {}  # empty for a part of several
    for node in reversed(nodes):
        whole = names.get(node) or found.get(node, "")
        for child in node.children:
            if child not in names:
                found[child] = whole if found.get(child, whole) == whole else ""
    return {node: whole for node, whole in found.items() if whole}
