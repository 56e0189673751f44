"""Formulas in the spec's notation are a spec again, and mean the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from energyc.derivation.notation import left_side, of_network
from energyc.language.diagnostics import Source
from energyc.language.network import Network
from energyc.language.resolve import resolve
from energyc.language.syntax import parse
from energyc.mathematics.ir import Input, Node, walk
from energyc.mathematics.ir.interpreter import evaluate
from energyc.resources import folder

SPECS = sorted(path.stem for path in folder("specs").glob("*.energy"))
SMALL = {
    "hopfield_conv": {"C": 2, "S": 16, "C1": 3, "C2": 4, "K": 3},
    "et_anomaly": {"N": 20, "E": 60, "D": 6, "Y": 4, "K": 5, "U": 3},
    "et_image": {"C": 1, "S": 16, "P": 4, "D": 6, "H": 2, "Y": 4, "K": 5},
}


def _resolved(text: str, name: str) -> Network:
    from energyc.running.data import find_adapter

    source = Source(name, text)
    tree = parse(source)
    sizes = SMALL.get(name)
    presets = {s.name.text for s in tree.statements if type(s).__name__ == "Preset"}
    preset = None if sizes or "verify" not in presets else "verify"
    sized = "vocabulary" in text
    schemas = (lambda adapter, options: find_adapter(adapter).schema(options)) if sized else None
    return resolve(tree, source, preset=preset, overrides=sizes, schemas=schemas)


def _inputs(roots: list[Node], sizes: dict[str, int], seed: int) -> dict[tuple[str, str], np.ndarray]:
    random = np.random.default_rng(seed)
    values: dict[tuple[str, str], np.ndarray] = {}
    found = {n for n in walk(roots) if isinstance(n, Input) and n.kind != "argument"}
    for node in sorted(found, key=lambda n: (n.kind, n.name)):
        shape = tuple(sizes[d] for d in node.dims)
        shape = (3, *shape) if node.batched else shape
        if node.over is not None:
            values[node.kind, node.name] = random.integers(0, sizes.get(node.over, 2), shape)
        else:
            values[node.kind, node.name] = random.normal(scale=0.1, size=shape)
    return values


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize("name", SPECS)
def test_every_equation_written_out_means_the_same(name: str) -> None:
    text = (folder("specs") / f"{name}.energy").read_text()
    network = _resolved(text, name)
    notation = of_network(network)
    answers = {**network.readouts, **network.metrics, **({network.cost.name: network.cost} if network.cost else {})}
    edits: list[tuple[int, int, str]] = []
    for quantity in [*network.lets.values(), *answers.values()]:
        span = quantity.tree.right.span
        edits.append((span.start, span.end, notation.text(quantity.node, quantity.indices)))
    for term in network.terms.values():
        start = term.tree.left.span.start if term.kind == "energy" else term.tree.right.span.start
        left = f"{term.name} = " if term.kind == "energy" else ""
        indices = () if term.kind == "energy" else term.indices
        right = notation.text(term.family if term.kind == "flow" else term.node, indices)
        if term.word == "next":  # its term is the way there
            right += f" + {left_side(term.name, indices)}"
        edits.append((start, term.tree.right.span.end, left + right))
    rewritten = text
    for start, end, new in sorted(edits, reverse=True):
        rewritten = rewritten[:start] + new + rewritten[end:]
    assert rewritten != text
    again = _resolved(rewritten, name)
    seed = np.random.SeedSequence().entropy % 2**32  # type: ignore[operator]
    print(f"seed {seed}")
    sizes = dict(network.extents)
    first = [t.node for t in network.terms.values()] + [q.node for q in answers.values()]
    again_answers = {**again.readouts, **again.metrics, **({again.cost.name: again.cost} if again.cost else {})}
    second = [t.node for t in again.terms.values()] + [q.node for q in again_answers.values()]
    values = _inputs(first, sizes, seed)
    for a, b in zip(
        evaluate(first, values, sizes=sizes, values=network.values),
        evaluate(second, values, sizes=sizes, values=again.values),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


def test_the_gallery_is_not_empty() -> None:
    assert len(SPECS) >= 6, Path("specs")
