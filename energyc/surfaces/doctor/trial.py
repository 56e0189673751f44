"""``python -m energyc.surfaces.doctor.trial``: tries what energyc does, a line of JSON for each step.

It is a process of its own, since a broken library or compiler may end it.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from energyc.code.targets import TARGETS, find_target
from energyc.code.targets.interface import Absent, Missing
from energyc.surfaces.doctor.findings import reason

#: A network that is compiled in a moment, with states at rest after 40 steps. Its weights are not drawn, since each
#: target draws in its own way.
SPEC = """\
network trial
dim I = 3, J = 4
clamp x[I], b[J]
param W[I, J] = 1/4
state s[J]
energy e = 1/2 * sum[j](s[j]^2) - sum[i,j](x[i] * W[i,j] * tanh(s[j])) - sum[j](b[j] * s[j])
relax { step = 1/2, steps = 40 }
"""
#: The largest residual of what settles.
CLOSE = 1e-9


class Failed(Exception):
    """A trial that failed; the text says why."""


def try_torch() -> dict[str, Any]:
    """Import torch; what it was built for, its threads and its devices."""
    import torch

    version = torch.version
    build = next((f"{kind} {found}" for kind in ("cuda", "hip") if (found := getattr(version, kind, None))), "CPU")
    return {"version": torch.__version__, "build": build, "threads": torch.get_num_threads(), "devices": _devices()}


def _devices() -> list[dict[str, Any]]:
    import torch

    found: list[dict[str, Any]] = [{"name": "cpu", "cores": os.cpu_count()}]
    for number in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        properties = torch.cuda.get_device_properties(number)
        memory = round(properties.total_memory / 2**30, 1)
        found.append({"name": f"cuda:{number}", "is": properties.name, "memory_gib": memory})
    if torch.backends.mps.is_available():
        found.append({"name": "mps", "is": "Apple's GPU"})
    return found


def try_specs() -> dict[str, Any]:
    """Read and type every shipped spec."""
    from energyc.pipeline import read, resolve
    from energyc.resources import shipped

    for path in shipped().values():
        resolve(read(path))
    return {"specs": len(shipped())}


def try_network() -> dict[str, Any]:
    """Compile a network and relax it."""
    started = time.perf_counter()
    residual = float(_relaxed("torch")[1].max())
    if not residual < CLOSE:
        raise Failed(f"the states of a small network do not settle: residual {residual:.1e}")
    return {"seconds": round(time.perf_counter() - started, 2), "residual": residual}


def try_target(name: str) -> dict[str, Any]:
    """Relax the same network in a target, with nothing built at another time, and compare with torch.

    Raises Absent, Missing, Failed.
    """
    trial = find_target(name).trial()
    with tempfile.TemporaryDirectory(prefix="energyc-") as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        started = time.perf_counter()
        states, _, failure = _relaxed(name, trial.device, trial.dtype)
        seconds = round(time.perf_counter() - started, 2)
        difference = float((states - _relaxed("torch")[0].to(states.dtype)).abs().max())
    if not difference < trial.close:
        raise Failed(f"its states differ from torch's by {difference:.1e}")
    if failure is not None:
        raise Failed(failure)
    return {**trial.facts, "seconds": seconds, "difference": difference}


def _relaxed(target: str, device: str = "cpu", dtype: str = "float64") -> tuple[Any, Any, str | None]:
    """The states and residuals of two samples, and why there are no kernels, if there are none."""
    import torch

    from energyc.running.runs.load import load

    kind = getattr(torch, dtype)
    net = load(SPEC, target=target, device=device, dtype=kind).net
    x, b = (torch.linspace(-1, 1, 2 * n, dtype=kind, device=device).reshape(2, n) for n in (3, 4))
    rest = net.relax({"x": x, "b": b})
    states, residual = (torch.as_tensor(found).cpu() for found in (rest.states["s"], rest.residual))
    return states, residual, getattr(getattr(net, "kernels", None), "failure", None)


STEPS: Mapping[str, Callable[[], dict[str, Any]]] = MappingProxyType(
    {
        "torch": try_torch,
        "specs": try_specs,
        "network": try_network,
        **{name: partial(try_target, name) for name in TARGETS[1:]},
    }
)


def main() -> None:
    """Try everything, whatever fails; nothing that was compiled at another time is used."""
    os.environ["ENERGYC_FRESH"] = "1"
    for name, step in STEPS.items():
        print(json.dumps({"step": name}), flush=True)
        try:
            found = {"state": "works", **step()}
        except Absent as absent:
            found = {"state": "none", "reason": str(absent)}
        except Missing as missing:
            found = {"state": "missing", "reason": str(missing)}
        except ModuleNotFoundError as error:
            found = {"state": "missing", "reason": str(error), "module": error.name}
        except Exception as error:
            found = {"state": "broken", "reason": str(error) if isinstance(error, Failed) else reason(error)}
        print(json.dumps({"step": name, **found}), flush=True)


if __name__ == "__main__":
    main()
