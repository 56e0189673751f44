"""PyTorch as a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from energyc.code.targets.interface import Needs, Ready, Trial

if TYPE_CHECKING:
    from energyc.code.module.context import Options
    from energyc.code.module.printed import Printed
    from energyc.code.plan import ModulePlan


class TorchTarget:
    """Operations of PyTorch, on every device: what other targets fall back on."""

    name: str = "torch"
    title: str = "torch"
    learns: bool = True
    phases: str | None = None
    usual_on: frozenset[str] = frozenset()
    needs: Needs = Needs()
    settled: str = "settled in {seconds} s"

    def module(self, planned: ModulePlan, options: Options) -> Printed:
        """Write the module."""
        from energyc.code.targets.torch.module import torch_module

        return torch_module(planned, options)

    def ready(self, printed: Printed, device: str, dtype: str) -> Ready:
        """It always is."""
        return Ready()

    def trial(self) -> Trial:
        """The CPU: what other targets are compared with."""
        return Trial()


TARGET = TorchTarget()
