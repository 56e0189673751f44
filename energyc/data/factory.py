"""Data by the name of a Python function, ``module:factory`` or ``file.py:factory``, which somebody typed.

Such a name comes from the command line and nowhere else: no spec and no run folder can have anything imported.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from energyc.diagnostics import UserError, near

_NAME = re.compile(r"(?P<module>(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*|.+\.py):(?P<factory>[A-Za-z_][\w.]*)")
_EXPECTED = "give module:factory, or file.py:factory, of a function without arguments that returns the data"


def names_factory(text: str) -> bool:
    """Whether a text names a factory rather than a file."""
    return _NAME.fullmatch(text) is not None and not Path(text).exists()


def made_by(text: str) -> Any:
    """What the factory of that name returns; data that are no function are returned as they are.

    Its module is looked for in the folder where the command runs, too. Raises UserError E0931.
    """
    match = _NAME.fullmatch(text)
    assert match is not None
    with _here(text):
        factory = _attribute(text, _module(text, match["module"]), match["factory"])
        return called(factory, text)


def called(factory: Any, name: str) -> Any:
    """What a function without arguments returns; anything else as it is. Raises UserError E0931."""
    if not callable(factory) or (hasattr(factory, "schema") and hasattr(factory, "open") and not _is_class(factory)):
        return factory
    try:
        return factory()
    except UserError:
        raise
    except Exception as error:
        raise _failed(f"{name} raised", error, f"call {name}() in Python to see where") from error


def _is_class(thing: object) -> bool:
    return isinstance(thing, type)


def _module(text: str, module: str) -> ModuleType:
    try:
        return _of_file(module) if module.endswith(".py") else importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and (module == error.name or module.startswith(f"{error.name}.")):
            help_text = f"install it, or run energyc in the folder of {module.replace('.', '/')}.py"
            raise UserError(f"--data {text}: there is no module {error.name}", code="E0931", help=help_text) from None
        raise _failed(f"--data {text}: importing {module} raised", error, f"import {module} in Python") from error
    except FileNotFoundError:
        raise UserError(f"--data {text}: there is no file {module}", code="E0931", help=_EXPECTED) from None
    except Exception as error:
        raise _failed(f"--data {text}: importing {module} raised", error, f"import {module} in Python") from error


def _of_file(path: str) -> ModuleType:
    """The module of a file, which can import those beside it."""
    if not Path(path).is_file():
        raise FileNotFoundError(path)
    folder, name = str(Path(path).resolve().parent), Path(path).stem
    if folder not in sys.path:
        sys.path.append(folder)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(name, module)
    spec.loader.exec_module(module)
    return module


def _attribute(text: str, module: ModuleType, name: str) -> Any:
    thing: Any = module
    for part in name.split("."):
        if not hasattr(thing, part):
            similar = near(part, [known for known in dir(thing) if not known.startswith("_")])
            help_text = f"did you mean {similar[0]}?" if similar else _EXPECTED
            raise UserError(f"--data {text}: {module.__name__} has no {name}", code="E0931", help=help_text)
        thing = getattr(thing, part)
    return thing


def _failed(what: str, error: Exception, help_text: str) -> UserError:
    """An exception in somebody else's code: what it is, and the last line of theirs that it went through."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if frame.filename != __file__ and not frame.filename.startswith("<frozen")]
    place = f" ({theirs[-1].filename}:{theirs[-1].lineno})" if theirs else ""
    said = str(error).splitlines()[0] if str(error) else ""
    message = f"{what} {type(error).__name__}{': ' if said else ''}{said}{place}"
    return UserError(message, code="E0931", help=help_text)


@contextmanager
def _here(text: str) -> Iterator[None]:
    """Let modules of the current folder be imported, before all others while a factory is found and called."""
    here = os.getcwd()
    before = list(sys.path)
    sys.path.insert(0, here)
    try:
        yield
    finally:
        added = [folder for folder in sys.path if folder not in before]
        sys.path[:] = [*before, *added]
