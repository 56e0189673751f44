"""``energyc sample``: text from a trained language model, a character at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from energyc.data.characters import Characters
from energyc.diagnostics import Source, UserError
from energyc.pipeline import Choices, for_data, resolve
from energyc.resolve import Network
from energyc.runs import load_trained

if TYPE_CHECKING:
    import torch

FILLER = "\n"


@dataclass(frozen=True)
class LanguageModel:
    """Which clamp of a network takes characters, and which readout gives the logits of the next one at each place."""

    clamp: str
    readout: str
    context: int
    options: dict[str, Any]

    @staticmethod
    def of(network: Network) -> LanguageModel:
        """Raises UserError where the network is none: no clamp reads characters, or no readout gives their logits."""
        for name, clamp in network.clamps.items():
            binding = network.bindings[clamp.source[0]] if clamp.source else None
            if binding is not None and binding.adapter == Characters.name and clamp.node.over is not None:
                dims = (*clamp.node.dims, clamp.node.over)
                for answer, quantity in network.readouts.items():
                    if quantity.node.dims == dims:
                        return LanguageModel(name, answer, network.extents[dims[0]], for_data(binding.options))
        help_text = "a language model clamps characters, idx[T] : V, and reads out logits[t,w] over [T, V]"
        raise UserError(f"{network.name} is no language model", code="E0923", help=help_text)


def sample(run: Path, prompt: str, *, length: int, temperature: float, seed: int, device: str = "cpu") -> Iterator[str]:
    """The characters that follow a prompt, drawn one by one; temperature 0 takes the likeliest.

    The network sees the last characters that fit its context. A text that is shorter stands at its beginning, newlines
    after it, which a causal network does not see. Raises UserError, SpecError.
    """
    import torch

    from energyc.train.run import load_run

    model = LanguageModel.of(resolve(Source(str(run / "spec.energy"), load_run(run).spec)))
    characters = Characters()
    ids = [int(k) for k in characters.encode(prompt or FILLER, model.options)]
    filler = int(characters.encode(FILLER, model.options)[0])
    net = load_trained(run, Choices(), device=device)
    random = torch.Generator().manual_seed(seed)
    for _ in range(length):
        logits = _next_logits(net, model, ids, filler)
        ids.append(_drawn(logits, temperature, random))
        yield characters.decode(ids[-1:], model.options)


def _next_logits(net: Any, model: LanguageModel, ids: Sequence[int], filler: int) -> torch.Tensor:
    import torch

    seen = list(ids[-model.context :])
    window = seen + [filler] * (model.context - len(seen))
    clamps = {model.clamp: torch.tensor([window])}
    with torch.no_grad():
        states = net.relax(clamps).states
        logits = net.readout(states, clamps)[model.readout]
    found: torch.Tensor = logits[0, len(seen) - 1].double().cpu()
    return found


def _drawn(logits: torch.Tensor, temperature: float, random: torch.Generator) -> int:
    import torch

    if temperature == 0:
        return int(logits.argmax())
    return int(torch.multinomial(torch.softmax(logits / temperature, 0), 1, generator=random))
