"""Reads the text form of a graph; the inverse of :func:`energyc.mathematics.ir.text.format_graph`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, TypeVar

from energyc.mathematics.ir.coefficient import Coefficient
from energyc.mathematics.ir.graph import Graph
from energyc.mathematics.ir.indexing import IndexExpr
from energyc.mathematics.ir.node import Input, Node
from energyc.mathematics.ir.nodes import ArgMax, Function, Guard, Indicator, LogSumExp, Max, Reduction, Softmax

TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*")|(?P<ref>%[\w.']+)|(?P<number>\d+)|(?P<name>[A-Za-z_][\w.']*)"""
    r"""|(?P<sign>->|==|!=|<=|>=|[\[\](),=:*/^+<>-]))""",
    re.ASCII,
)
OPERATIONS: Mapping[str, str] = MappingProxyType(
    {"div": "floor_div"} | {op: op for op in ("mod", "and", "or", "+", "-", "*", "==", "!=", "<", "<=", ">", ">=")}
)
REDUCTIONS: Mapping[str, type[Reduction]] = MappingProxyType(
    {kind.operator: kind for kind in (Softmax, ArgMax, LogSumExp, Max)}
)
T = TypeVar("T")


def parse_graph(text: str) -> tuple[Graph, dict[str, Node]]:
    """The graph and its roots by name. Raises ValueError, with the number of the line, for text of another form."""
    graph = Graph()
    nodes: dict[str, Node] = {}
    roots: dict[str, Node] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            _Line(graph, nodes, line).read(roots)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise ValueError(f"line {number} of the graph: {error}") from error
    return graph, roots


