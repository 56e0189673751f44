"""A network as an object with params of its own, for ``energyc.load`` and for those who want one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from .layers import relax
from .model import Clamps, Gradients, Params, Relaxed


class Network:
    """A network with params of its own; params, clamps and targets are arrays by the names of the spec.

    A module sets its ``model``, its ``rules``, and the ``names`` of the spec by kind where fields of records are called
    otherwise.

    Raises ValueError for float64 where JAX is not told to use it, for a rule that is not in the module, and for inputs
    that are missing or unknown.
    """

    model: ClassVar[Any]
    names: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    rules: ClassVar[Mapping[str, Callable[..., Gradients]]] = {}

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        records = cls.model.records._asdict().items()
        fields = {kind: () if record is None else record._fields for kind, record in records}
        optional = getattr(cls.model.records.clamps, "_field_defaults", {})
        fields["noises"] = tuple(name for name in fields["clamps"] if name in optional)
        fields["clamps"] = tuple(name for name in fields["clamps"] if name not in optional)
        cls.names = {**fields, **cls.names}

    def __init__(self, device: object = None, dtype: object = None, seed: int = 0) -> None:
        self.dtype = jnp.dtype(str(dtype or "float32").removeprefix("torch."))
        if self.dtype == jnp.float64 and not jax.config.jax_enable_x64:
            raise ValueError('JAX uses float64 only after jax.config.update("jax_enable_x64", True)')
        drawn = self.model.init(jax.random.key(seed), self.dtype)
        self.params = {name: np.array(x) for name, x in zip(self.names["params"], drawn, strict=True)}

    def relax(self, clamps: Mapping[str, Any]) -> Relaxed:
        """Let the states relax; they are arrays by their names."""
        free = jax.jit(partial(relax, self.model))(*self.given(clamps))
        return free._replace(states=dict(zip(self.names["states"], free.states, strict=True)))

    def gradients(
        self, clamps: Mapping[str, Any], targets: Mapping[str, Any], rule: str | None = None
    ) -> dict[str, Array]:
        """The gradient of the mean cost by a rule of the module, by default its first."""
        rule = rule or next(iter(self.rules), "")
        if rule not in self.rules:
            raise ValueError(f"there is no rule {rule} in this module, but {', '.join(self.rules) or 'none'}")
        aims = self.model.records.targets(**self.ordered("targets", targets))
        found = jax.jit(self.rules[rule])(*self.given(clamps), aims)
        return dict(zip(self.names["params"], found.params, strict=True))

    def given(self, clamps: Mapping[str, Any]) -> tuple[Params, Clamps]:
        """Params and clamps as the functions of the module take them."""
        records = self.model.records
        params = records.params(*map(jnp.asarray, self.params.values()))
        return params, records.clamps(**self.ordered("clamps", clamps))

    def ordered(self, kind: str, arrays: Mapping[str, Any]) -> dict[str, Array]:
        """Arrays by the fields of their record; real ones in the dtype of the params."""
        own = self.names[kind]
        known = (*own, *self.names["noises"]) if kind == "clamps" else own
        if not set(own) <= set(arrays) <= set(known):
            raise ValueError(f"the {kind} are {', '.join(known)}, not {', '.join(arrays)}")
        fields = zip(known, getattr(self.model.records, kind)._fields, strict=True)
        made = {field: jnp.asarray(np.asarray(arrays[name])) for name, field in fields if name in arrays}
        return {n: x.astype(self.dtype) if jnp.issubdtype(x.dtype, jnp.floating) else x for n, x in made.items()}
