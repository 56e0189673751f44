"""Functions that tell when they are entered, in the modules of energyc that are imported from here on.

Each function of the files to mutate gets, when it is imported, a first statement that puts its name into a set; the
files stay as they are. That costs some 50 ns a call, where a tracer would make the tests several times slower. What
``functools.cache`` keeps counts for whoever asks for it. Generated modules that energyc loads run on its own runtime.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib.machinery
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.mutation.packages import functions, package_of

HOOK = "__energyc_entered__"


class Entered:
    """The names that are entered now; ``at_import`` has those of functions that run while energyc is imported."""

    def __init__(self) -> None:
        self.at_import: set[str] = set()
        self.names: set[str] = set()
        self._into(self.names)

    def _into(self, names: set[str]) -> None:
        self.names = names
        setattr(builtins, HOOK, names.add)

    @contextmanager
    def apart(self, names: set[str]) -> Iterator[set[str]]:
        """Put what is entered into another set for a while."""
        outer = self.names
        self._into(names)
        try:
            yield names
        finally:
            self._into(outer)


def marked(source: str | bytes, filename: str, name: Callable[[str], str | None]) -> Any:
    """The code of a module whose functions tell that they are entered, each by the ``name`` of its qualified name."""
    tree = ast.parse(source)
    for qualified, function in functions(tree):
        if told := name(qualified):
            place = 1 if ast.get_docstring(function, clean=False) is not None else 0
            if place == len(function.body):
                continue
            call = ast.parse(f"{HOOK}({told!r})").body[0]
            for node in ast.walk(call):
                ast.copy_location(node, function.body[place])
            function.body.insert(place, call)
    return compile(tree, filename, "exec", dont_inherit=True)


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module of energyc with its functions marked; without byte code, which would be of the plain source."""

    root: Path
    entered: Entered

    def get_code(self, fullname: str) -> Any:
        relative = Path(self.path).resolve().relative_to(self.root).as_posix()
        if package_of(relative) is None:
            return super().get_code(fullname)
        return marked(self.get_data(self.path), self.path, lambda qualified: f"{relative}:{qualified}")

    def exec_module(self, module: Any) -> None:
        with self.entered.apart(self.entered.at_import):
            super().exec_module(module)


class _Finder(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname.partition(".")[0] != "energyc":
            return None
        spec = super().find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def install(root: Path) -> Entered:
    """Mark what will be imported of energyc."""
    entered = Entered()
    _Loader.root, _Loader.entered = root.resolve(), entered
    sys.meta_path.insert(0, _Finder)
    # ``functools.cache`` calls it.
    functools.lru_cache = _remembering(functools.lru_cache, entered)
    return entered


def _remembering(real: Any, entered: Entered) -> Any:
    """``functools.lru_cache``, or what it decorates with, where a result brings the names that computing it entered."""

    def decorate(function: Any) -> Any:
        if not function.__module__.startswith(("energyc", "tests")):
            return real(function)

        @functools.wraps(function)
        def compute(*args: Any, **kwargs: Any) -> Any:
            with entered.apart(set()) as names:
                return function(*args, **kwargs), names

        computed = real(compute)

        @functools.wraps(function)
        def asked(*args: Any, **kwargs: Any) -> Any:
            result, names = computed(*args, **kwargs)
            if not names <= entered.names:
                entered.names.update(names)
            return result

        asked.cache_clear, asked.cache_info = computed.cache_clear, computed.cache_info  # type: ignore[attr-defined]
        return asked

    @functools.wraps(real)
    def decorator(*args: Any, **kwargs: Any) -> Any:
        if args and callable(args[0]):
            return decorate(args[0])
        return _remembering(real(*args, **kwargs), entered)

    return decorator
