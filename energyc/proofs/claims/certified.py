"""``relax.step = certified``: the step that is proved to converge fastest, by the bounds on the curvature."""

from __future__ import annotations

from dataclasses import replace

from energyc.language.diagnostics import Diagnostic, SpecError
from energyc.language.network import Layer, Network, Repeat
from energyc.proofs.claims.monotone import Monotone

CODE = "E0504"


def with_certified_steps(network: Network) -> Network:
    """The network with a number for each ``relax.step = certified``, its layers included.

    Raises SpecError E0504 where no step is proved to converge, with the part that forbids it.
    """
    blocks: list[Layer | Repeat] = []
    for block in network.blocks:
        layers = tuple(map(_certified_layer, block.layers if isinstance(block, Repeat) else (block,)))
        blocks.append(replace(block, layers=layers) if isinstance(block, Repeat) else layers[0])
    whole = replace(network, blocks=tuple(blocks))
    return _certified(whole, "") if network.relax.certified else whole


def _certified_layer(layer: Layer) -> Layer:
    certified = layer.network.relax.certified
    return replace(layer, network=_certified(layer.network, layer.name)) if certified else layer


def _certified(network: Network, layer: str) -> Network:
    monotone = Monotone.of(network)
    reason = monotone.barred or monotone.why_no_step
    if reason or network.relax.step_of:
        reason = reason or f"{', '.join(network.relax.step_of)} has a step of its own, by `step.STATE` or by `next`"
        about = f" of layer {layer}" if layer else ""
        message = f"no step{about} is certified: {reason}"
        help = "keep what is before states in sets, as `param W[J, J] ~ normal(0.1) in norm[0.9]`, or set a number"
        span = network.span_of_setting("step = certified")
        raise SpecError(network.source, [*network.warnings, Diagnostic(CODE, message, span, help=help)])
    best = monotone.bounds.best_step()
    assert best is not None
    return replace(network, relax=replace(network.relax, step=best[0]))
