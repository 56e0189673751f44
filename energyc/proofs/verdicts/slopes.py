"""Writes what rule trees say of slopes: curvature with its squares, contraction, Jacobians that are positive."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from energyc.checker.algebra import Poly, total
from energyc.checker.bounds import Bounds
from energyc.checker.claims import Claims
from energyc.checker.forms import Forms, is_semidefinite, matrix_of, shifted
from energyc.checker.functions import FUNCTIONS
from energyc.derivation.notation import left_side, of_network
from energyc.derivation.notation.recognise import Normaliser, normalisers
from energyc.derivation.notation.text import number, write
from energyc.language.network import Network
from energyc.mathematics.calculus import derivative, substitute
from energyc.mathematics.ir import Coefficient, Einsum, Function, Graph, Input, Map, Node, Softmax, walk
from energyc.proofs.claims.monotone import Monotone
from energyc.proofs.claims.positivity import Squares
from energyc.proofs.fields.problem import direction_of

Matrix = list[list[Any]]
#: Shares of squares that are kept, and by how much a bound that is no fraction is weakened.
SHARES, ROUNDING = (*(Fraction(1, 2**k) for k in range(60)), Fraction(0)), 1e-6


class TooWeak(Exception):
    """What the checker sees of a form does not show a claim."""


@dataclass(frozen=True)
class Curve:
    """The matrices of a form from below, without its squares and of these; ``squares`` as texts."""

    rest: Matrix
    own: Matrix
    squares: Sequence[str]


@dataclass(frozen=True)
class Slopes:
    """Writes about the slopes of a network as ``reader``, the checker, reads it."""

    network: Network
    reader: Claims
    _curves: dict[Any, Curve] = field(default_factory=dict)

    # ------------------------------------------------------------ curvature

    def curved(
        self, monotone: Monotone, bends: Mapping[str, Poly], steps: Mapping[str, Fraction], sizes: Mapping[str, int]
    ) -> tuple[Fraction, list[str]]:
        """m of forms and the squares that are taken off them. Raises TooWeak where m is not above 0."""
        key, scale = (tuple(sizes.items()), *steps), [*steps.values()]
        if key not in self._curves:
            self._curves[key] = self._curve(monotone, bends, sizes, [*steps])
        curve = self._curves[key]
        shares = SHARES if curve.squares and _is_finite(curve.own) else (Fraction(0),)
        kept = [(share, _sum(curve.rest, curve.own, share)) for share in shares]
        m, lost = max((_least(matrix, scale), -share) for share, matrix in kept)
        if not m > 0:
            raise TooWeak("the checker sees no m above 0")
        share = -lost
        whole = _sum(curve.rest, curve.own, share)
        least = _exact(whole, scale, min) or Fraction(f"{m * (1 - ROUNDING):.6e}")
        inverse = [least / each for each in scale]
        if not is_semidefinite(shifted(whole, [-each for each in inverse], 1)):
            raise TooWeak("the checker sees no m above 0")
        off = 1 - share
        return least, [text if off == 1 else f"{off} * ({text})" for text in curve.squares if off]

    def steepest(self, bends: Mapping[str, Poly], steps: Mapping[str, Fraction], sizes: Mapping[str, int]) -> Fraction:
        """L. Raises TooWeak where there is none."""
        reader, names = self.reader, [*self.network.states]
        above = reader.steepness(Forms(Bounds(reader.whole, sizes)), bends, names)
        scale = [steps[name] for name in names] * (len(above) // len(names))
        steep = -_least([[-entry for entry in row] for row in above], scale)
        if steep == math.inf:
            raise TooWeak("the checker sees no L")
        return _exact(above, scale, max) or Fraction(f"{steep * (1 + ROUNDING):.6e}")

    def _curve(
        self, monotone: Monotone, bends: Mapping[str, Poly], sizes: Mapping[str, int], names: Sequence[str]
    ) -> Curve:
        reader = self.reader
        bounds = Bounds(reader.whole, sizes)
        forms = Forms(bounds)
        squares: list[tuple[str, Poly]] = []
        for text in self._squares(monotone):
            poly = reader.squares({"facts": {"squares": [text]}}, reader.whole, bounds, {})
            if not is_semidefinite(matrix_of(forms.blocks(poly), names, 0)):
                squares.append((text, poly))
        own = total(poly for _, poly in squares)
        rest = matrix_of(forms.blocks(total(bends.values()) - own), names, 0)
        return Curve(rest, matrix_of(forms.blocks(own), names, 0), [text for text, _ in squares])

    def _squares(self, monotone: Monotone) -> list[str]:
        """What is nowhere negative in the form, in directions ``w.z``."""
        graph, notation = monotone.base.graph, of_network(self.network)
        named: dict[Node, tuple[str, tuple[str, ...]]] = {
            direction_of(graph, s): (f"w.{s.name}", notation.indices(s)) for s in monotone.base.states
        }
        notation = of_network(self.network, named)
        nodes = dict.fromkeys(node for node in monotone.nowhere_negative if node is not graph.zero(()))
        return [write(notation.formula(_with_primes(graph, node), ())) for node in nodes]

    # ------------------------------------------------------------ positive Jacobians and matrices

    def of_vector(self, known: Squares, name: str) -> list[str]:
        """The squares in the form of a matrix, its vector under a name."""
        indices: list[str] = []
        for dim in known.vector.dims:
            indices.append(of_network(self.network).free_indices.fresh(dim, indices))
        notation = of_network(self.network, {known.vector: (name, tuple(indices))})
        return [write(notation.formula(node, ())) for node in dict.fromkeys(known.nodes)]

    def positive(self, by: str, state: str) -> tuple[list[str], list[str], list[str]]:
        """The squares in the Jacobian of a let by a state, the indices kept apart, and params that are not negative."""
        let, at = self.network.lets[by], self.network.states[state].node
        if isinstance(let.node, Softmax) and let.node.argument is at and let.node.guard is None:
            (axis,), names = let.node.axes, list(let.indices)
            return [self._squares_of_softmax(state, names, axis)], [n for n in names if n != names[axis]], []
        for node in (node for node in walk([let.node]) if isinstance(node, Einsum)):
            for found in normalisers(node):
                if found.argument is at and found.operands[0].axes == node.out:
                    return self._of_normaliser(node, found, list(let.indices), state)
        return [], [], []

    def _of_normaliser(
        self, node: Einsum, found: Normaliser, names: list[str], state: str
    ) -> tuple[list[str], list[str], list[str]]:
        """Of ``scale * N(x)``: by Lagrange's identity, ``|x|^2 |w|^2 - (x . w)^2`` is a sum of squares."""
        others = [o for o in node.operands if o not in found.operands]
        scale = self.network.graph.fork().einsum(
            node.coefficient, [(o.node, o.axes) for o in others], dict(enumerate(node.labels)), node.out
        )
        d, dim = names[found.axis], self.network.states[state].node.dims[found.axis]
        (x_d, w_d), (x_k, w_k), k = self._elements(state, names, found.axis)
        if found.name != "rmsnorm":
            means = [f"mean[{k} in {dim}]({each})" for each in (x_k, w_k)]
            (x_d, w_d), (x_k, w_k) = (
                [f"{u} - {m}" for u, m in zip(us, means, strict=True)] for us in ((x_d, w_d), (x_k, w_k))
            )
        eps = number(Coefficient(found.epsilon))
        gap = f"(({x_d}) * ({w_k}) - ({x_k}) * ({w_d}))^2"
        square = f"mean[{d}](({x_d})^2) + {eps}"
        spread = f"{eps} * sum[{d}](({w_d})^2) + 1/2 * mean[{d}](sum[{k} in {dim}]({gap}))"
        given = [
            o.node.name for o in others if isinstance(o.node, Input) and self.reader.bounds.element(o.node.name).low < 0
        ]
        written = write(of_network(self.network).formula(scale, names))
        return [f"({written}) * ({square})^(-3/2) * ({spread})"], [n for n in names if n != d], given

    def _squares_of_softmax(self, state: str, names: list[str], axis: int) -> str:
        """The covariance ``diag(p) - p p^T`` as a sum of squares."""
        (x_d, w_d), (x_k, w_k), k = self._elements(state, names, axis)
        p = f"softmax[{names[axis]}]({x_d}) * softmax[{k}]({x_k})"
        dim = self.network.states[state].node.dims[axis]
        return f"1/2 * sum[{names[axis]}](sum[{k} in {dim}]({p} * ({w_d} - {w_k})^2))"

    def _elements(self, state: str, names: list[str], axis: int) -> tuple[tuple[str, str], tuple[str, str], str]:
        """An element and its direction, the same at another index along an axis, and that index."""
        dim = self.network.states[state].node.dims[axis]
        k = of_network(self.network).free_indices.fresh(dim, names)
        other = [k if a == axis else name for a, name in enumerate(names)]
        here, there = ((left_side(state, at), left_side(f"w.{state}", at)) for at in (names, other))
        return here, there, k


