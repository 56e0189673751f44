"""How the phases of a run are computed: by kernels in C++ or Triton, or torch operations."""

from __future__ import annotations

import os

from energyc.code.targets import TARGETS as WRITTEN
from energyc.code.targets import find_target
from energyc.language.diagnostics import UserError
from energyc.language.network import Network
from energyc.pipeline import Choices, Compiled, emit, training_dtype
from energyc.runtime.rules import RULES

#: What ``--target`` may say; ``auto`` takes the target that is usual on a device, where its kernels can be built.
TARGETS = ("auto", *WRITTEN)


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
    kernels are asked for otherwise and the network, the device or this machine has none, and for a target whose
    modules do not learn.
    """
    target = find_target(wanted if wanted != "auto" else _usual_on(device))
    if not target.learns:
        message = f"{network.name} cannot be trained in {target.title}: its modules do not learn"
        raise UserError(message, code="E0518", help="use --target torch, or --target auto to take kernels if possible")
    if target.phases is None:
        return emit(network, [rule], choices, target.name), None
    compiled = emit(network, [rule], choices, target.name)
    ready = target.ready(compiled.printed, device, str(training_dtype(network)).removeprefix("torch."))
    if ready.reason is None:
        others = [f"those that {rule} records"] if "trajectory" in RULES[rule].needs else []
        others += ["steps in bfloat16"] if not target.takes_bfloat16 and _roughly(network) else []
        note = "".join(f"; {which} run as torch operations" for which in others)
        return compiled, f"phases run in {target.phases}{ready.note}{note}"
    if wanted == target.name and not resumes:
        message = f"{network.name} cannot be trained in {target.phases}: {ready.reason}"
        raise UserError(message, code="E0518", help="use --target torch, or --target auto to take kernels if possible")
    note = f"phases run as torch operations: {ready.reason}"
    return emit(network, [rule], choices), f"{note}; from here on rounding differs" if resumes else note


def _usual_on(device: str) -> str:
    """The target that ``auto`` takes on a device."""
    return next((name for name in WRITTEN if device in find_target(name).usual_on), WRITTEN[0])


def _roughly(network: Network) -> bool:
    """Whether a free phase begins with products in bfloat16, that of the network or of one of its layers."""
    parts = (network, *(layer.network for layer in network.layers.values()))
    return any(part.relax.products == "bfloat16" for part in parts)
