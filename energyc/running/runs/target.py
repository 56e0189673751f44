"""How the phases of a run are computed: by kernels in C++ or Triton, or torch operations; and by how many threads.

On two cores that others use too, threads that wait for each other took three times the processor time of one thread
on 100 updates of `thick` in its small preset (docs/kernels.md).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch

from energyc import pipeline
from energyc.code.targets import TARGETS as WRITTEN
from energyc.code.targets import find_target
from energyc.language.diagnostics import Option, UserError, spoken
from energyc.language.network import Network
from energyc.pipeline import Choices, Compiled, emit, torch_dtype, training_dtype
from energyc.runtime import RULES

_REMEDY = spoken("use {}, or {} to take kernels if possible", Option("target", "torch"), Option("target", "auto"))
#: What ``--target`` may say; ``auto`` takes the target that is usual on a device, where its kernels can be built.
TARGETS = ("auto", *WRITTEN)


class Chosen(NamedTuple):
    """A module, and what its phases run as; the same is ``news`` where kernels were built or are not to be had."""

    compiled: Compiled
    note: str | None = None
    news: str | None = None


def usual_target() -> str:
    """The target where none is named: the environment variable ``ENERGYC_TARGET``, or auto. Raises UserError."""
    wanted = os.environ.get("ENERGYC_TARGET", "auto")
    if wanted not in TARGETS:
        raise UserError(f"ENERGYC_TARGET is {wanted}", code="E0518", help=f"set it to {', '.join(TARGETS)}")
    return wanted


def compiled_for(
    wanted: str,
    device: str,
    network: Network,
    rules: Sequence[str],
    choices: Choices = Choices(),
    *,
    dtype: Any = None,
    resumes: bool = False,
) -> Chosen:
    """The module for some rules, with its kernels in C++ built for a dtype, by default ``train.dtype``.

    A run that ``resumes`` where its kernels are not to be had goes on as torch operations. Raises UserError where
    kernels are asked for otherwise and the network, the device or this machine has none, and for a target whose
    modules do not learn.
    """
    target = find_target(wanted if wanted != "auto" else _usual_on(device))
    if not target.learns:
        message = f"{network.name} cannot be trained in {target.title}: its modules do not learn"
        raise UserError(message, code="E0518", help=_REMEDY)
    compiled = emit(network, rules, choices, target.name)
    if target.phases is None:
        return Chosen(compiled)
    kind = str(torch_dtype(dtype) or training_dtype(network)).removeprefix("torch.")
    ready = target.ready(compiled.printed, device, kind)
    if ready.reason is None:
        recording = [rule for rule in RULES if rule in rules and "trajectory" in RULES[rule].needs]
        which = {"all": None, "some": "some of those", "none": "those"}[compiled.printed.records]
        built = "" if ready.built_in is None else f" (built in {ready.built_in:.1f} s)"
        others = "".join(f"; {which} that {rule} records run as torch operations" for rule in recording if which)
        note = f"phases run in {target.phases}{built}{others}"
        return Chosen(compiled, note, note if built else None)
    if wanted == target.name and not resumes:
        message = f"{network.name} cannot be trained in {target.phases}: {ready.reason}"
        raise UserError(message, code="E0518", help=_REMEDY)
    note = f"phases run as torch operations: {ready.reason}"
    note += "; from here on rounding differs" if resumes else ""
    return Chosen(emit(network, rules, choices), note, note)


def _usual_on(device: str) -> str:
    """The target that ``auto`` takes on a device."""
    kind = device.partition(":")[0]
    return next((name for name in WRITTEN if kind in find_target(name).usual_on), WRITTEN[0])


# ------------------------------------------------------------------ threads

#: Operations of a step on a batch below which threads wait for each other more than they work.
FEWEST = 100_000_000
#: What a user sets to have so many threads.
VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def suited_threads(network: Network, batch: int) -> Iterator[str | None]:
    """Leave this process one thread within the context where a step on a batch is small, and yield a note of it.

    It depends on the network, the batch and the number of cores alone, so that a run resumes with the threads that it
    began with. A number that the environment sets stays.
    """
    threads = torch.get_num_threads()
    chosen = threads == 1 or any(variable in os.environ for variable in VARIABLES)
    if chosen or (work := operations(network) * batch) >= FEWEST:
        yield None
        return
    torch.set_num_threads(1)
    try:
        small = f"a step of {batch} samples is {work:,} operations"
        yield f"one thread of {threads}: {small} (OMP_NUM_THREADS sets another)"
    finally:
        torch.set_num_threads(threads)


def operations(network: Network) -> int:
    """The operations of one step for one sample, of all copies of layers."""
    from energyc.code.plan import force_flops  # which a module that was found again does without

    copies = network.copies
    parts = [(copies.get(name, 1), layer.network) for name, layer in network.layers.items()] or [(1, network)]
    return sum(count * force_flops(pipeline.derive(part)) for count, part in parts)
