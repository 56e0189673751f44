"""Python objects that somebody types as ``module:name`` or ``file.py:name``: data or a logger of their own.

Such a name comes from the command line and nowhere else: no spec and no run folder, which may come from anyone, can
have anything imported.

Imports: ``diagnostics``.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from energyc.language.diagnostics import UserError, near

_FORM = re.compile(r"(?P<module>(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*|.+\.py):(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")


@dataclass(frozen=True)
class Reference:
    """A name in a module or a file, as it was given to an ``option``; ``code`` is that of what is wrong with it."""

    option: str
    text: str
    code: str

    @property
    def is_one(self) -> bool:
        """Whether the text names an object rather than a file."""
        return _FORM.fullmatch(self.text) is not None and not Path(self.text).exists()

    def __str__(self) -> str:
        return f"{self.option} {self.text}"

    def made(self, is_made: Callable[[Any], bool] = lambda thing: False) -> Any:
        """Return what the function or class of that name returns, without arguments.

        What cannot be called is returned as it is, and so is what ``is_made`` says to be an object of the kind already.
        The module is looked for in the folder where the command runs, too. Raises UserError.
        """
        with _here():
            thing = self._attribute()
            return called(thing, self.text, self.code) if callable(thing) and not is_made(thing) else thing

    def _attribute(self) -> Any:
        match = _FORM.fullmatch(self.text)
        if match is None:
            raise UserError(f"{self} names no Python object", code=self.code, help=self._expected)
        module = self._module(match["module"])
        thing: Any = module
        for part in match["name"].split("."):
            if not hasattr(thing, part):
                similar = near(part, [known for known in dir(thing) if not known.startswith("_")])
                help_text = f"did you mean {similar[0]}?" if similar else self._expected
                message = f"{self}: {module.__name__} has no {match['name']}"
                raise UserError(message, code=self.code, help=help_text)
            thing = getattr(thing, part)
        return thing

    def _module(self, module: str) -> ModuleType:
        try:
            return _of_file(module) if module.endswith(".py") else importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is not None and (module == error.name or module.startswith(f"{error.name}.")):
                help_text = f"install it, or run energyc in the folder of {module.replace('.', '/')}.py"
                raise UserError(f"{self}: there is no module {error.name}", code=self.code, help=help_text) from None
            raise self._import_failed(module, error) from error
        except FileNotFoundError as error:
            if error.filename == module:
                raise UserError(f"{self}: there is no file {module}", code=self.code, help=self._expected) from None
            raise self._import_failed(module, error) from error
        except (Exception, SystemExit) as error:
            raise self._import_failed(module, error) from error

    def _import_failed(self, module: str, error: BaseException) -> UserError:
        return _failed(f"{self}: importing {module} raised", error, f"import {module} in Python", self.code)

    @property
    def _expected(self) -> str:
        return f"give {self.option} module:factory, or file.py:factory, of a function without arguments"


def called(factory: Any, name: str, code: str) -> Any:
    """Return what a function without arguments returns; ``name`` is what messages call it. Raises UserError."""
    try:
        return factory()
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        raise _failed(f"{name} raised", error, f"call {name}() in Python to see where", code) from error


def _of_file(path: str) -> ModuleType:
    """The module of a file, which can import those beside it."""
    if not Path(path).is_file():
        raise FileNotFoundError(2, "no such file", path)
    folder, name = str(Path(path).resolve().parent), Path(path).stem
    if folder not in sys.path:
        sys.path.append(folder)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(name, module)
    spec.loader.exec_module(module)
    return module


def _failed(what: str, error: BaseException, help_text: str, code: str) -> UserError:
    """An exception in somebody else's code: what it is, and the last line of theirs that it went through."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if frame.filename != __file__ and not frame.filename.startswith("<frozen")]
    place = f" ({theirs[-1].filename}:{theirs[-1].lineno})" if theirs else ""
    said = str(error).splitlines()[0] if str(error) else ""
    message = f"{what} {type(error).__name__}{': ' if said else ''}{said}{place}"
    return UserError(message, code=code, help=help_text)


@contextmanager
def _here() -> Iterator[None]:
    """Let modules of the current folder be imported, before all others while a name is looked up and called."""
    before = list(sys.path)
    with suppress(OSError):  # the folder is no longer there
        sys.path.insert(0, os.getcwd())
    try:
        yield
    finally:
        added = [folder for folder in sys.path if folder not in before]
        sys.path[:] = [*before, *added]
