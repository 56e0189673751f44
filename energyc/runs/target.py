"""What the phases of a run are carried out by: kernels in C++, or torch operations."""

from __future__ import annotations

import os
import time

from energyc.diagnostics import UserError
from energyc.pipeline import Choices, Compiled, emit, training_dtype
from energyc.resolve import Network
from energyc.runtime.kernels import KINDS, NoCompiler, built

#: What ``--target`` may say; ``auto`` takes kernels where they can be built.
TARGETS = ("auto", "torch", "cpp")


def usual_target() -> str:
    """What ``--target`` says by default: the environment variable ``ENERGYC_TARGET``, or auto. Raises UserError."""
    wanted = os.environ.get("ENERGYC_TARGET", "auto")
    if wanted not in TARGETS:
        raise UserError(f"ENERGYC_TARGET is {wanted}", code="E0518", help=f"set it to {', '.join(TARGETS)}")
    return wanted


def compiled_for(
    wanted: str, device: str, network: Network, rule: str, choices: Choices = Choices()
) -> tuple[Compiled, str | None]:
    """The module of a run, with its kernels built, and a note on what its phases run as.

    Raises UserError where kernels are asked for and the network, the device or this machine has none.
    """
    if wanted == "torch" or (wanted == "auto" and device != "cpu"):
        return emit(network, [rule], choices), None
    compiled = emit(network, [rule], choices, "cpp")
    reason = compiled.fallback if device == "cpu" else f"they run on the cpu, not on {device}"
    note = None
    if reason is None:
        started = time.perf_counter()
        try:
            built(source_of(compiled), KINDS[training_dtype(network)])
            note = f"phases run in C++ kernels (ready in {time.perf_counter() - started:.1f} s)"
        except NoCompiler as error:
            reason = str(error)
    if reason is None:
        return compiled, note
    if wanted == "cpp":
        message = f"{network.name} cannot be trained in C++ kernels: {reason}"
        raise UserError(message, code="E0518", help="use --target torch, or --target auto to take kernels if possible")
    return emit(network, [rule], choices), f"phases run as torch operations: {reason}"


def source_of(compiled: Compiled) -> str:
    """The source of a module's kernels."""
    return compiled.text.split('SOURCE = r"""', 1)[1].split('"""', 1)[0]
