"""``energyc.bench``: the time of a step beside other ways to take it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from energyc.language.diagnostics import Misuse, Option, spoken
from energyc.pipeline import Choices, read, resolve
from energyc.studies.bench.step import BenchReport
from energyc.studies.bench.step import bench as measure
from energyc.surfaces.api.common import given


def bench(
    spec: str | PathLike[str],
    data: Any = None,
    *,
    test: Any = None,
    map: Mapping[str, str] | None = None,
    batch: int = 16,
    seconds: float = 5.0,
    threads: int = 1,
    preset: str | None = None,
    dims: Mapping[str, int] | None = None,
    consts: Mapping[str, object] | None = None,
    settings: Mapping[str, object] | None = None,
) -> BenchReport:
    """Time a step of a network: as generated, without optimisation passes, in kernels, by autograd of its energy.

    Inputs are random; with ``data``, given as to ``energyc.train``, they are test samples, and sizes are those that the
    data give. ``seconds`` is the time to spend, ``threads`` the number of torch's threads. Raises SpecError, UserError.
    """
    if threads > (cores := os.cpu_count() or 1):
        text = f"{{}} is more than the {cores} cores of this machine"
        raise Misuse(spoken(text, Option("threads", threads)), code="E0930", help="give fewer")
    source, feeding = read(spec if isinstance(spec, str) else Path(spec)), given(data, test, map=map)
    arguments = feeding.read(source)
    network = resolve(source, Choices.of(preset, dims, consts, settings), arguments.schemas())
    return measure(network, batch=batch, seconds=seconds, threads=threads, given=arguments if feeding else None)
