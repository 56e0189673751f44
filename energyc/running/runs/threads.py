"""The number of threads of a command that runs a network.

On two cores that others use too, threads that wait for each other took three times the processor time of one thread
on 100 updates of `thick` in its small preset (docs/kernels.md).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from energyc import pipeline
from energyc.code.plan import force_flops
from energyc.language.network import Network

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
    copies = network.copies
    parts = [(copies.get(name, 1), layer.network) for name, layer in network.layers.items()] or [(1, network)]
    return sum(count * force_flops(pipeline.derive(part)) for count, part in parts)
