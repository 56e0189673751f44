"""The network of a spec or of a run as a module of its target, with what it was compiled from."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from energyc.pipeline import ALL, Choices, Compiled, emit, instantiate, resolve, training_dtype
from energyc.running.runs.locate import is_run, read_spec
from energyc.running.runs.saved import load_run


def load(
    spec_or_run: str | Path,
    choices: Choices = Choices(),
    target: str = "torch",
    *,
    device: Any = "cpu",
    dtype: torch.dtype | str | None = None,
    seed: int = 0,
    rules: Sequence[str] | None = None,
) -> tuple[Any, Compiled]:
    """Return the network of a spec (a path or text) or of a run, with trained weights, and what it was made from.

    ``rules`` are the rules of the module, by default all that the network admits. ``seed`` draws the first weights,
    which a run has no need of. Raises SpecError, UserError.
    """
    if is_run(spec_or_run):
        return load_trained(Path(spec_or_run), choices, target, device=device, dtype=dtype, rules=rules)
    compiled = emit(resolve(read_spec(spec_or_run), choices), rules or ALL, choices, target)
    _tell(compiled)
    return instantiate(compiled, device, dtype, seed), compiled


def _tell(compiled: Compiled) -> None:
    """Warn of kernels that were asked for and are not to be had."""
    if compiled.fallback is not None:
        what = f"the phases of {compiled.network.name} run as torch operations"
        warnings.warn(f"{what}: {compiled.fallback}", RuntimeWarning, stacklevel=4)


def load_trained(
    run: Path,
    choices: Choices,
    target: str = "torch",
    *,
    device: Any = "cpu",
    dtype: torch.dtype | str | None = None,
    rules: Sequence[str] | None = None,
) -> tuple[Any, Compiled]:
    """Return the network of a run with the weights of its best checkpoint. Raises UserError, SpecError."""
    saved = load_run(run)
    network = saved.resolved(choices)
    compiled = emit(network, rules or ALL, choices, target)
    _tell(compiled)
    net = instantiate(compiled, device, dtype or training_dtype(network), saved.options.seed)
    if compiled.learns:
        saved.load_into(net)
    else:
        saved.copy_into(net.params)
    return net, compiled
