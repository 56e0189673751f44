"""A graph as text that a person can read, a line for each node, without loss.

::

    %0[N, D] = input state z
    %1[N, N] = indicator(n, n2) (n2 <= n)
    %a[N, N] = einsum 1*D^(-1/2) sum(d) %0[n,d] %0[n2,d] -> [n,n2]
    %3[N] = logsumexp(1) %a if %1(0, 1)
    %4[] = einsum 1 sum(n) %3[n] -> []
    energy = %4
    # 5 nodes: 2 einsum, 1 indicator, 1 input, 1 logsumexp
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType

from energyc.mathematics.expressions import NoRule
from energyc.mathematics.ir.coefficient import Coefficient
from energyc.mathematics.ir.indexing import IndexExpr
from energyc.mathematics.ir.node import Input, Node, walk
from energyc.mathematics.ir.nodes import (
    Add,
    BatchStatistic,
    Einsum,
    Function,
    Indicator,
    Map,
    Position,
    Reduction,
    Stop,
)

NAME = re.compile(r"[A-Za-z_][\w.']*", re.ASCII)
INFIX: Mapping[str, str] = MappingProxyType({"floor_div": "div", "mod": "mod"})


def format_graph(
    roots: Mapping[str, Node],
    names: Mapping[Node, str] | None = None,
    index_names: Mapping[str, str] | None = None,
) -> str:
    """The nodes under ``roots`` in the order of their creation, the roots, and a count of each kind of node.

    ``names`` are names of nodes (``%q`` instead of ``%17``), ``index_names`` those of indices by their dims.
    """
    nodes = sorted(_with_bodies(roots.values()), key=lambda node: node.number)
    writer = _Writer(_references(nodes, names or {}), index_names or {})
    lines = [f"{writer.ref(n)}[{', '.join(map(_quoted, n.dims))}] = {writer.node(n)}" for n in nodes]
    lines += [f"{_quoted(name)} = {writer.ref(node)}" for name, node in roots.items()]
    return "\n".join([*lines, _counts(nodes)]) + "\n"


def _with_bodies(roots: Iterable[Node]) -> set[Node]:
    """Every node under the roots, those inside the bodies of potentials too."""
    seen: set[Node] = set()
    waiting = list(roots)
    while waiting:
        fresh = set(walk(waiting)) - seen
        seen |= fresh
        waiting = [body for node in fresh if isinstance(node, Map) for body in node.function.bodies]
    return seen


def _references(nodes: Sequence[Node], names: Mapping[Node, str]) -> dict[Node, str]:
    uses = Counter(names[node] for node in nodes if node in names)
    unique = {node: name for node, name in names.items() if uses[name] == 1 and NAME.fullmatch(name)}
    return {node: f"%{unique.get(node, k)}" for k, node in enumerate(nodes)}


def _counts(nodes: Sequence[Node]) -> str:
    kinds = Counter(type(node).__name__.lower() for node in nodes)
    return f"# {len(nodes)} nodes: " + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))


def _quoted(name: str) -> str:
    """A name as it is, or in quotes where it would not parse back."""
    return name if NAME.fullmatch(name) else json.dumps(name)


def _power(power: Fraction) -> str:
    return f"^{power}" if power.denominator == 1 and power > 0 else f"^({power})"


def format_coefficient(coefficient: Coefficient) -> str:
    """A coefficient as ``-1/2*D^(-1/2)``."""
    powers = (_quoted(name) + ("" if power == 1 else _power(power)) for name, power in coefficient.powers)
    return "*".join([str(coefficient.value), *powers])


class _Writer:
    """Writes nodes as lines, with the names of nodes and indices."""

    def __init__(self, references: Mapping[Node, str], index_names: Mapping[str, str]) -> None:
        self.references = references
        self.index_names = index_names

    def ref(self, node: Node) -> str:
        return self.references[node]

    def indices(self, dims: Sequence[str]) -> list[str]:
        """A name for an index over each dim, no two the same."""
        chosen: list[str] = []
        for dim in dims:
            wish = self.index_names.get(dim, dim[:1].lower())
            base = wish if re.fullmatch(r"[A-Za-z_]\w*", wish, re.ASCII) else "i"
            fresh = (f"{base}{k}" if k > 1 else base for k in range(1, len(dims) + 2))
            chosen.append(next(name for name in fresh if name not in chosen))
        return chosen

    def node(self, node: Node) -> str:
        match node:
            case Input():
                over = "" if node.over is None else f" : {_quoted(node.over)}"
                return f"input {_quoted(node.kind)} {_quoted(node.name)}{over}"
            case Einsum():
                return self.einsum(node)
            case Add():
                return "add " + ", ".join(f"{format_coefficient(c)} {self.ref(n)}" for c, n in node.terms)
            case Map():
                return f"map {self.function(node.function)} {self.ref(node.argument)}"
            case Reduction():
                return self.reduction(node)
            case Indicator():
                return self.indexed("indicator", node, node.condition)
            case Position():
                return self.indexed("position", node, node.value)
            case BatchStatistic():
                return f"batch {node.kind} {self.ref(node.argument)}"
            case Stop():
                return f"stop {node.mode} {self.ref(node.argument)}"
        raise NoRule("text of a graph", node)

    def einsum(self, node: Einsum) -> str:
        names = self.indices(node.labels)
        summed = ",".join(names[k] for k in node.contracted)
        factors = [self.ref(o.node) + _listed(names, o.axes) for o in node.operands]
        sums = [f"sum({summed})"] if summed else []
        coefficient = format_coefficient(node.coefficient)
        return " ".join(["einsum", coefficient, *sums, *factors, "->", _listed(names, node.out)])

    def function(self, function: Function) -> str:
        fields = [] if function.exponent is None else [str(function.exponent)]
        fields += [f"slope = {self.ref(function.slope)}"] if function.slope else []
        fields += [f"primitive = {self.ref(function.primitive)}"] if function.primitive else []
        return _quoted(function.name) + (f"({', '.join(fields)})" if fields else "")

    def reduction(self, node: Reduction) -> str:
        axes = ", ".join(map(str, node.axes))
        line = f"{node.operator}({axes}) {self.ref(node.argument)}"
        if node.guard is None:
            return line
        return f"{line} if {self.ref(node.guard.indicator)}({', '.join(map(str, node.guard.axes))})"

    def indexed(self, kind: str, node: Node, expr: IndexExpr) -> str:
        names = self.indices(node.dims)
        return f"{kind}({', '.join(names)}) {self.index(expr, names)}"

    def index(self, expr: IndexExpr, names: Sequence[str]) -> str:
        inner = [self.index(part, names) for part in expr.parts]
        match expr.op, expr.args:
            case "axis", (int(k),):
                return names[k]
            case "int", (n,):
                return str(n)
            case "size", (str(dim),):
                return f"size({_quoted(dim)})"
            case "read" | "related", (Input() as source, *_):
                return f"{expr.op}({', '.join([self.ref(source), *inner])})"
            case "neg" | "abs" | "not" | "true", _:
                return f"{expr.op}({', '.join(inner)})"
            case "and" | "or", (_,) | ():
                return f"{expr.op}({', '.join(inner)})"
        return "(" + f" {INFIX.get(expr.op, expr.op)} ".join(inner) + ")"


def _listed(names: Sequence[str], axes: Iterable[int]) -> str:
    return "[" + ",".join(names[a] for a in axes) + "]"
