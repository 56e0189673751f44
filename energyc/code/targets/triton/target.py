"""Triton as a target."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from typing import TYPE_CHECKING

from energyc.code.targets.interface import Absent, Missing, Needs, Ready, Trial
from energyc.extras import install_extra

if TYPE_CHECKING:
    from energyc.code.module.context import Options
    from energyc.code.module.printed import Printed
    from energyc.code.plan import ModulePlan


class TritonTarget:
    """Kernels in Triton on a GPU, or by its interpreter. They have not run on a GPU yet: ``auto`` leaves them out."""

    name: str = "triton"
    title: str = "Triton"
    learns: bool = True
    phases: str | None = "Triton kernels"
    usual_on: frozenset[str] = frozenset()
    needs: Needs = Needs(extra="triton")
    settled: str = "{version}, by {by}, settled as torch does"

    def module(self, planned: ModulePlan, options: Options) -> Printed:
        """Write the module."""
        from energyc.code.targets.triton.module import triton_module

        return triton_module(planned, options)

    def ready(self, printed: Printed, device: str, dtype: str) -> Ready:
        """Whether they can run; they are compiled when they are first launched."""
        from energyc.runtime import triton_functions

        if printed.fallback is not None:
            return Ready(reason=printed.fallback)
        if not (device.startswith("cuda") or (device == "cpu" and triton_functions.interpreted())):
            return Ready(reason=f"they run on a GPU, not on {device}")
        missing = None if triton_functions.has_triton() else f"triton is not installed ({install_extra('triton')})"
        return Ready(reason=missing)

    def trial(self) -> Trial:
        """A GPU, or the interpreter. Raises Absent, Missing."""
        import torch

        from energyc.runtime import triton_functions

        device = "cuda" if torch.cuda.is_available() else "cpu"
        if device == "cpu" and not triton_functions.interpreted():
            raise Absent("it runs on a GPU, and there is none; TRITON_INTERPRET=1 interprets it")
        if importlib.util.find_spec("triton") is None:
            raise Missing("triton is not installed")
        by = "the interpreter" if triton_functions.interpreted() else "a GPU"
        facts = {"version": importlib.metadata.version("triton"), "by": by}
        return Trial(device, "float32", 1e-4, facts)


TARGET = TritonTarget()
