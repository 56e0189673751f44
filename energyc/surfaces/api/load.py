"""``energyc.load``: the network of a spec or of a run as a torch module, which shows itself in a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from energyc.collection import rarely_collected
from energyc.pipeline import Choices
from energyc.running.runs.load import load as load_network
from energyc.surfaces.html.attach import attach


@rarely_collected()
def load(
    spec_or_run: str | Path,
    *,
    dims: Mapping[str, int] | None = None,
    consts: Mapping[str, object] | None = None,
    preset: str | None = None,
    settings: Mapping[str, object] | None = None,
    target: str | None = None,
    device: str | torch.device = "cpu",
    dtype: torch.dtype | str | None = None,
    seed: int = 0,
    rules: Sequence[str] | None = None,
) -> Any:
    """Return the network of a spec (a path or text) or of a run, with trained weights, as a ``torch.nn.Module``.

    ``dims``, ``consts`` and ``settings`` override ``preset``, which overrides the spec; explicit dims never open data.
    ``target`` is a target by name, or ``auto``: kernels in C++ on the CPU where they can be built, else torch
    operations. By default it is ``ENERGYC_TARGET`` or ``auto``; of a run trained by torch operations, ``torch``. A line
    on a terminal or in a notebook tells of kernels that were built, once, or are not to be had.

    ``rules`` are the rules of the module, by default all that this network admits. ``dtype`` is torch's default unless
    it is set, as ``"float64"`` or ``torch.float64``. ``seed`` draws the first weights, which a run has
    no need of. Raises SpecError, UserError.
    """
    choices = Choices.of(preset, dims, consts, settings)
    loaded = load_network(spec_or_run, choices, target, device=device, dtype=dtype, seed=seed, rules=rules)
    attach(loaded.net, loaded.compiled.network, loaded.compiled.classes)
    if loaded.news is not None:
        from energyc.surfaces.api.common import reporter

        reporter().message(f"{loaded.compiled.network.name}: {loaded.news}")
    return loaded.net
