"""Whether a batch is what its schema promises: a user's own adapter is held to it before its data reach a network."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from energyc.data.schema import FieldSchema, Schema
from energyc.diagnostics import UserError

DTYPES = {"real": np.dtype(np.float32), "integer": np.dtype(np.int64)}


def check_batch(adapter: str, schema: Schema, batch: Mapping[str, np.ndarray], size: int) -> None:
    """Raise ``UserError`` unless each field is there as ``[size, *shape]``, of its type, finite and in its range."""
    for name, field in schema.fields.items():
        if name not in batch:
            raise _broken(adapter, name, "is missing from a batch", field)
        values = batch[name]
        if values.shape != (size, *field.shape) or values.dtype != DTYPES[field.kind]:
            raise _broken(adapter, name, f"came as {values.dtype} {list(values.shape)} for {size} samples", field)
        if not np.isfinite(values).all():
            raise _broken(adapter, name, "has values that are not finite", field)
        if field.classes is not None and values.size and not 0 <= values.min() <= values.max() < field.classes:
            raise _broken(adapter, name, f"has values from {values.min()} to {values.max()}", field)


def _broken(adapter: str, name: str, problem: str, field: FieldSchema) -> UserError:
    values = f" below {field.classes}" if field.classes is not None else ""
    promised = f"its schema promises {DTYPES[field.kind]} {['batch', *field.shape]}{values}".replace("'", "")
    return UserError(f"{adapter}: field {name} {problem}", code="E0915", help=promised)