class _Line:
    """One line as tokens, each ``(kind, text)``, and the place of the next."""

    def __init__(self, graph: Graph, nodes: dict[str, Node], line: str) -> None:
        self.graph = graph
        self.nodes = nodes
        self.tokens = _tokens(line)
        self.place = 0

    def read(self, roots: dict[str, Node]) -> None:
        if self.kind != "ref":
            name = self.identifier()
            self.expect("=")
            roots[name] = self.node()
        else:
            name = self.take()
            dims = tuple(self.sequence("[", self.identifier, "]"))
            self.expect("=")
            self.nodes[name] = self.definition(dims)
            if self.nodes[name].dims != dims:
                raise ValueError(f"{name} has the dims {self.nodes[name].dims}")
        if self.place < len(self.tokens):
            raise ValueError(f"unexpected {self.text!r} at the end")

    # ------------------------------------------------------------ tokens

    @property
    def kind(self) -> str:
        return self.tokens[self.place][0] if self.place < len(self.tokens) else "end"

    @property
    def text(self) -> str:
        return self.tokens[self.place][1] if self.place < len(self.tokens) else "the end"

    def take(self) -> str:
        self.place += 1
        return self.tokens[self.place - 1][1]

    def accept(self, text: str) -> bool:
        matches = self.text == text
        self.place += matches
        return matches

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise ValueError(f"expected {text!r} before {self.text!r}")

    def identifier(self) -> str:
        if self.kind not in ("name", "string"):
            raise ValueError(f"expected a name before {self.text!r}")
        return json.loads(self.take()) if self.kind == "string" else self.take()

    def sequence(self, opening: str, item: Callable[[], T], closing: str) -> list[T]:
        self.expect(opening)
        items: list[T] = []
        while not self.accept(closing):
            items.append(item())
            if not self.accept(","):
                self.expect(closing)
                break
        return items

    def integer(self) -> int:
        sign = -1 if self.accept("-") else 1
        return sign * int(self.take())

    def fraction(self) -> Fraction:
        numerator = self.integer()
        return Fraction(numerator, self.integer() if self.accept("/") else 1)

    def node(self) -> Node:
        return self.nodes[self.take()]

    # ------------------------------------------------------------ nodes

    def definition(self, dims: tuple[str, ...]) -> Node:
        kind = self.identifier()
        match kind:
            case "input":
                of, name = self.identifier(), self.identifier()
                return self.graph.input(name, of, dims, self.identifier() if self.accept(":") else None)
            case "einsum":
                return self.einsum(dims)
            case "add":
                return self.add(dims)
            case "map":
                return self.graph.map(self.function(), self.node())
            case "stop":
                mode = self.identifier()
                return self.graph.stop(self.node(), mode)
            case "batch":
                statistic = self.identifier()
                return self.graph.batch_statistic(self.node(), statistic)
            case "indicator":
                return self.graph.indicator(dims, self.indexed())
            case "position":
                return self.graph.position(dims, self.indexed())
        if kind in REDUCTIONS:
            return self.reduction(REDUCTIONS[kind])
        raise ValueError(f"unknown kind of node: {kind}")

    def coefficient(self) -> Coefficient:
        value = self.fraction()
        powers: dict[str, Fraction] = {}
        while self.accept("*"):
            name = self.identifier()
            powers[name] = self.exponent() if self.accept("^") else Fraction(1)
        return Coefficient(value, tuple(sorted(powers.items())))

    def exponent(self) -> Fraction:
        if not self.accept("("):
            return Fraction(self.integer())
        power = self.fraction()
        self.expect(")")
        return power

    def einsum(self, dims: tuple[str, ...]) -> Node:
        coefficient = self.coefficient()
        if self.accept("sum"):
            self.sequence("(", self.identifier, ")")
        factors = []
        while not self.accept("->"):
            factors.append((self.node(), self.sequence("[", self.identifier, "]")))
        out = self.sequence("[", self.identifier, "]")
        names = list(dict.fromkeys([*out, *(name for _, axes in factors for name in axes)]))
        label = {name: k for k, name in enumerate(names)}
        labels = {label[name]: dim for node, axes in factors for name, dim in zip(axes, node.dims, strict=True)}
        labels |= {label[name]: dim for name, dim in zip(out, dims, strict=True)}
        numbered = [(node, [label[name] for name in axes]) for node, axes in factors]
        return self.graph.einsum(coefficient, numbered, labels, [label[name] for name in out])

    def add(self, dims: tuple[str, ...]) -> Node:
        terms: list[tuple[Coefficient, Node]] = []
        while not terms or self.accept(","):
            coefficient = self.coefficient()
            terms.append((coefficient, self.node()))
        return self.graph.add(terms, dims)

    def function(self) -> Function:
        name = self.identifier()
        fields: dict[str, Any] = dict(self.sequence("(", self.field, ")")) if self.text == "(" else {}
        return Function(name, **fields)

    def field(self) -> tuple[str, Fraction | Node]:
        if self.kind != "name":
            return "exponent", self.fraction()
        name = self.identifier()
        self.expect("=")
        return name, self.node()

    def reduction(self, kind: type[Reduction]) -> Node:
        axes = self.sequence("(", self.integer, ")")
        argument = self.node()
        return self.graph.reduction(kind, argument, axes, self.guard() if self.accept("if") else None)

    def guard(self) -> Guard:
        indicator = self.node()
        if not isinstance(indicator, Indicator):
            raise ValueError(f"{indicator!r} is not a guard")
        return Guard(indicator, tuple(self.sequence("(", self.integer, ")")))

    # ------------------------------------------------------------ index expressions

    def indexed(self) -> IndexExpr:
        names = self.sequence("(", self.identifier, ")")
        return self.index({name: k for k, name in enumerate(names)})

    def index(self, axes: Mapping[str, int]) -> IndexExpr:
        if self.kind == "number" or self.text == "-":
            return IndexExpr("int", (self.integer(),))
        if self.text == "(":
            return self.infix(axes)
        name = self.identifier()
        if self.text != "(":
            return IndexExpr("axis", (axes[name],))
        if name == "size":
            return IndexExpr("size", tuple(self.sequence("(", self.identifier, ")")))
        return IndexExpr(name, tuple(self.sequence("(", lambda: self.argument(axes), ")")))

    def argument(self, axes: Mapping[str, int]) -> IndexExpr | Input:
        if self.kind != "ref":
            return self.index(axes)
        source = self.node()
        if not isinstance(source, Input):
            raise ValueError(f"{source!r} is not an input")
        return source

    def infix(self, axes: Mapping[str, int]) -> IndexExpr:
        self.expect("(")
        parts = [self.index(axes)]
        operation = self.text
        while not self.accept(")"):
            self.expect(operation)
            parts.append(self.index(axes))
        return IndexExpr(OPERATIONS[operation], tuple(parts))


def _tokens(line: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    place = 0
    while line[place:].strip():
        match = TOKEN.match(line, place)
        if match is None:
            raise ValueError(f"no token: {line[place:].strip()[:20]!r}")
        tokens.append((match.lastgroup or "", match.group(match.lastgroup or 0)))
        place = match.end()
    return tokens
