"""How the phases of a run are computed: by kernels in C++ or Triton, or torch operations."""

from __future__ import annotations

import os
import time
from types import MappingProxyType

from energyc.language.diagnostics import UserError
from energyc.language.network import Network
from energyc.pipeline import Choices, Compiled, emit, training_dtype
from energyc.runtime.kernels.kernels import KINDS, NoCompiler, built
from energyc.runtime.rules import RULES

#: What ``--target`` may say; ``auto`` takes kernels in C++ where they can be built. Those in Triton have not run on a
#: GPU yet, so they are taken only by name.
TARGETS = ("auto", "torch", "cpp", "triton")
#: How messages call the kernels of a target.
KERNELS = MappingProxyType({"cpp": "C++ kernels", "triton": "Triton kernels"})


def usual_target() -> str:
    """The default of ``--target``: the environment variable ``ENERGYC_TARGET``, or auto. Raises UserError."""
    wanted = os.environ.get("ENERGYC_TARGET", "auto")
    if wanted not in TARGETS:
        raise UserError(f"ENERGYC_TARGET is {wanted}", code="E0518", help=f"set it to {', '.join(TARGETS)}")
    return wanted


def compiled_for(
    wanted: str, device: str, network: Network, rule: str, choices: Choices = Choices(), *, resumes: bool = False
) -> tuple[Compiled, str | None]:
    """The module of a run, with its kernels in C++ built, and a note on what its phases run as.

    A run that ``resumes`` where its kernels are not to be had goes on as torch operations. Raises UserError where
    kernels are asked for otherwise and the network, the device or this machine has none.
    """
    target = wanted if wanted != "auto" else "cpp" if device == "cpu" else "torch"
    if target == "torch":
        return emit(network, [rule], choices), None
    compiled = emit(network, [rule], choices, target)
    ready, reason = (_built if target == "cpp" else _launched)(compiled, device)
    if reason is None:
        others = [f"those that {rule} records"] if "trajectory" in RULES[rule].needs else []
        others += ["steps in bfloat16"] if target == "cpp" and _roughly(network) else []
        note = "".join(f"; {which} run as torch operations" for which in others)
        return compiled, f"phases run in {KERNELS[target]}{ready}{note}"
    if wanted == target and not resumes:
        message = f"{network.name} cannot be trained in {KERNELS[target]}: {reason}"
        raise UserError(message, code="E0518", help="use --target torch, or --target auto to take kernels if possible")
    note = f"phases run as torch operations: {reason}"
    return emit(network, [rule], choices), f"{note}; from here on rounding differs" if resumes else note


def _roughly(network: Network) -> bool:
    """Whether a free phase begins with products in bfloat16, that of the network or of one of its layers."""
    parts = (network, *(layer.network for layer in network.layers.values()))
    return any(part.relax.products == "bfloat16" for part in parts)


def _built(compiled: Compiled, device: str) -> tuple[str, str | None]:
    """Builds the kernels in C++: how long it took, and why they cannot run."""
    if compiled.fallback is not None:
        return "", compiled.fallback
    if device != "cpu":
        return "", f"they run on the cpu, not on {device}"
    started = time.perf_counter()
    try:
        built(compiled.source or "", KINDS[training_dtype(compiled.network)])
    except NoCompiler as error:
        return "", str(error)
    return f" (ready in {time.perf_counter() - started:.1f} s)", None


def _launched(compiled: Compiled, device: str) -> tuple[str, str | None]:
    """Why the kernels in Triton cannot run; they are compiled when they are first launched."""
    from energyc.runtime.kernels.triton_functions import has_triton
    from energyc.runtime.kernels.triton_kernels import interpreted

    if compiled.fallback is not None:
        return "", compiled.fallback
    if not (_is_cuda(device) or (device == "cpu" and interpreted())):
        return "", f"they run on a GPU, not on {device}"
    return "", None if has_triton() else "triton is not installed (pip install energyc[triton])"


def _is_cuda(device: str) -> bool:
    return device.partition(":")[0] == "cuda"
