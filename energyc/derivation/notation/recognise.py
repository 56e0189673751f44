"""Normalisers recognised in the sums and products that they were lowered to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from energyc.mathematics.ir import ONE, Add, Coefficient, Einsum, Map, Node, Operand

#: What the language puts inside the root where a spec does not say.
USUAL_EPSILON = Fraction(1, 100000)


@dataclass(frozen=True)
class Normaliser:
    """``name[axis](argument, eps = epsilon)`` as the product of the two operands."""

    name: str
    argument: Node
    axis: int
    epsilon: Fraction
    operands: tuple[Operand, Operand]


def normalisers(node: Einsum) -> Iterator[Normaliser]:
    """The pairs of operands that are a normaliser together."""
    for scale in node.operands:
        for centred in node.operands:
            missing = [k for k, label in enumerate(centred.axes) if label not in scale.axes]
            if len(missing) == 1 and len(scale.axes) == len(centred.axes) - 1:
                normaliser = _normaliser(centred, scale, missing[0])
                if normaliser is not None:
                    yield normaliser


def _normaliser(centred: Operand, scale: Operand, axis: int) -> Normaliser | None:
    """``c * (mean(c^2) + eps)^(-1/2)``: a layer norm of u where c is ``u - mean(u)``, else an rms norm of c."""
    if tuple(a for k, a in enumerate(centred.axes) if k != axis) != scale.axes:
        return None
    epsilon = _inverse_root_of_square(scale.node, centred.node, axis)
    if epsilon is None or epsilon < 0:
        return None
    source = _uncentred(centred.node, axis)
    if source is None:
        return Normaliser("rmsnorm", centred.node, axis, epsilon, (centred, scale))
    return Normaliser("standardize" if epsilon == 0 else "layernorm", source, axis, epsilon, (centred, scale))


def _inverse_root_of_square(node: Node, vector: Node, axis: int) -> Fraction | None:
    """eps where a node is ``(mean(vector^2) + eps)^(-1/2)`` along the axis."""
    if not isinstance(node, Map) or node.function.exponent != Fraction(-1, 2):
        return None
    factor, square, epsilon = _shifted(node.argument)
    if not isinstance(square, Einsum) or len(square.operands) != 2:
        return None
    if factor * square.coefficient != _inverse(vector.dims[axis]):
        return None
    first, second = square.operands
    others = tuple(label for k, label in enumerate(first.axes) if k != axis)
    same = first == second and first.node is vector and len(set(first.axes)) == len(first.axes)
    return epsilon if same and others == square.out else None


def _shifted(node: Node) -> tuple[Coefficient, Node, Fraction]:
    """A node as a multiple of another plus a constant."""
    if isinstance(node, Add) and len(node.terms) == 2:
        for (multiple, inner), (factor, constant) in (node.terms, node.terms[::-1]):
            if isinstance(constant, Einsum) and not constant.operands:
                shift = factor * constant.coefficient
                if not shift.powers:
                    return multiple, inner, shift.value
    return ONE, node, Fraction(0)


def _uncentred(node: Node, axis: int) -> Node | None:
    """u where a node is ``u - mean(u)`` along the axis."""
    if not isinstance(node, Add) or len(node.terms) != 2:
        return None
    for (one, source), (factor, mean) in (node.terms, node.terms[::-1]):
        if one == ONE and isinstance(mean, Einsum):
            summed = _spread_sum(mean, source, axis)
            if summed is not None and factor * summed == -_inverse(node.dims[axis]):
                return source
    return None


def _spread_sum(mean: Einsum, source: Node, axis: int) -> Coefficient | None:
    """The factor of the source's sum along an axis, repeated along it; directly or by a node between."""
    if len(mean.operands) != 1:
        return None
    operand = mean.operands[0]
    others = tuple(label for k, label in enumerate(mean.out) if k != axis)
    if operand.node is source:
        same = (
            tuple(a for k, a in enumerate(operand.axes) if k != axis) == others
            and operand.axes[axis] in mean.contracted
        )
        return mean.coefficient if same else None
    inner = operand.node
    if not isinstance(inner, Einsum) or operand.axes != others or len(inner.operands) != 1:
        return None
    below = inner.operands[0]
    same = below.node is source and tuple(a for k, a in enumerate(below.axes) if k != axis) == inner.out
    return mean.coefficient * inner.coefficient if same else None


def _inverse(dim: str) -> Coefficient:
    return Coefficient.symbol(dim, -1)
