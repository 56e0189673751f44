"""Writes the proofs of a network as certificates: statement, the spec's own formulas, steps (docs/certificates.md)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from energyc.checker.judge import ON_SETS, QUANTIFIERS
from energyc.derivation.notation import Notation, left_side, of_network
from energyc.derivation.notation.text import number, write
from energyc.language.network import Network
from energyc.language.syntax import ast
from energyc.mathematics.calculus import gradient
from energyc.mathematics.ir import Add, Einsum, Graph, Input, Map, Node
from energyc.proofs.claims.classes import Claim
from energyc.proofs.conservativeness.certificate import Certificate, TermEntry
from energyc.proofs.conservativeness.classify import Classification, field_from, surfaces_of
from energyc.proofs.conservativeness.descent import Descent
from energyc.proofs.conservativeness.verdict import Verdict
from energyc.proofs.enclosures.impulses import IMPULSE
from energyc.proofs.fields.problem import field_of
from energyc.proofs.fields.sizes import Sizes
from energyc.proofs.fields.surfaces import Surface
from energyc.proofs.verdicts.formulas import Equations, formulas_of

Json = dict[str, Any]
#: A certificate, or the reason why there is none.
Written = Json | str
OTHER_KIND = "the format has no rule tree of this claim yet"


@dataclass(frozen=True)
class Writer:
    """Writes the proofs of a network, or of one that is a ``layer`` of the spec whose tree is given."""

    network: Network
    tree: ast.Spec
    layer: str | None = None

    @property
    def where(self) -> str:
        """What stands before a claim."""
        return f"layer {self.layer}: " if self.layer else ""

    @cached_property
    def notation(self) -> Notation:
        """How the network's nodes are written."""
        return of_network(self.network)

    @cached_property
    def equations(self) -> Equations:
        """What the text of the spec defines."""
        return Equations.of(self.tree, self.layer)

    @cached_property
    def graph(self) -> Graph:
        """A fork of the network's graph."""
        return field_from(self.network).graph

    def _entry(
        self,
        kind: str,
        of: Sequence[str] | str,
        by: Sequence[str],
        steps: list[Json],
        sizes: Sizes = (),
        on: str = QUANTIFIERS,
    ) -> Json:
        statement = {"kind": kind, "of": of, "by": [*by], "layer": self.layer, "sizes": dict(sizes), "for": on}
        read = [of] if isinstance(of, str) else of
        written = re.findall(r"[A-Za-z_]\w*", str(steps))
        return {"statement": statement, "formulas": formulas_of(self.equations, read, written), "steps": steps}

    def _text(self, node: Node, indices: Sequence[str] = ()) -> str:
        return write(self.notation.formula(node, indices))

    # ------------------------------------------------------------ classes

    def classes(self, classification: Classification) -> Iterator[tuple[tuple[str, ...], str, Written]]:
        """The forces, and the sums of them, that are proved to be gradients; the claims, and their proofs."""
        for name, verdict in classification.terms.items():
            if verdict.kind == "conservative" and self.network.terms[name].kind != "energy":
                yield (name,), f"{name}: conservative", self._force(classification, (name,), verdict)
        together = classification.together
        sums = [(part.terms, part.verdict) for part in together.parts] if together is not None else []
        for terms, verdict in [(together.terms, together.verdict), *sums] if together is not None else []:
            if verdict.kind == "conservative" and len(terms) > 1:
                yield terms, f"{', '.join(terms)}: conservative", self._force(classification, terms, verdict)

    def energies(self, classification: Classification) -> Iterator[tuple[str, Json]]:
        """The energies, whose forces are derived from them."""
        for name, verdict in classification.terms.items():
            if verdict.kind == "conservative" and self.network.terms[name].kind == "energy":
                yield from self._energy(name, classification)

    def _energy(self, name: str, classification: Classification) -> Iterator[tuple[str, Json]]:
        """That the derived force of an energy is minus its slope by each state, or by what a flow takes it by."""
        term, graph = self.network.terms[name], self.graph
        if name in self.network.acting:
            forces = [(s.name, s, force) for s, force in classification.forces[name].items()]
            yield (
                f"{name}: minus its slopes by {', '.join(f[0] for f in forces)} are its force",
                self._slopes(name, forces),
            )
            return
        slopes = (slope for flow in self.network.flows.values() for slope in flow.slopes if name in slope.energies)
        for by, at in {slope.by: slope.at for slope in slopes}.items():
            slope = gradient(graph, term.node, [at], frozen=False, strict=False)
            force = graph.scale(-1, slope.get(at, graph.zero(at.dims)))
            yield f"{name}: its slope by {by}", self._slopes(name, [(by, at, force)])

    def _slopes(self, name: str, forces: Sequence[tuple[str, Node, Node]]) -> Json:
        steps = []
        for by, at, force in forces:
            indices = self.notation.indices(at)
            steps.append({"rule": "slope", "force": left_side(by, indices), "is": self._text(force, indices)})
        return self._entry("gradient", [name], [by for by, _, _ in forces], steps)

    def _force(self, classification: Classification, names: Sequence[str], verdict: Verdict) -> Written:
        """That forces are the gradient of a potential, or their Jacobian is symmetric."""
        states = list(self.network.states)
        if verdict.in_charts:
            return "it is proved in coordinates of the set of its states alone"
        if all(self.network.terms[name].kind == "energy" for name in names):
            return "it is a sum of energies"
        if verdict.potential is not None:
            potential = {"rule": "potential", "energy": self._text(verdict.potential)}
            return self._entry("gradient", list(names), states, [potential])
        if verdict.certificate is None:
            return "it is a sum of proofs"
        steps = [*self._normal(classification, names)] if verdict.on_set else []
        steps += self._symmetry(verdict.certificate, {})
        on = ON_SETS if verdict.on_set else QUANTIFIERS
        return self._entry("symmetric", list(names), states, steps, verdict.pinned, on)

    def _normal(self, classification: Classification, names: Sequence[str]) -> Iterator[Json]:
        """What is normal to the set of a state in the forces on it: a number times the state, and one added."""
        surfaces = surfaces_of(self.network)
        field = field_of(field_from(self.network), [f for name in names for f in classification.forces[name].items()])
        for state, root in field.force.items():
            if (surface := surfaces.get(state)) is None:
                continue
            indices = self.notation.indices(state)
            parts = [
                part
                for factor, term in surface.split(field.graph, root, state)[0]
                for part in self._parts(term, state, surface, indices, number(factor))
            ]
            yield {"rule": "normal", "force": left_side(state.name, indices)} | {
                which: " + ".join(text for kind, text in parts if kind == which) or "0" for which in ("offset", "scale")
            }

    def _parts(
        self, term: Node, state: Input, surface: Surface, indices: Sequence[str], factor: str
    ) -> Iterator[tuple[str, str]]:
        """The terms of what is normal to a set, each an ``offset`` or the ``scale`` of the state."""
        varying = surface.varying(term)
        if term is state:
            yield "scale", factor
        elif isinstance(term, Add):
            for coefficient, node in term.terms:
                yield from self._parts(node, state, surface, indices, f"{factor} * ({number(coefficient)})")
        elif isinstance(term, Einsum) and varying:
            held = [(o.node, o.axes) for o in term.operands if o is not varying[0]]
            scale = self.graph.einsum(term.coefficient, held, dict(enumerate(term.labels)), term.out)
            inner = f"{factor} * ({self._text(scale, indices)})"
            yield from self._parts(varying[0].node, state, surface, indices, inner)
        else:
            yield "offset", f"{factor} * ({self._text(term, indices)})"

    # ------------------------------------------------------------ claims

    def claims(self, classification: Classification, claims: Iterable[Claim]) -> Iterator[tuple[Claim, Written | None]]:
        """The claims beside the classes, with the proofs of those that are proved, but for rule trees."""
        flows = self.network.flows
        metrics = {f"{d.metric} of {flows[d.state].word} {d.state}": d for d in classification.descents.values()}
        for claim in claims:
            symmetric = claim.claim == "symmetric"
            metric = self._metric(metrics[claim.about]) if symmetric and claim.about in metrics else None
            matrix = self._matrix(claim.about) if symmetric and claim.about not in metrics else None
            scaled = self._scaled(classification, claim.numbers["factors"]) if "factors" in claim.numbers else None
            yield claim, (metric or matrix or scaled or OTHER_KIND) if claim.verdict == "proved" else None

    def _scaled(self, classification: Classification, factors: Mapping[str, str]) -> Json | None:
        """That the forces, those on some states divided by factors, are one gradient."""
        verdict = classification.scales.verdict if classification.scales is not None else None
        if verdict is None or verdict.certificate is None or verdict.on_set:
            return None
        states, steps = [*self.network.states], self._symmetry(verdict.certificate, {})
        entry = self._entry("scaled", [*classification.terms], states, steps, verdict.pinned, ON_SETS)
        nodes = {name: self.network.states[name].node for name in factors}
        written = {left_side(name, self.notation.indices(nodes[name])): text for name, text in factors.items()}
        return {**entry, "statement": {**entry["statement"], "factors": written}}

    def _metric(self, descent: Descent) -> Json | None:
        """That the matrix of a flow along a gradient is symmetric; if P is a number, the Jacobian of a let."""
        certificate = descent.symmetric.certificate
        if certificate is None:
            return None
        by = descent.state if descent.plain else descent.by
        (vector,) = descent.matrix.states
        steps = self._symmetry(certificate, {f"{way}.{vector.name}": f"{way}.{by}" for way in "uw"})
        kind, of = ("symmetric", descent.by) if descent.plain else ("metric", descent.state)
        return self._entry(kind, of, [by], steps, certificate.pinned)

    def _matrix(self, about: str) -> Json | None:
        """That exchanging two indices of a let leaves it as it is."""
        name = about.partition(" in ")[0]
        let = self.network.lets[name]
        twice = [k for k, dim in enumerate(let.node.dims) if let.node.dims.count(dim) == 2]
        if len(twice) != 2:
            return None
        steps: list[Json] = [{"rule": "expansion", "terms": [self._text(let.node, let.indices)]}]
        return self._entry(
            "matrix", name, [let.indices[k] for k in twice], [*steps, {"rule": "mirror", "pairs": [[0, 0]]}]
        )

    # ------------------------------------------------------------ symmetry

    def _symmetry(self, certificate: Certificate, names: Mapping[str, str]) -> list[Json]:
        """The terms of ``u . J w`` and their pairs, without those that are 0 off jumps; inputs under other names."""
        places = [k for k, term in enumerate(certificate.terms) if not _is_impulse(certificate, term)]
        terms = [self._product(certificate, certificate.terms[k], names) for k in places]
        mirrors = [places.index(certificate.terms[k].mirror) for k in places]
        pairs = [[k, mirror] for k, mirror in enumerate(mirrors) if k <= mirror]
        return [{"rule": "expansion", "terms": terms}, {"rule": "mirror", "pairs": pairs}]

    def _product(self, certificate: Certificate, term: TermEntry, names: Mapping[str, str]) -> str:
        """A term: its coefficient times its factors, summed over its labels."""
        labels: dict[int, str] = {}
        for label, dim in term.dims:
            labels[label] = self.notation.free_indices.fresh(dim, list(labels.values()))
        sign = "-" if term.coefficient.value < 0 else ""
        factors = [sign + number(term.coefficient.scaled(-1) if sign else term.coefficient)]
        for f in term.factors:
            atom = certificate.atoms[f.atom]
            places = dict(zip(atom.order, (labels[label] for label in f.labels), strict=True))
            text = self._atom(atom.node, [places[k] for k in range(len(places))], names)
            text = text if atom.scale == 1 else f"({text}) / ({atom.scale})"
            factors.append(f"({text})" if f.exponent == 1 else f"({text})^({f.exponent})")
        bound = ", ".join(f"{labels[label]} in {dim}" for label, dim in term.dims)
        return f"sum[{bound}]({' * '.join(factors)})" if bound else " * ".join(factors)

    def _atom(self, node: Node, indices: Sequence[str], names: Mapping[str, str]) -> str:
        return (
            left_side(names.get(node.name, node.name), indices)
            if isinstance(node, Input)
            else self._text(node, indices)
        )


def _is_impulse(certificate: Certificate, term: TermEntry) -> bool:
    nodes = (certificate.atoms[f.atom].node for f in term.factors)
    return any(isinstance(node, Map) and node.function.name == IMPULSE for node in nodes)
