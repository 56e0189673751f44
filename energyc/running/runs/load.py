"""The network of a spec or of a run as a module of its target, with what it was compiled from."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from energyc.language.network import Network
from energyc.pipeline import ALL, Choices, Compiled, emit, instantiate, resolve, training_dtype
from energyc.running.runs.locate import is_run, read_spec
from energyc.running.runs.target import Chosen, compiled_for, usual_target


class Loaded(NamedTuple):
    """A network, what it was made from, and what there is to say of its kernels: that they were built, or why not."""

    net: Any
    compiled: Compiled
    news: str | None


def load(
    spec_or_run: str | Path,
    choices: Choices = Choices(),
    target: str | None = None,
    *,
    device: Any = "cpu",
    dtype: torch.dtype | str | None = None,
    seed: int = 0,
    rules: Sequence[str] | None = None,
) -> Loaded:
    """Return the network of a spec (a path or text) or of a run, with trained weights, and what it was made from.

    ``target`` is by default that of the run, or the usual one; ``rules`` are the rules of the module, by default all
    that the network admits. ``seed`` draws the first weights, which a run has no need of. Raises SpecError, UserError.
    """
    if is_run(spec_or_run):
        return _trained(Path(spec_or_run), choices, target, device=device, dtype=dtype, rules=rules)
    network = resolve(read_spec(spec_or_run), choices)
    return made(network, choices, target, device=device, dtype=dtype, seed=seed, rules=rules)


def made(
    network: Network,
    choices: Choices,
    target: str | None = None,
    *,
    device: Any = "cpu",
    dtype: torch.dtype | str | None = None,
    seed: int = 0,
    rules: Sequence[str] | None = None,
) -> Loaded:
    """Return the living network of a typed one, as ``load`` does of its spec. Raises UserError."""
    kind = torch.get_default_dtype() if dtype is None else dtype
    chosen = _module(network, choices, target or usual_target(), rules or ALL, device, kind)
    return Loaded(instantiate(chosen.compiled, device, dtype, seed), chosen.compiled, chosen.news)


def _trained(
    run: Path,
    choices: Choices,
    target: str | None = None,
    *,
    device: Any = "cpu",
    dtype: torch.dtype | str | None = None,
    rules: Sequence[str] | None = None,
) -> Loaded:
    """Return the network of a run with the weights of its best checkpoint. Raises UserError, SpecError."""
    from energyc.running.runs.saved import load_run

    saved = load_run(run)
    network = saved.resolved(choices)
    kind = dtype or training_dtype(network)
    wanted = target or ("torch" if saved.target_on(str(device)) == "torch" else usual_target())
    compiled, _, news = _module(network, choices, wanted, rules or ALL, device, kind)
    net = instantiate(compiled, device, kind, saved.options.seed)
    if compiled.learns:
        saved.load_into(net)
    else:
        saved.copy_into(net.params)
    return Loaded(net, compiled, news)


def _module(
    network: Network, choices: Choices, target: str, rules: Sequence[str], device: Any, dtype: torch.dtype | str
) -> Chosen:
    """The module by a target; a warning tells of kernels that were asked for by name and are not to be had."""
    if target == "auto":
        return compiled_for(target, str(device), network, rules, choices, dtype=dtype)
    compiled = emit(network, rules, choices, target)
    if compiled.fallback is not None:
        what = f"the phases of {network.name} run as torch operations"
        warnings.warn(f"{what}: {compiled.fallback}", RuntimeWarning, stacklevel=5)
    return Chosen(compiled)
