"""The targets that modules are written for: each a package, all of them in one registry.

``interface`` is the contract that a target fulfils. What ``--target`` takes, what ``show`` prints, what a run builds
and what the doctor tries follow from this registry: another target is another package, whose module ``target`` has an
object ``TARGET``, and another word here.

Imports: ``calculus``, ``derive``, ``diagnostics``, ``expressions``, ``extras``, ``functions``, ``ir``, ``loops``,
``module``, ``network``, ``notation``, ``plan``, ``resources``, ``runtime``, ``settings``, ``sparse``, ``syntax``,
``tree``; libraries: ``jinja2``, ``numpy``, ``torch``.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from energyc.code.targets.interface import Target

#: The targets, each the name of its package. They are imported when they are asked for.
TARGETS = ("torch", "cpp", "triton", "jax")


@cache
def find_target(name: str) -> Target:
    """The target of a name. Raises KeyError for another."""
    if name not in TARGETS:
        raise KeyError(name)
    return cast("Target", import_module(f"{__name__}.{name}.target").TARGET)
