"""A module in JAX over two devices, mapped, donated and in bfloat16: how far each gradient is from the whole one.

XLA_FLAGS=--xla_force_host_platform_device_count=2 python tests/emit/devices.py FOLDER
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

SAMPLES = 4


def main(folder: str) -> dict[str, float]:
    """The errors of ``hopfield`` by ``centered-ep``, by how it is run."""
    sys.path.insert(0, folder)
    net: Any = importlib.import_module("hopfield_jax")
    key = jax.random.key(0)
    params = net.init(key, "float32")
    clamps, targets = net.Clamps(jax.random.uniform(key, (SAMPLES, net.I))), net.Targets(jnp.arange(SAMPLES))

    def learned(params: Any, clamps: Any, targets: Any) -> Any:
        return net.centered_ep(params, clamps, targets, beta=0.5).params

    whole = jax.jit(learned)(params, clamps, targets)
    mesh = Mesh(np.array(jax.devices()), ("batch",))
    apart, everywhere = PartitionSpec("batch"), PartitionSpec()

    def of_a_device(params: Any, clamps: Any, targets: Any) -> Any:
        return jax.tree.map(lambda x: lax.pmean(x, "batch"), learned(params, clamps, targets))

    specs = {"in_specs": (everywhere, apart, apart), "out_specs": everywhere, "check_vma": False}
    sharded = jax.jit(jax.shard_map(of_a_device, mesh=mesh, **specs))(params, clamps, targets)
    held, spread = NamedSharding(mesh, everywhere), NamedSharding(mesh, apart)
    placed = jax.device_put(params, held), jax.device_put(clamps, spread), jax.device_put(targets, spread)
    by_compiler = jax.jit(learned)(*placed)
    pair = jax.tree.map(lambda x: jnp.stack([x, 1.1 * x]), params)
    sets = jax.jit(jax.vmap(learned, (0, None, None)))(pair, clamps, targets)
    rows = jax.tree.map(lambda x: x[:, None], (clamps, targets))
    samples = jax.jit(jax.vmap(learned, (None, 0, 0)))(params, *rows)
    low = jax.tree.map(lambda x: x.astype("bfloat16"), (params, clamps))
    donated = jax.tree.map(jnp.copy, params)
    updated = jax.jit(lambda p: jax.tree.map(jnp.subtract, p, learned(p, clamps, targets)), donate_argnums=0)
    moved = updated(donated)
    return {
        "devices": len(jax.devices()),
        "shard_map": error(sharded, whole),
        "jit of sharded arrays": error(by_compiler, whole),
        "vmap over sets of params": error([x[0] for x in sets], whole),
        "vmap over samples": error([x.mean(0) for x in samples], whole),
        "donated": error(moved, [x - g for x, g in zip(params, whole, strict=True)]),
        "kept after donation": sum(not x.is_deleted() for x in donated),
        "bfloat16": 1 - min(map(cosine, jax.jit(learned)(*low, targets), whole)),
    }


def error(found: Any, expected: Any) -> float:
    """The largest difference, as a part of the largest entry of an array."""
    return max(float(jnp.abs(x - y).max() / jnp.abs(y).max()) for x, y in zip(found, expected, strict=True))


def cosine(found: Any, expected: Any) -> float:
    """That of two arrays, in float32."""
    x, y = (z.astype("float32").ravel() for z in (found, expected))
    return float(x @ y / jnp.linalg.norm(x) / jnp.linalg.norm(y))


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
