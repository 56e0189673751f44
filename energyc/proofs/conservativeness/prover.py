"""Proves that a Jacobian is symmetric: exchanging u and w leaves the normal form of u . J w unchanged.

The first stage keeps sums of states unexpanded, which is cheap and usually enough; later stages expand everything.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from energyc.mathematics.ir import ONE, Input, Node
from energyc.proofs.conservativeness.certificate import AtomEntry, Certificate, FactorEntry, TermEntry
from energyc.proofs.enclosures.impulses import with_impulses, without_impulses
from energyc.proofs.fields.domain import jumps
from energyc.proofs.fields.problem import ForceField, fork, linearise, transparent
from energyc.proofs.fields.sizes import Sizes, pinned_sizes, square_dims, with_sets_at, written_sizes
from energyc.proofs.normal_form.budget import Budget, OverBudget, out_of_time
from energyc.proofs.normal_form.canonical import Factor
from energyc.proofs.normal_form.normal import Collected, Normaliser, Sum
from energyc.proofs.normal_form.unify import unified

TERMS = 60_000
SECONDS = 0.8


@dataclass(frozen=True)
class Stage:
    """A proof strategy: whether to expand sums of states, unify functions, and differentiate jumps.

    It is at the ``pinned`` sizes; of the ``square`` dims among them it uses only that orthogonal params are square.
    """

    name: str
    keep_sums: bool
    unified: bool = False
    impulses: bool = False
    pinned: Sizes = ()
    square: tuple[str, ...] = ()

    def at(self, pinned: Sizes) -> Stage:
        """The stage at these sizes too."""
        fixed = {dim for dim, _ in pinned}
        sizes = tuple(dict.fromkeys((*self.pinned, *pinned)))
        return replace(self, pinned=sizes, square=tuple(dim for dim in self.square if dim not in fixed))

    def __str__(self) -> str:
        across = ", across jumps" if self.impulses else ""
        return self.name + across + (f", at {written_sizes(self.pinned)}" if self.pinned else "")


STAGES = (
    Stage("sums left whole", True),
    Stage("multiplied out", False),
    Stage("functions rewritten", True, unified=True),
    Stage("functions rewritten and multiplied out", False, unified=True),
)


@dataclass(frozen=True)
class Attempt:
    """A certificate, or None; ``outcome`` describes the attempt in a sentence."""

    certificate: Certificate | None
    outcome: str


def prove(field: ForceField, seconds: float = SECONDS) -> list[Attempt]:
    """One attempt for each stage until one succeeds, the stages across jumps first.

    ``seconds`` limit one attempt, three times as many all of them. The graph of the field is not modified.
    """
    attempts: list[Attempt] = []
    deadline = time.process_time() + 3 * seconds
    for stage in _stages(field):
        available = min(seconds, deadline - time.process_time())
        if not attempts or available > 0:
            at = replace(with_sets_at(field, stage.pinned), graph=fork(field.graph))
            attempts.append(_try_stage(at, stage, available))
        else:
            out_of_time("a proof")
        if attempts[-1].certificate:
            break
    return attempts


def _stages(field: ForceField) -> Sequence[Stage]:
    jumping = jumps(field.roots, field.states)
    pinned = pinned_sizes(field)
    at_all_sizes = [*([replace(stage, impulses=True) for stage in STAGES] if jumping else []), *STAGES]
    square = tuple((dim, field.sizes[dim]) for dim in square_dims(field))
    if square:
        dims = tuple(dim for dim, _ in square)
        at_all_sizes += [replace(stage, pinned=square, square=dims) for stage in at_all_sizes]
    whole = [stage for stage in at_all_sizes if not stage.keep_sums]
    return [*at_all_sizes, *(stage.at(pinned) for stage in whole if pinned)]


def _try_stage(field: ForceField, stage: Stage, seconds: float) -> Attempt:
    try:
        bilinear = Bilinear.of(field, stage)
        normaliser = normaliser_of(bilinear, stage, seconds)
        terms, _ = normaliser.sum_of(bilinear.node)
        pairs = _mirror_pairs(normaliser, terms, bilinear)
    except OverBudget as over:
        return Attempt(None, f"proof with {stage}: {over}")
    except RecursionError:
        return Attempt(None, f"proof with {stage}: nested too deep")
    except NotImplementedError as missing:
        return Attempt(None, f"proof with {stage}: {missing}")
    if pairs is None:
        return Attempt(None, f"proof with {stage}: u . J w has {len(terms)} terms that do not mirror one another")
    return Attempt(
        _certificate(normaliser, bilinear, terms, pairs, stage),
        f"proof with {stage}: {len(terms)} terms mirror one another",
    )


def normaliser_of(bilinear: Bilinear, stage: Stage, seconds: float) -> Normaliser:
    """Brings a bilinear form to normal form in a stage."""
    return Normaliser(
        bilinear.field.graph,
        Budget(TERMS, seconds),
        keep_sums=stage.keep_sums,
        directions=frozenset((*bilinear.u, *bilinear.w)),
        structure=bilinear.field.structure,
        pinned={dim: size for dim, size in stage.pinned if dim not in stage.square},
        divide=stage.unified and not stage.keep_sums,
    )


@dataclass(frozen=True)
class Bilinear:
    """``u . J w`` as a node without dims, with the inputs u and w for each state."""

    field: ForceField
    u: tuple[Input, ...]
    w: tuple[Input, ...]
    node: Node

    @staticmethod
    def of(field: ForceField, stage: Stage) -> Bilinear:
        """The bilinear form of a field, rewritten for a stage."""
        graph = field.graph
        linear = linearise(_with_impulses(field) if stage.impulses else field)
        u = tuple(graph.input(f"u.{state.name}", "direction", state.dims) for state in field.states)
        terms = []
        for direction, moved in zip(u, linear.moved, strict=True):
            rewritten = without_impulses(graph, moved) if stage.impulses else moved
            rewritten = unified(graph, rewritten) if stage.unified else rewritten
            axes = range(len(direction.dims))
            terms.append(
                (ONE, graph.einsum(ONE, [(direction, axes), (rewritten, axes)], dict(enumerate(direction.dims)), ()))
            )
        return Bilinear(field, u, linear.directions, graph.add(terms, ()))


def _with_impulses(field: ForceField) -> ForceField:
    roots = {state: transparent(field.graph, force) for state, force in field.force.items()}
    return field.with_force({state: with_impulses(field.graph, root) for state, root in roots.items()})


@dataclass(frozen=True)
class _Pair:
    mirror: int
    renaming: tuple[tuple[int, int], ...]


def _mirror_pairs(normaliser: Normaliser, terms: Sum, bilinear: Bilinear) -> list[_Pair] | None:
    """The mirror image of each term, or None if one is missing or has another coefficient."""
    exchange = _exchanged_atoms(normaliser, bilinear)
    places = {key: k for k, key in enumerate(terms)}
    pairs = []
    for (_, powers), term in terms.items():
        exchanged = tuple(Factor(exchange.get(f.atom, f.atom), f.labels, f.exponent) for f in term.monomial.factors)
        form = normaliser.form(exchanged, {})
        other = terms.get((form.key, powers))
        value = term.monomial.coefficient.value * term.form.sign * form.sign
        if other is None or other.monomial.coefficient.value != value:
            return None
        renaming = tuple(zip(form.order, other.form.order, strict=True))
        pairs.append(_Pair(places[form.key, powers], renaming))
    return pairs


def _exchanged_atoms(normaliser: Normaliser, bilinear: Bilinear) -> Mapping[int, int]:
    numbers = {}
    for u, w in zip(bilinear.u, bilinear.w, strict=True):
        a, b = normaliser.reading(u).atom.number, normaliser.reading(w).atom.number
        numbers[a], numbers[b] = b, a
    return numbers


def _certificate(
    normaliser: Normaliser, bilinear: Bilinear, terms_by_key: Sum, pairs: list[_Pair], stage: Stage
) -> Certificate:
    atoms = tuple(AtomEntry(a.node, a.order, a.scale, a.symmetries) for a in normaliser.table.atoms)
    terms = tuple(_term_entry(normaliser, term, pair) for term, pair in zip(terms_by_key.values(), pairs, strict=True))
    left = tuple(normaliser.reading(u).atom.number for u in bilinear.u)
    right = tuple(normaliser.reading(w).atom.number for w in bilinear.w)
    ends = (bilinear.u, bilinear.w, left, right)
    return Certificate(bilinear.field, *ends, atoms, terms, stage.impulses, stage.pinned, stage.square)


def _term_entry(normaliser: Normaliser, term: Collected, pair: _Pair) -> TermEntry:
    factors = tuple(FactorEntry(f.atom, f.labels, f.exponent) for f in term.monomial.factors)
    coefficient = term.monomial.coefficient.scaled(term.form.sign)
    dims = tuple((a, normaliser.dims[a]) for a in sorted(term.monomial.labels))
    return TermEntry(coefficient, factors, dims, pair.mirror, pair.renaming)
