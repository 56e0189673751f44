"""Whether a symmetric matrix is positive semidefinite: shown by the kernel, by squares in its form, or refuted.

A matrix is given as a field: v -> M v on one vector.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from energyc.derivation.notation.recognise import normalisers
from energyc.mathematics.ir import Einsum, Input, Map, Node, Softmax, walk
from energyc.proofs.claims.judgement import Judgement, Kernel, Step, at_sizes, undecided
from energyc.proofs.claims.products import Product, multiplied_out
from energyc.proofs.claims.squares import squared, squares
from energyc.proofs.conservativeness.witness import Sample, sample_at, search_sizes
from energyc.proofs.enclosures.exact import Evaluation, Intervals
from energyc.proofs.enclosures.intervals import NoEnclosure
from energyc.proofs.enclosures.nodes import Enclosures
from energyc.proofs.fields.instances import used_dims
from energyc.proofs.fields.problem import ForceField, linearise
from energyc.proofs.fields.sampling import draw, in_floats

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
NOTHING = "no squares are seen to outweigh the rest, and no negative direction was found"


@dataclass(frozen=True)
class Squares:
    """The products of ``v . M v`` that are sums of squares, and whether ``all`` of them are."""

    vector: Input
    nodes: tuple[Node, ...]
    all: bool

    @property
    def because(self) -> str:
        """Why the form is nowhere negative, if it is."""
        alone = "a sum of squares with coefficients that are never negative"
        return alone if self.all else "what is added outweighs what is subtracted"


def positivity(
    matrix: ForceField,
    drawn: ForceField,
    at: Node | None,
    state: Node,
    about: tuple[str, ...],
    enclosures: Enclosures,
    kernel: Kernel,
) -> Judgement:
    """Whether a matrix is positive semidefinite; with ``at``, it is known to be the Jacobian of that by the state.

    ``drawn`` is the matrix by inputs whose draws are on the sets of the states; ``about`` names what it is of.
    """
    known = squares_in(matrix, enclosures)
    proof = Step("form", "v . M v >= 0 for all v", about=about, by=known)
    tree = kernel.shown("positive", proof)
    if isinstance(tree, str):
        return _negative_direction(drawn) or undecided(
            "no squares outweigh the rest, and no negative direction was met"
        )
    because = (None if at is None else _jacobian(at, state)) or known.because
    given = tree["statement"].get("given")
    condition = f"{' * '.join(given)} >= 0" if given else None
    proof = Step("form", proof.statement, about=about, by=known, tree=tree)
    return Judgement("proved", because, proof, condition=condition)


def _jacobian(at: Node, state: Node) -> str | None:
    """Why the Jacobian of a node by the state is positive semidefinite, where it is one of a known kind."""
    if at is state:
        return "it is the identity"
    for node in walk([at]):
        if isinstance(node, Softmax) and node.argument is state:
            return JACOBIANS["softmax"]
        if isinstance(node, Map) and node.argument is state and node.function.slope is None:
            return "its slope is never negative"
        for found in normalisers(node) if isinstance(node, Einsum) else ():
            if found.argument is state:
                return JACOBIANS[found.name]
    return None


# -------------------------------------------------------------------- forms


def _form(matrix: ForceField) -> Node:
    """``v . M v``."""
    (vector,) = matrix.states
    form = matrix.graph.product(vector, matrix.force[vector])
    return matrix.graph.sum(form, range(len(form.dims)))


def squares_in(matrix: ForceField, enclosures: Enclosures) -> Squares:
    """The terms of ``v . M v`` that are sums of squares with factors that are never negative."""
    products = multiplied_out(_form(matrix), matrix.structure)
    found = [_square_of(product, matrix, enclosures) for product in products or ()]
    known = tuple(square for square in found if square is not None)
    return Squares(matrix.states[0], known, products is not None and len(known) == len(found))


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
