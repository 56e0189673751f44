"""A generated module's text as a living network, which can be copied, pickled and loaded in another process.

A pickle of a network carries the text of its module; unpickling runs that text, as pickles run what they hold.
"""

from __future__ import annotations

import copyreg
import hashlib
import linecache
import sys
import types
from typing import Any

from energyc.code.module.runtime import ALIAS
from energyc.language.diagnostics import UserError

#: How every module of torch asks for the runtime that it was written for.
REQUIRES = f"\n{ALIAS}.require_contract("


def instantiate(source: str, class_name: str, *, device: Any = None, dtype: Any = None, seed: int = 0) -> Any:
    """Run a generated module and make its network; ``source`` is kept on it."""
    network = getattr(loaded(source), class_name)(device=device, dtype=dtype, seed=seed)
    network.source = source
    _operate(network)
    return network


def _operate(network: Any) -> None:
    """Give a network its operators, if it is one of torch."""
    if hasattr(network, "readout_names") and hasattr(network, "named_parameters"):
        from energyc.code.operators import give

        give(network, type(network).__module__)


def loaded(source: str) -> types.ModuleType:
    """The module of a text, the same one for the same text.

    It gets a name of its own in ``sys.modules``, by its text, so that its lines show in tracebacks; the name is below
    energyc, so that a warning points past it.

    Raises UserError for the text of a module that an earlier version of energyc wrote.
    """
    if "\nimport torch\n" in source and REQUIRES not in source:
        raise UserError(
            "this network was made by an earlier version of energyc, whose modules the installed one does not run",
            help="with energyc 0.2 save its state_dict(); here use energyc.load(SPEC).load_state_dict(...)",
        )
    name = f"energyc.generated.{hashlib.sha256(source.encode()).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    module = types.ModuleType(name)
    module.__file__ = f"<{name}>"
    linecache.cache[module.__file__] = (len(source), None, source.splitlines(True), module.__file__)
    sys.modules[name] = module
    try:
        exec(compile(source, module.__file__, "exec"), module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    for value in list(vars(module).values()):
        if isinstance(value, type) and value.__module__ == name and _is_plain(value):
            copyreg.pickle(value, _Reduced(source))
    return module


def _is_plain(kind: type) -> bool:
    """Whether the objects of a class are their attributes or fields, so that it has no way to pickle of its own."""
    return "__reduce__" not in vars(kind) and not issubclass(kind, BaseException)


class _Reduced:
    """Takes objects of a generated module's classes apart, for ``pickle`` and ``copy``."""

    def __init__(self, source: str) -> None:
        self.source = source

    def __call__(self, thing: Any) -> tuple[Any, ...]:
        """The recipe to put it together again: a function, its arguments and, but for a record, its attributes."""
        from energyc.code.operators import HANDLE  # a copy has one of its own

        name = type(thing).__name__
        if isinstance(thing, tuple):
            return _record, (self.source, name, *thing)
        return _empty, (self.source, name), {key: value for key, value in thing.__dict__.items() if key != HANDLE}


def _record(source: str, name: str, *fields: Any) -> Any:
    """A record of a generated module."""
    return getattr(loaded(source), name)(*fields)


def _empty(source: str, name: str) -> Any:
    """An object of a generated module without its attributes."""
    kind = getattr(loaded(source), name)
    made = kind.__new__(kind)
    _operate(made)
    return made
