"""A generated module's text as a living network."""

from __future__ import annotations

import linecache
import sys
import types
from typing import Any


def instantiate(source: str, class_name: str, *, device: Any = None, dtype: Any = None, seed: int = 0) -> Any:
    """Run a generated module and make its network; ``source`` is kept on it.

    The module gets a name of its own in ``sys.modules`` so that its records pickle and its lines show in tracebacks.
    """
    name = f"energyc_generated_{class_name}_{abs(hash(source)):x}"
    module = types.ModuleType(name)
    module.__file__ = f"<{name}>"
    sys.modules[name] = module
    linecache.cache[module.__file__] = (len(source), None, source.splitlines(True), module.__file__)
    exec(compile(source, module.__file__, "exec"), module.__dict__)
    network = getattr(module, class_name)(device=device, dtype=dtype, seed=seed)
    network.source = source
    return network
