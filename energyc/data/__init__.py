"""The public names of data bindings: what an adapter of one's own is written with."""

from energyc.running.data import (
    Adapter,
    Call,
    Dataset,
    FieldSchema,
    Options,
    OptionValue,
    Schema,
    Split,
    SplitName,
    check_batch,
    open_dataset,
    read_schema,
    register_data,
)

__all__ = [
    "Adapter",
    "Call",
    "Dataset",
    "FieldSchema",
    "OptionValue",
    "Options",
    "Schema",
    "Split",
    "SplitName",
    "check_batch",
    "open_dataset",
    "read_schema",
    "register_data",
]
