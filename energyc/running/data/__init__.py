"""Data bindings: adapters with schemas that are known without opening data, and the registry that finds them.

It knows arrays and their fields; networks are unknown to it.

Imports: ``diagnostics``, ``extras``, ``files``, ``resources``, ``settings``; libraries: ``numpy``,
``PIL``, ``pandas``, ``scipy``, ``sklearn``.
"""

from energyc.language.settings import Call
from energyc.running.data.registry import DATA, Registry, find_adapter, register_data
from energyc.running.data.schema import (
    Adapter,
    Dataset,
    FieldSchema,
    Options,
    OptionValue,
    Schema,
    Split,
    SplitName,
    describe,
)
from energyc.running.data.validate import check_batch, checked_split, open_dataset, read_schema

__all__ = [
    "DATA",
    "Adapter",
    "Call",
    "Dataset",
    "FieldSchema",
    "OptionValue",
    "Options",
    "Registry",
    "Schema",
    "Split",
    "SplitName",
    "check_batch",
    "checked_split",
    "describe",
    "find_adapter",
    "open_dataset",
    "read_schema",
    "register_data",
]
