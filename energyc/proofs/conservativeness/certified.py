"""Asks the kernel for proofs that forces are gradients, and writes them as certificates (docs/certificates.md)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from energyc.checker.algebra import TooLong, limited, new_index, number
from energyc.checker.case import Refused
from energyc.checker.formulas import Formulas
from energyc.checker.judge import Gradient
from energyc.checker.symmetry import ON_SETS, QUANTIFIERS, Symmetry, symmetries
from energyc.checker.syntax import NotCovered, expression, read_spec
from energyc.derivation.notation import Notation, left_side, of_network
from energyc.derivation.notation.text import write
from energyc.language.network import Network
from energyc.language.syntax import ast
from energyc.mathematics.ir import Node, NoRule
from energyc.proofs.conservativeness.formulas import Equations, formulas_of
from energyc.proofs.conservativeness.verdict import Tie
from energyc.proofs.fields.sizes import Sizes, written_sizes

Json = dict[str, Any]
#: What is raised where a spec has something that the kernel does not cover, or a statement does not hold.
OBSTACLES = (NotCovered, Refused, NoRule, ArithmeticError, LookupError, RecursionError, ValueError, AttributeError)


class Proof(NamedTuple):
    """A certificate that the kernel accepts, or None, and the ``outcome`` of the attempt in a sentence.

    ``across`` jumps: their impulses are part of what is symmetric. ``tangent``: it holds along the sets alone.
    ``is_long``: it takes too many steps.
    """

    certificate: Json | None
    outcome: str
    across: bool = False
    tangent: bool = False
    is_long: bool = False


EVERYWHERE, BOTH = (QUANTIFIERS,), (QUANTIFIERS, ON_SETS)
#: The share of the steps of a case that a proof of symmetry may take, some two seconds.
SHARE = 1 / 2


@dataclass(frozen=True)
class Prover:
    """Asks the ``kernel`` whether a force, a let or the matrix of a flow is symmetric; params may be tied."""

    kernel: Symmetries
    kind: str
    of: Sequence[str] | str
    by: Sequence[str]
    ties: tuple[Tie, ...] = ()

    def proof(self, sizes: Sequence[Sizes], jumps: bool, quantifiers: Sequence[str] = BOTH) -> Proof:
        """The first certificate that the kernel accepts: at all sizes, across jumps, everywhere, before others."""
        try:
            judge = self.kernel.judge(self.ties)
        except OBSTACLES as reason:
            return Proof(None, f"proof: {reason}")
        proof = None
        about: Json = {"kind": self.kind, "of": self.of, "by": [*self.by], "layer": self.kernel.layer}
        for at in sizes:
            for across in (True, False) if jumps else (False,):
                for on in quantifiers if self.kind == "symmetric" else EVERYWHERE:
                    statement = {**about, "sizes": dict(at), "for": on}
                    statement |= {"across": across} if self.kind == "symmetric" else {}
                    found = self.kernel.judged(judge, statement)
                    if found.certificate is not None:
                        return found
                    proof = proof or found
                    if found.is_long:
                        return proof
        assert proof is not None
        return proof

    def potential(self, energy: Node) -> Json | None:
        """The certificate that forces are minus the gradient of an energy, where the kernel accepts one."""
        if self.kind != "symmetric" or isinstance(self.of, str) or self.ties:
            return None
        return self.kernel.potential(self.of, self.by, energy)

    def tied(self, ties: Sequence[Tie]) -> Prover:
        """The same with params tied."""
        return replace(self, ties=tuple(ties))


@dataclass(frozen=True)
class Symmetries:
    """The kernel beside the text of a network, or of one that is a ``layer`` of the spec whose tree is given."""

    network: Network
    tree: ast.Spec
    layer: str | None = None

    @cached_property
    def notation(self) -> Notation:
        """How the network's nodes are written."""
        return of_network(self.network)

    @cached_property
    def equations(self) -> Equations:
        """What the text of the spec defines."""
        return Equations.of(self.tree, self.layer)

    @property
    def text(self) -> str:
        """The text of the spec."""
        return self.network.source.text

    @cached_property
    def consts(self) -> dict[str, str]:
        """The consts that are set from outside, with their values."""
        try:
            spec = read_spec(self.text, self.layer)
            formulas = Formulas(spec, (), ())
        except NotCovered:
            return {}
        values = {name: value for name, value in self.network.fractions.items() if name in spec["consts"]}
        consts = {name: value for name, value in values.items() if spec["consts"][name].word == "const"}
        return {name: str(value) for name, value in consts.items() if formulas.exact(spec["consts"][name]) != value}

    @staticmethod
    def of(network: Network) -> Symmetries:
        """Those of a network, or of a layer, which is named as it is and has the tree of the whole."""
        own = network.name != network.tree.name.text
        return Symmetries(network, network.tree, network.name if own else None)

    # ------------------------------------------------------------ selections

    def vanishes(self, gap: Node) -> bool:
        """Whether a node is 0 for all values of what it reads."""
        try:
            with limited():
                own, indices = self.judge(), self.notation.indices(gap)
                scope = {name: new_index(dim) for name, dim in zip(indices, gap.dims, strict=True)}
                own.equal(own.formulas.value(expression(self._text(gap, indices)), scope), number(0), "it is not 0")
        except OBSTACLES:
            return False
        return True

    # ------------------------------------------------------------ symmetries

    def symmetric(self, names: Sequence[str]) -> Prover:
        """Asks for the Jacobian of the sum of forces by all states."""
        return Prover(self, "symmetric", [*names], [*self.network.states])

    def along(self, name: str, by: str) -> Prover:
        """Asks for the Jacobian of a let by a state, or of a flow by a let."""
        return Prover(self, "symmetric", name, [by])

    def metric(self, flow: str, by: str) -> Prover:
        """Asks for ``(dg/dx) P`` of a flow ``-P grad(E, g)``."""
        return Prover(self, "metric", flow, [by])

    def matrix(self, let: str, by: Sequence[str]) -> Prover:
        """Asks for a let by two of its indices."""
        return Prover(self, "matrix", let, by)

    def judge(self, ties: Sequence[Tie] = ()) -> Symmetry:
        """The kernel's reading of the spec, with params tied. Raises one of the OBSTACLES."""
        return symmetries(self.layer, self.text, tuple(self.consts.items()), tuple(map(self._tie, ties)))

    def _tie(self, tie: Tie) -> tuple[str, str]:
        """The two sides of a tie; that of a param with itself is to its symmetric part."""
        indices = self.notation.indices(self.network.params[tie.target].node)
        turned = [indices[tie.axes.index(k)] for k in range(len(indices))]
        left = left_side(tie.target, indices)
        if tie.source != tie.target:
            return left, left_side(tie.source, turned)
        return left, " + ".join(f"1/2 * {left_side(f'free_{tie.source}', at)}" for at in (indices, turned))

    def judged(self, judge: Symmetry, statement: Json) -> Proof:
        """The certificate of a statement, if it holds."""
        at = f" at {written_sizes(statement['sizes'].items())}" if statement["sizes"] else ""
        across = ", across jumps" if statement.get("across") else ""
        about = f"proof by exchanging two directions{across}{at}"
        try:
            with limited(SHARE):
                _, tangent = judge.check(statement)
        except OBSTACLES as reason:
            return Proof(None, f"{about}: {reason}", is_long=isinstance(reason, TooLong))
        return Proof(self._entry(statement), f"{about}: the form stays the same", bool(across), tangent)

    def potential(self, names: Sequence[str], by: Sequence[str], energy: Node) -> Json | None:
        """The certificate that forces are minus the gradient of an energy, everywhere or on sets."""
        try:
            steps = [{"rule": "potential", "energy": self._text(energy)}]
        except OBSTACLES:
            return None
        found = (self._gradient(names, by, steps, on) for on in BOTH)
        return next((entry for entry in found if not isinstance(entry, str)), None)

    def slopes(self, name: str, forces: Sequence[tuple[str, Node, Node]]) -> Json | str:
        """The certificate that forces are minus the slopes of an energy by what is named, or why there is none."""
        steps = []
        for by, at, force in forces:
            indices = self.notation.indices(at)
            steps.append({"rule": "slope", "force": left_side(by, indices), "is": self._text(force, indices)})
        return self._gradient([name], [by for by, _, _ in forces], steps, QUANTIFIERS)

    def _gradient(self, names: Sequence[str], by: Sequence[str], steps: list[Json], on: str) -> Json | str:
        """A certificate that the kernel accepts, or its reason against it."""
        statement: Json = {"kind": "gradient", "of": [*names], "by": [*by], "layer": self.layer, "sizes": {}, "for": on}
        entry = self._entry(statement, steps)
        try:
            with limited():
                Gradient(entry, self.text, self.consts).check()
        except OBSTACLES as reason:
            return f"the checker answers {'no' if isinstance(reason, Refused) else 'not covered'}: {reason}"
        return entry

    def _entry(self, statement: Json, steps: Sequence[Json] = ()) -> Json:
        of = statement["of"]
        written = [*re.findall(r"[A-Za-z_]\w*", str(steps)), *(n for n in statement["by"] if n in self.network.lets)]
        formulas = formulas_of(self.equations, [of] if isinstance(of, str) else of, written)
        return {"statement": statement, "formulas": formulas, "steps": [*steps]}

    def _text(self, node: Node, indices: Sequence[str] = ()) -> str:
        return write(self.notation.formula(node, indices))
