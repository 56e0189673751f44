"""``energyc sample``: text from a trained language model, a character at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from energyc.language.diagnostics import UserError, arithmetic
from energyc.language.network import Network
from energyc.pipeline import emit, instantiate, training_dtype
from energyc.running.data.characters import Characters
from energyc.running.runs.saved import load_run

FILLER = "\n"
#: The largest relative change of the logits that another filler may cause by rounding.
CAUSAL = 1e-3


@dataclass(frozen=True)
class LanguageModel:
    """The clamp of a network that takes characters, and the readout with the logits of each next character."""

    clamp: str
    readout: str
    context: int
    options: dict[str, Any]

    @staticmethod
    def of(network: Network) -> LanguageModel:
        """Find clamp and readout. Raises UserError if no clamp reads characters, or no readout has their logits."""
        for name, clamp in network.clamps.items() if len(network.clamps) == 1 else ():
            binding = network.bindings[clamp.source[0]] if clamp.source else None
            if binding is not None and binding.adapter == Characters.name and clamp.node.over is not None:
                dims = (*clamp.node.dims, clamp.node.over)
                for readout, quantity in network.readouts.items():
                    if quantity.node.dims == dims:
                        return LanguageModel(name, readout, network.extents[dims[0]], dict(binding.options))
        help_text = "a language model clamps characters, idx[T] : V, and reads out logits[t,w] over [T, V]"
        raise UserError(f"{network.name} is not a language model", code="E0923", help=help_text)


@dataclass(frozen=True)
class Sample:
    """Characters, drawn one by one from the network at the checkpoint of ``step``."""

    step: int
    characters: Iterator[str]


def sample(
    run: Path,
    prompt: str,
    *,
    length: int,
    temperature: float,
    seed: int,
    device: str = "cpu",
    notify: Callable[[str], None] = lambda text: None,
) -> Sample:
    """Draw the characters that follow a prompt from the best checkpoint; temperature 0 takes the likeliest.

    The network sees the last characters that fit its context; a shorter text is padded with newlines, which a causal
    network ignores. An empty prompt counts as a newline. ``notify`` is called for each damaged checkpoint.
    Raises UserError (a run that is not a language model, a network that is not causal), SpecError.
    """
    network, net, step = _load(run, device, notify)
    model = LanguageModel.of(network)
    _refuse_looking_ahead(net, model, network.name)
    return Sample(step, _continuation(net, model, prompt or FILLER, length, temperature, seed))


def _load(run: Path, device: str, notify: Callable[[str], None]) -> tuple[Network, Any, int]:
    """Return the network of a run, compiled only to relax, with its best weights, and their step."""
    saved = load_run(run)
    network = saved.resolved()
    LanguageModel.of(network)
    net = instantiate(emit(network, []), device, training_dtype(network), saved.options.seed)
    step = saved.load_into(net, "best", notify).step
    return network, net.eval(), step


def _refuse_looking_ahead(net: Any, model: LanguageModel, name: str) -> None:
    """Raise UserError if later characters change the logits at a position."""
    first, second = (_next_logits(net, model, [0], filler, steps=net.relax_steps) for filler in (0, 1))
    if float((first - second).abs().max()) > CAUSAL * float(first.abs().max()):
        message = f"{name} is not causal: its answer at a place depends on the places behind it"
        raise UserError(message, code="E0923", help="guard what runs over places: softmax[s | s <= t], sum[s | s <= t]")


def _continuation(
    net: Any, model: LanguageModel, prompt: str, length: int, temperature: float, seed: int
) -> Iterator[str]:
    characters = Characters()
    ids = [int(k) for k in characters.encode(prompt, model.options)]
    filler = int(characters.encode(FILLER, model.options)[0])
    random = torch.Generator().manual_seed(seed)
    for _ in range(length):
        logits = _next_logits(net, model, ids, filler)
        ids.append(_draw(logits, temperature, random))
        yield characters.decode(ids[-1:], model.options)


def _next_logits(
    net: Any, model: LanguageModel, ids: Sequence[int], filler: int, steps: int | None = None
) -> torch.Tensor:
    context = list(ids[-model.context :])
    window = context + [filler] * (model.context - len(context))
    clamps = {model.clamp: torch.tensor([window])}
    with torch.no_grad(), arithmetic("the relaxation"):
        states = net.relax(clamps, steps=steps).states
        logits = net.readout(states, clamps)[model.readout]
    next_logits: torch.Tensor = logits[0, len(context) - 1].double().cpu()
    return next_logits


def _draw(logits: torch.Tensor, temperature: float, random: torch.Generator) -> int:
    if not bool(torch.isfinite(logits).all()):
        help_text = "energyc verify RUN --checkpoint best says whether and why the network does not settle"
        raise UserError("the answers are not finite: the relaxation exploded", code="E0923", help=help_text)
    if temperature == 0:
        return int(logits.argmax())
    weights = torch.softmax((logits - logits.max()) / temperature, 0)
    return int(torch.multinomial(weights, 1, generator=random))
