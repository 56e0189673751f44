"""Python objects that a command line names as ``module:name``: a logger or an adapter of the user's own.

A command names them, never a spec or a run folder, which may come from anyone.

Imports: ``diagnostics``.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from typing import Any

from energyc.diagnostics import UserError

_FORM = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")


def is_reference(text: str) -> bool:
    """Whether a text has the form ``package.module:name``."""
    return _FORM.fullmatch(text) is not None


def referenced(reference: str, option: str) -> Any:
    """Return the object ``module:name`` that was given to ``option``, as in ``--log``.

    The module may lie in the working directory. Raises UserError E0950 if the text has another form, if the module
    cannot be imported, or if it has no such name.
    """
    if not is_reference(reference):
        help_text = f"write {option} package.module:name"
        raise UserError(f"{option} {reference} names no Python object", code="E0950", help=help_text)
    name, _, attributes = reference.partition(":")
    found: Any = _module(name, f"{option} {reference}")
    for attribute in attributes.split("."):
        if not hasattr(found, attribute):
            message = f"{option} {reference}: the module {name} has no {attributes}"
            place = getattr(sys.modules[name], "__file__", None)
            raise UserError(message, code="E0950", help=f"define it in {place}" if place else None)
        found = getattr(found, attribute)
    return found


def called(reference: str, option: str, *arguments: Any) -> Any:
    """Return what ``module:name(*arguments)`` returns.

    Raises UserError E0950 as ``referenced`` does, and E0951 if the object cannot be called or the call fails.
    """
    factory = referenced(reference, option)
    if not callable(factory):
        message = f"{option} {reference} is {_described(factory)}, which cannot be called"
        raise UserError(message, code="E0951", help="name a function or a class that makes the object")
    try:
        return factory(*arguments)
    except UserError:
        raise
    except Exception as error:
        message = f"{option} {reference} failed: {_reason(error)}"
        raise UserError(message, code="E0951", help="the error is in the module itself; --debug shows where") from error


def _module(name: str, given: str) -> Any:
    """Import a module, also from the working directory, which the script of a command does not search."""
    here = _working_directory()
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)
        importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = f"there is no module {error.name}"
        where = f"{here} and Python's path were searched"
        raise UserError(f"{given}: {missing}", code="E0950", help=where) from error
    except (Exception, SystemExit) as error:
        message = f"{given}: the module {name} cannot be imported: {_reason(error)}"
        raise UserError(message, code="E0950", help="the error is in the module itself; --debug shows where") from error


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return "/"


def _described(value: Any) -> str:
    return f"of type {type(value).__name__}"


def _reason(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
