"""Specs resolved and evaluated in the tests of this folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from energyc.language.diagnostics import Diagnostic, Source, SpecError
from energyc.language.network import Network
from energyc.language.resolve import resolve
from energyc.language.syntax import parse
from energyc.mathematics.ir import Input, Node
from energyc.mathematics.ir.interpreter import evaluate
from energyc.running.data import find_adapter
from tests.ir.verify import verify

SPECS = Path(__file__).parents[2] / "specs"
BATCH = 2


def schemas(name: str, options: Mapping[str, Any]) -> Any:
    """The schemas of the adapters that come with the compiler."""
    return find_adapter(name).schema(options)


def network(text: str, *, preset: str | None = None, **overrides: object) -> Network:
    """The network of a text."""
    source = Source("spec.energy", text if text.lstrip().startswith(("#", "network")) else "network test\n" + text)
    return resolve(parse(source), source, preset=preset, overrides=overrides, schemas=schemas)


def shipped(name: str, **overrides: object) -> Network:
    """The network of a shipped spec."""
    source = Source(f"{name}.energy", (SPECS / f"{name}.energy").read_text(encoding="utf-8"))
    return resolve(parse(source), source, overrides=overrides, schemas=schemas)


def findings(text: str, **overrides: object) -> tuple[Diagnostic, ...]:
    """The diagnostics that a wrong text is answered with."""
    try:
        return network(text, **overrides).warnings
    except SpecError as error:
        return error.diagnostics


def codes(text: str, **overrides: object) -> list[str]:
    """The codes of the findings."""
    return [diagnostic.code for diagnostic in findings(text, **overrides)]


def inputs(net: Network, seed: int = 0) -> dict[str, Any]:
    """Random values for every input: clamps, targets and states with a batch axis."""
    rng = np.random.default_rng(seed)
    values: dict[str, Any] = {}
    for node in [
        *(d.node for d in net.clamps.values()),
        *(d.node for d in net.targets.values()),
        *(s.node for s in net.states.values()),
    ]:
        values[node.name] = _value(rng, net, node, (BATCH,))
    for param in net.params.values():
        values[param.node.name] = _value(rng, net, param.node, ())
    return values


def _value(rng: np.random.Generator, net: Network, node: Input, batch: tuple[int, ...]) -> Any:
    shape = (*batch, *(net.extents[dim] for dim in node.dims))
    if node.over is not None:
        return rng.integers(0, net.extents[node.over], shape)
    return rng.normal(size=shape)


def value(net: Network, node: Node, values: Mapping[str, Any]) -> Any:
    """The value of a node for these inputs; the node is legal."""
    verify([node])
    return evaluate([node], values, sizes=net.extents, values=net.values)[0]
