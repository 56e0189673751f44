"""The sets of states and of params: their declarations, and the calls that put params and gradients on them.

A module calls what its runtime exports as ``exported`` says: ``rt.Box``, ``ej.Box``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from energyc.code.tree.expressions import Call, Expr, Number, call, integers, literal, number
from energyc.language.network import ConstraintSet, Param, Structure

Exported = Callable[[str], Expr]
#: The class of each set of vectors along axes.
_VECTORS: Mapping[str, str] = MappingProxyType(
    {"standardized": "Standardized", "sphere": "Sphere", "simplex": "Simplex"}
)
#: The function of the nearest point of each set of params; ``unit`` reads no rows.
_NEAREST: Mapping[str, str] = MappingProxyType(
    {
        "symmetric": "symmetric",
        "zero_diagonal": "zero_diagonal",
        "orthogonal": "orthogonal",
        "sphere": "unit",
        "norm": "norm_at_most",
    }
)
#: The part of a gradient along each set that is no linear space, at a param.
_TANGENT: Mapping[str, str] = MappingProxyType({"orthogonal": "along_orthogonal", "sphere": "along_sphere"})


def space(shape: tuple[int, ...], constraint: ConstraintSet | None, axes: Sequence[int], exported: Exported) -> Expr:
    """``Box((J,), 0, 1)``: the space of a state, which may be a set along ``axes``."""
    if constraint is None:
        return call(exported("Real"), literal(shape))
    if constraint.kind in _VECTORS:
        return Call(exported(_VECTORS[constraint.kind]), (literal(shape),), (("axes", integers(*axes)),))
    low, high = (0, None) if constraint.kind == "nonnegative" else (constraint.low, constraint.high)
    if low is None and high is not None:
        return call(exported("Box"), literal(shape), high=number(high))
    return call(exported("Box"), literal(shape), *(number(end) for end in (low, high) if end is not None))


def on_sets(value: Expr, param: Param, exported: Exported, *, drawn: bool) -> Expr:
    """Return a value on the sets of its param; what is ``drawn`` symmetric keeps the variance of its law."""
    for part in param.structure:
        nearest = "mirrored" if part.kind == "symmetric" and drawn else _NEAREST[part.kind]
        value = call(exported(nearest), value, *_axes(part))
    return value


def along_sets(gradient: Expr, param: Param, value: Expr, exported: Exported) -> Expr:
    """Return the part of a gradient along the sets of its param, which is at a ``value``."""
    for part in param.structure:
        if part.kind in _TANGENT:
            gradient = call(exported(_TANGENT[part.kind]), gradient, value, *_axes(part))
        elif part.kind != "norm":
            gradient = call(exported(_NEAREST[part.kind]), gradient, *_axes(part))
    return gradient


def bends_gradients(param: Param) -> bool:
    """Whether a gradient changes on the sets of a param; inside of a ball of matrices it is the whole gradient."""
    return any(part.kind != "norm" for part in param.structure)


def _axes(part: Structure) -> tuple[Expr, ...]:
    groups = (part.columns,) if part.kind == "sphere" else (part.rows, part.columns)
    bound = (Number(part.bound),) if part.kind == "norm" else ()
    return *(integers(*axes) for axes in groups), *bound
