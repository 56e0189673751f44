"""The network around its layers: a plan of what goes into each block and of the answers, for autograd."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from energyc.code.plan.planner import Passes, Plan, plan
from energyc.code.plan.routines import Prepared, Signature, answers
from energyc.derivation.derive import Derivation, Output, Routine, derive
from energyc.language.network import Layer, Network, Repeat, State
from energyc.mathematics.ir import Input, Node

BLOCKS = "_blocks"


@dataclass(frozen=True)
class OuterNetwork:
    """The network around its layers: in the place of its states is what answers read of its blocks."""

    network: Network

    @property
    def values(self) -> dict[str, Input]:
        """The values that can be read after the blocks: states of repeats, and outputs of layers outside of them."""
        values: dict[str, Input] = {}
        for block in self.network.blocks:
            if isinstance(block, Repeat):
                values |= {name: stream.end for name, stream in block.streams.items()}
            else:
                values |= {f"{block.name}.{name}": node for name, node in block.outputs.items()}
        return values

    def as_network(self) -> Network:
        """A network with the values as states, whose answers are written like those of any other."""
        span = self.network.tree.name.span
        return replace(self.network, states={n: State(node, None, None, span) for n, node in self.values.items()})

    def planned(self, passes: Passes) -> tuple[Derivation, list[Prepared], Plan]:
        """The plan of the answers and of the blocks; nothing is written in place, and nothing is kept between calls."""
        network = self.as_network()
        derivation = derive(network)
        outputs = tuple(Output(key, node, False, wish) for key, node, wish in self._inputs())
        blocks = Prepared(Signature(BLOCKS, ("fixed",), "list", "", ()), Routine(BLOCKS, outputs))
        prepared = [blocks, *answers(derivation)]
        chosen = replace(passes, hoist=False)
        made = plan(
            network.graph,
            [p.routine for p in prepared],
            sizes=network.extents,
            names=derivation.names,
            passes=chosen,
            repeated=(),
        )
        return derivation, prepared, made

    def _inputs(self) -> Iterator[tuple[str, Node, str]]:
        """The inputs of the blocks, each with its key and its wished name."""
        for block in self.network.blocks:
            if isinstance(block, Repeat):
                for name, stream in block.streams.items():
                    yield start_key(name), stream.start, name
                    yield next_key(name), stream.next, f"next_{name}"
            for layer in block.layers if isinstance(block, Repeat) else (block,):
                yield from layer_inputs(layer)


def layer_inputs(layer: Layer) -> Iterator[tuple[str, Node, str]]:
    """The clamps and the params of a layer, each with its key, its node outside and its wished name."""
    for name, node in layer.clamps.items():
        yield clamp_key(layer, name), node, name
    for name, node in layer.params.items():
        yield param_key(layer, name), node, name


def start_key(stream: str) -> str:
    """The key of a stream's start."""
    return f"start {stream}"


def next_key(stream: str) -> str:
    """The key of a stream's next value."""
    return f"next {stream}"


def clamp_key(layer: Layer, name: str) -> str:
    """The key of a layer's clamp."""
    return f"clamp {layer.name} {name}"


def param_key(layer: Layer, name: str) -> str:
    """The key of a layer's param."""
    return f"param {layer.name} {name}"
