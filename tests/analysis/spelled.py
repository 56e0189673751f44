"""Force fields written as specs, so that all that reads a spec judges them."""

from __future__ import annotations

from collections.abc import Iterator

from energyc.derivation.notation import Notation, left_side
from energyc.derivation.notation.text import write
from energyc.language.diagnostics import Source
from energyc.language.network import Network
from energyc.mathematics.ir import Input
from energyc.pipeline import Choices, resolve
from energyc.proofs.conservativeness.certified import Symmetries
from energyc.proofs.conservativeness.classify import classify
from energyc.proofs.conservativeness.verdict import Kind
from energyc.proofs.fields.problem import ForceField


def spelled(field: ForceField) -> str:
    """The spec of a field: its states with a force each, and what these read."""
    notation = Notation({}, sizes=dict(field.sizes))
    lines = ["network spelled"]
    lines += [f"dim {', '.join(f'{dim} = {size}' for dim, size in field.sizes.items())}"] if field.sizes else []
    lines += [f"const {name} = {value!r}" for name, value in field.values.items() if name not in field.sizes]
    lines += [_declared(node) for node in field.inputs if node.kind != "flag"]
    forces = []
    for state, root in zip(field.states, field.roots, strict=True):
        indices = notation.indices(state)
        forces.append(
            f"force f_{state.name} on {left_side(state.name, indices)} = {write(notation.formula(root, indices))}"
        )
    return "\n".join([*lines, *forces, ""])


def _declared(node: Input) -> str:
    word = "state" if node.kind == "state" else "param" if node.kind == "param" else "clamp"
    over = f" : {node.over}" if node.over is not None else ""
    dims = f"[{', '.join(node.dims)}]" if node.dims else ""
    law = " ~ normal(1)" if word == "param" and node.dims else " = 1" if word == "param" else ""
    return f"{word} {node.name}{dims}{over}{law}"


def network_of(field: ForceField) -> Network:
    """The network of a field. Raises SpecError where the language has no form for it."""
    return resolve(Source("spelled.energy", spelled(field)), Choices())


def verdict_of(field: ForceField) -> Kind:
    """The class of a field, as of any spec."""
    return classify(network_of(field)).kind


def proofs_of(network: Network) -> Iterator[bool]:
    """Whether the kernel alone, without any numbers, proves the Jacobian of all forces symmetric: off jumps, across."""
    prover = Symmetries(network, network.tree).symmetric(list(network.forces))
    for jumps in (False, True):
        yield prover.proof([()], jumps).certificate is not None
