"""Whether a symmetric matrix is positive semidefinite: by a table of Jacobians, as a sum of squares, or refuted.

A matrix is given as a field: v -> M v on one vector.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from energyc.derivation.notation.recognise import normalisers
from energyc.mathematics.ir import Add, Coefficient, Einsum, Input, Map, Node, Softmax, Stop, walk
from energyc.proofs.claims.forms import Forms, at_more_sizes, exact_values
from energyc.proofs.claims.judgement import Judgement, Step, at_sizes, undecided
from energyc.proofs.claims.norms import Norms
from energyc.proofs.claims.squares import squared, squares
from energyc.proofs.conservativeness.witness import Sample, sample_at, search_sizes
from energyc.proofs.enclosures.exact import Evaluation, Intervals
from energyc.proofs.enclosures.intervals import NoEnclosure
from energyc.proofs.enclosures.nodes import Enclosures
from energyc.proofs.fields.instances import used_dims
from energyc.proofs.fields.problem import ForceField, linearise
from energyc.proofs.fields.sampling import draw, in_floats
from energyc.proofs.normal_form.products import Product, multiplied_out

POINTS = 6
#: An eigenvalue counts as negative below this share of the largest.
SHARE = 1e-6

#: Why the Jacobian of a normaliser by what it normalises is positive semidefinite.
JACOBIANS: Mapping[str, str] = {
    "layernorm": "the Jacobian of layernorm is (I - 1 1^T/D - n n^T/D) / s with |n|^2 <= D",
    "standardize": "the Jacobian of standardize is (I - 1 1^T/D - n n^T/D) / s with |n|^2 = D",
    "rmsnorm": "the Jacobian of rmsnorm is (I - n n^T/D) / s with |n|^2 <= D",
    "softmax": "the Jacobian of softmax is the covariance diag(p) - p p^T",
}


CLAIM = "positive semidefinite"


@dataclass(frozen=True)
class Squares:
    """The products of ``v . M v`` that are sums of squares, of a matrix that is so for all sizes."""

    vector: Input
    nodes: tuple[Node, ...]


def positivity(matrix: ForceField, drawn: ForceField, at: Node | None, state: Node, norms: Norms) -> Judgement:
    """Whether a matrix is positive semidefinite; with ``at``, it is known to be the Jacobian of that by the state.

    ``drawn`` is the matrix by inputs whose draws are on the sets of the states.
    """
    enclosures = norms.enclosures
    by_table = None if at is None else _by_table(at, state, enclosures)
    if by_table is not None:
        return by_table
    for known, sizes in at_more_sizes(matrix, matrix.roots):
        if (by_form := _by_form(known, norms, sizes)) is not None:
            return by_form
    return _negative_direction(drawn) or undecided("no rule of the table fits, and no negative direction was found")


# -------------------------------------------------------------------- the table


def _by_table(at: Node, state: Node, enclosures: Enclosures) -> Judgement | None:
    """The Jacobian of ``scale * N(x) + rest`` where N is in the table."""
    term = _moving_term(_inside(at), state)
    if term is None:
        return None
    factor, node = term
    because, scales = _read(node, state, enclosures)
    if because is None or not enclosures.number(factor).positive:
        return None
    unknown = [scale for scale in scales if not enclosures.range(scale).nonnegative]
    names = [scale.name for scale in unknown if isinstance(scale, Input)]
    if len(names) < len(unknown):
        return None
    proof = Step("jacobian", "v . M v >= 0 for all v", (Step("table", because),))
    return Judgement("proved", because, proof, condition=f"{' * '.join(names)} >= 0" if names else None)


def _inside(node: Node) -> Node:
    while isinstance(node, Stop):
        node = node.argument
    return node


def _moving_term(node: Node, state: Node) -> tuple[Coefficient, Node] | None:
    """The only term of a sum that reads the state, and its coefficient."""
    if not isinstance(node, Add):
        return Coefficient(Fraction(1)), node
    moving = [(c, term) for c, term in node.terms if state in set(walk([term]))]
    return moving[0] if len(moving) == 1 else None


def _read(node: Node, state: Node, enclosures: Enclosures) -> tuple[str | None, list[Node]]:
    """The reason why the Jacobian of a node is positive, and the factors on which its sign depends.

    None of those factors reads the state: its own slope would be a part of the Jacobian.
    """
    if node is state:
        return "it is the identity", []
    if isinstance(node, Softmax) and node.argument is state and node.guard is None:
        return JACOBIANS["softmax"], []
    if isinstance(node, Map) and node.argument is state and node.function.slope is None:
        return ("its slope is never negative", []) if node.function.entry.monotone == 1 else (None, [])
    if not isinstance(node, Einsum) or node.contracted or not enclosures.number(node.coefficient).positive:
        return None, []
    for normaliser in normalisers(node):
        if normaliser.argument is state:
            scales = [o for o in node.operands if o not in normaliser.operands]
            along = normaliser.operands[0].axes[normaliser.axis]
            if not any(along in scale.axes or state in set(walk([scale.node])) for scale in scales):
                return JACOBIANS[normaliser.name], [scale.node for scale in scales]
    moving = [o for o in node.operands if state in set(walk([o.node]))]
    if len(moving) != 1 or moving[0].axes != node.out:
        return None, []
    inner, others = moving[0].node, [o for o in node.operands if o is not moving[0]]
    because, factors = _read(inner, state, enclosures)
    if inner is not state and not isinstance(inner, Map) and any(other.axes for other in others):
        return None, []
    return because, [*factors, *(other.node for other in others)]


# -------------------------------------------------------------------- forms


def _form(matrix: ForceField) -> Node:
    """``v . M v``."""
    (vector,) = matrix.states
    form = matrix.graph.product(vector, matrix.force[vector])
    return matrix.graph.sum(form, range(len(form.dims)))


def squares_in(matrix: ForceField, enclosures: Enclosures) -> Squares:
    """The terms of ``v . M v`` that are sums of squares with factors that are never negative."""
    products = multiplied_out(_form(matrix), matrix.structure) or ()
    found = (_square_of(product, matrix, enclosures) for product in products)
    return Squares(matrix.states[0], tuple(square for square in found if square is not None))


def _by_form(matrix: ForceField, norms: Norms, sizes: str) -> Judgement | None:
    """By the terms of ``v . M v``: squares, and squares of v that outweigh the rest."""
    products = multiplied_out(_form(matrix), matrix.structure)
    if products is None:
        return None
    (vector,), statement = matrix.states, f"v . M v >= 0 for all v{sizes}"
    found = [_square_of(product, matrix, norms.enclosures) for product in products]
    rest = [product for product, square in zip(products, found, strict=True) if square is None]
    known = None if sizes else Squares(vector, tuple(square for square in found if square is not None))
    if not rest:
        because = f"a sum of squares with coefficients that are never negative{sizes}"
        return Judgement("proved", because, Step("squares", statement, by=known))
    forms = Forms(replace(norms, structure=matrix.structure), exact_values(matrix), matrix.states)
    for product in (product for product in products if product not in rest and forms.is_plain(product)):
        forms.take(product)  # what cannot be added is never negative
    if not all(forms.take(product) for product in rest) or forms.confined() is None:
        return None
    reasons = [*dict.fromkeys(forms.because)]
    because = "; ".join([*reasons, f"what is added outweighs what is subtracted{sizes}"])
    premises = tuple(Step("norm", reason) for reason in reasons)
    return Judgement("proved", because, Step("norms", statement, premises, by=known))


def _square_of(product: Product, matrix: ForceField, enclosures: Enclosures) -> Node | None:
    """A product that is ``(sum of something)^2`` times a positive number and what is never negative."""
    (vector,) = matrix.states
    ends = [f for f in product.factors if f.node is vector]
    if len(ends) != 2 or not enclosures.number(product.coefficient).positive:
        return None
    first, second = ends
    for square in squares(product, first, second, matrix.structure):
        if enclosures.of_product(square.middle).range.nonnegative:
            return squared(matrix.graph, product, square, first)
    return None


# -------------------------------------------------------------------- refutation


def _negative_direction(matrix: ForceField) -> Judgement | None:
    """A point of small size at which an eigenvalue of the symmetric part is negative, confirmed by intervals."""
    linear, generator = linearise(matrix), np.random.default_rng(5)
    for sizes in search_sizes(linear):
        for _ in range(POINTS):
            sample = sample_at(linear, sizes, draw(matrix, sizes, generator), generator)
            if sample is None or len(sample.columns) != len(sample.jacobian):
                continue
            values, vectors = np.linalg.eigh((sample.jacobian + sample.jacobian.T) / 2)
            if values[0] < -SHARE * max(1e-9, abs(values[-1])):
                confirmed = _confirmed(matrix, sample, vectors[:, 0])
                if confirmed is not None:
                    return confirmed
    return None


def _confirmed(matrix: ForceField, sample: Sample, direction: Any) -> Judgement | None:
    (vector,) = matrix.states
    shape = tuple(sample.sizes[dim] for dim in vector.dims)
    if int(np.prod(shape)) != len(direction):
        return None
    inputs = {**sample.point, vector: (np.round(direction * 64) / 64).reshape(shape)}
    form = _form(matrix)
    fractions = {**matrix.fractions, **{name: Fraction(size) for name, size in sample.sizes.items()}}
    numbers = Intervals({**matrix.values, **sample.sizes}, fractions)
    try:
        value = Evaluation(matrix.graph, numbers, sample.sizes, inputs)(form)
    except (NoEnclosure, ZeroDivisionError, OverflowError, ValueError):
        return None
    low, high = float(value.low), float(value.high)
    if not high < 0:
        return None
    used = used_dims([form, *matrix.inputs])
    sizes = {dim: size for dim, size in sample.sizes.items() if dim in used}
    point = {node.name: in_floats(np.asarray(x)).tolist() for node, x in inputs.items()}
    value = (low + high) / 2
    data = {"value": value, "sizes": sizes, "point": point}
    return Judgement("refuted", f"v . M v = {value:.6g} < 0 {at_sizes(sizes.items())} (certified)", numbers=data)