def _with_primes(graph: Graph, node: Node) -> Node:
    """A node with the slopes of functions written as such, as ``sigmoid'(u)``, where the checker keeps these whole."""
    slopes: dict[Node, Node] = {}
    for inner in (n for n in walk([node]) if isinstance(n, Map) and n.function.slope is None):
        if f"{inner.function.name}'" in FUNCTIONS:
            named = Function(f"{inner.function.name}'", slope=graph.zero(()))
            slopes[derivative(graph, inner.function, inner.argument)] = graph.map(named, inner.argument)
    return substitute(graph, node, slopes) if slopes else node


def _sum(rest: Matrix, own: Matrix, share: Fraction) -> Matrix:
    """A matrix and a share of another, of which none is nothing also where that is infinite."""
    rows = zip(rest, own, strict=True)
    return [[a + (share * b if share else 0) for a, b in zip(*pair, strict=True)] for pair in rows]


def _is_finite(matrix: Matrix) -> bool:
    return all(abs(entry) < math.inf for row in matrix for entry in row)


def _least(matrix: Matrix, scale: Sequence[Fraction]) -> float:
    """The least eigenvalue of a matrix whose rows and columns are scaled by roots."""
    if not _is_finite(matrix):
        return -math.inf
    roots = np.sqrt([float(each) for each in scale])
    return float(np.linalg.eigvalsh(np.array(matrix, dtype=float) * np.outer(roots, roots))[0])


def _exact(matrix: Matrix, scale: Sequence[Fraction], end: Callable[..., Any]) -> Fraction | None:
    """The least or largest eigenvalue of a diagonal matrix, scaled, or of ``[[0, a], [a, 0]]``; None of any other."""
    if len(matrix) == 2 and end is max and not matrix[0][0] and not matrix[1][1] and scale[0] == scale[1]:
        return Fraction(matrix[0][1] * scale[0])
    diagonal = not any(entry for i, row in enumerate(matrix) for j, entry in enumerate(row) if i != j)
    return end(matrix[k][k] * each for k, each in enumerate(scale)) if diagonal else None
