"""``energyc.load``: the network of a spec or of a run as a torch module, which shows itself in a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from energyc.pipeline import Choices
from energyc.running.runs.load import load as load_network
from energyc.surfaces.html.attach import attach


def load(
    spec_or_run: str | Path,
    *,
    dims: Mapping[str, int] | None = None,
    consts: Mapping[str, object] | None = None,
    preset: str | None = None,
    settings: Mapping[str, object] | None = None,
    target: str = "torch",
    device: str | torch.device = "cpu",
    dtype: torch.dtype | str | None = None,
    seed: int = 0,
    rules: Sequence[str] | None = None,
) -> Any:
    """Return the network of a spec (a path or text) or of a run, with trained weights, as a ``torch.nn.Module``.

    ``dims``, ``consts`` and ``settings`` override ``preset``, which overrides the spec; explicit dims never open data.
    ``rules`` are the rules of the module, by default all that this network admits. ``dtype`` is torch's default unless
    it is set, as ``"float64"`` or ``torch.float64``. ``seed`` draws the first weights, which a run has
    no need of. Raises SpecError, UserError.
    """
    choices = Choices.of(preset, dims, consts, settings)
    net, compiled = load_network(spec_or_run, choices, target, device=device, dtype=dtype, seed=seed, rules=rules)
    attach(net, compiled.network, compiled.classes)
    return net
