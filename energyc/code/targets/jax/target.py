"""JAX as a target."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from typing import TYPE_CHECKING

from energyc.code.module.printed import Printed
from energyc.code.targets.interface import Missing, Needs, Ready, Trial

if TYPE_CHECKING:
    from energyc.code.module.context import Options
    from energyc.code.plan import ModulePlan


class JaxTarget:
    """Pure functions on arrays of JAX, which import :mod:`energyc.jax`, and no torch."""

    name: str = "jax"
    title: str = "JAX"
    learns: bool = False
    phases: str | None = "functions of JAX"
    usual_on: frozenset[str] = frozenset()
    needs: Needs = Needs(extra="jax")
    settled: str = "{version}, settled in {seconds} s"

    def module(self, planned: ModulePlan, options: Options) -> Printed:
        """Write the module. Raises UserError for a network, or rules, that it has no form for."""
        from energyc.code.targets.jax.module import jax_module

        return Printed(jax_module(planned, options))

    def ready(self, printed: Printed, device: str, dtype: str) -> Ready:
        """It is where JAX is installed, in float64 where JAX is told to use that."""
        if importlib.util.find_spec("jax") is None:
            return Ready(reason="jax is not installed")
        if dtype == "float64" and not importlib.import_module("jax").config.jax_enable_x64:
            return Ready(reason='JAX uses float64 only after jax.config.update("jax_enable_x64", True)')
        return Ready()

    def trial(self) -> Trial:
        """The CPU in JAX's usual float32, whatever else is set."""
        if importlib.util.find_spec("jax") is None:
            raise Missing("jax is not installed")
        return Trial(dtype="float32", close=1e-5, facts={"version": importlib.metadata.version("jax")})


TARGET = JaxTarget()
