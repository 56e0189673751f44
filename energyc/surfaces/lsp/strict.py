"""The types of what an editor sends, taken at their word.

``cattrs`` reads ``null`` as the text "None" and "1" as the number 1: a rename to nothing would write ``None``. Here
such a message has params of the wrong form, and is refused as one.
"""

from __future__ import annotations

from typing import Any

from pygls.protocol import default_converter


def strict_converter() -> Any:
    """The converter of the protocol (a ``cattrs.Converter``), which takes a text, number or truth for nothing else."""
    converter = default_converter()  # type: ignore[no-untyped-call]
    for kind in (str, int, bool):
        converter.register_structure_hook(kind, _taken)
    return converter


def _taken(value: Any, kind: Any) -> Any:
    """A value of a kind as it is, or as a member of an enumeration of that kind. Raises TypeError."""
    wanted = next(each for each in (str, bool, int) if issubclass(kind, each))
    if isinstance(value, float) and wanted is int and value.is_integer():  # JSON has one kind of numbers
        value = int(value)
    if type(value) is not wanted:
        raise TypeError(f"expected {wanted.__name__}, found {value!r}")
    return value if kind is wanted else kind(value)
