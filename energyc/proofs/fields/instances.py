"""Finds small sizes that a spec can have, so that a witness can be reproduced in a network of the spec.

With ``A = D / H``, the equations allow size three for all dims, but no spec has these sizes. The free dims are tried
from the smallest until the derived ones are integers, and large enough to show an asymmetry.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, product

from energyc.mathematics.ir import Einsum, Node, walk
from energyc.proofs.fields.problem import ForceField, Formulas
from energyc.proofs.fields.sizes import SMALLEST, Limits

#: The most formulas evaluated, the most combinations of sizes enumerated, and the largest size tried for each dim.
FORMULAS, COMBINATIONS, ENOUGH = 6000, 20000, 12


def used_dims(roots: Iterable[Node]) -> set[str]:
    """The dims of all nodes below ``roots``."""
    return {d for node in walk(list(roots)) for d in (node.labels if isinstance(node, Einsum) else node.dims)}


def instance(field: ForceField, moved: Iterable[Node], small: Mapping[str, int]) -> dict[str, int]:
    """Sizes of the spec close to the small ones; the small ones if none are found or the spec has no formulas."""
    formulas = field.formulas
    if formulas is None:
        return dict(small)
    moved = list(moved)
    used, limits = used_dims([*moved, *field.inputs]), Limits.of(moved, field.sizes)
    passable = None
    for sizes in _instances(formulas, field.sizes, small, used, limits):
        if limits.hold(sizes, field.sizes) and all(sizes[d] <= field.sizes[d] for d in used):
            if _large_enough(sizes, field.sizes, used, limits, SMALLEST):
                return sizes
            if passable is None and _large_enough(sizes, field.sizes, used, limits, 2):
                passable = sizes
    return passable or dict(small)


def _large_enough(
    sizes: Mapping[str, int], nominal: Mapping[str, int], used: set[str], limits: Limits, smallest: int
) -> bool:
    return all(sizes[d] >= min(nominal[d], limits.least(d, smallest)) for d in used)


def settable(formulas: Formulas | None, sizes: Mapping[str, int]) -> dict[str, int] | None:
    """The values of the free dims that give a spec these sizes, None if there are none."""
    if formulas is None:
        return dict(sizes)
    free = {name: sizes[name] for name in formulas.free}
    return free if formulas(free) == dict(sizes) else None


def _instances(
    formulas: Formulas, nominal: Mapping[str, int], small: Mapping[str, int], used: set[str], limits: Limits
) -> Iterator[dict[str, int]]:
    """The sizes derived from the small free dims, then those from other free dims in the order of their product."""
    moving, fixed_dims = _related(used, formulas.behind), limits.fixed
    fixed = {d: small[d] if d in used else nominal[d] for d in formulas.free}
    searched = sorted(moving & set().union(*formulas.behind.values()))
    choices = [[nominal[d]] if d in fixed_dims else _choices(small[d], nominal[d]) for d in searched]
    combinations = sorted(islice(product(*choices), COMBINATIONS), key=math.prod)
    for values in ([small[d] for d in searched], *combinations[: FORMULAS // max(1, len(nominal))]):
        sizes = formulas({**fixed, **dict(zip(searched, values, strict=True))})
        if sizes is not None:
            yield dict(sizes)


def _choices(small: int, nominal: int) -> list[int]:
    return sorted({n for n in (*range(1, ENOUGH + 1), small, nominal) if n <= nominal})


def _related(used: set[str], behind: Mapping[str, frozenset[str]]) -> set[str]:
    """The used dims, and all dims that formulas relate to them."""
    related, families = set(used), [{name, *sources} for name, sources in behind.items()]
    while grown := [family for family in families if family & related and not family <= related]:
        related.update(*grown)
    return related
