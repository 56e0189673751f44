"""A one-line description of an opened dataset, for progress output."""

from __future__ import annotations

from energyc.running.data.schema import Dataset, FieldSchema


def describe(dataset: Dataset) -> str:
    """``scikit-learn's digits: 1,437 train, 360 test; image [64], label in 10``."""
    fields = ", ".join(_field(name, field) for name, field in dataset.schema.fields.items())
    validation = getattr(dataset, "validation", None)
    lengths = {"train": len(dataset.split("train"))} | ({} if validation is None else {"validation": len(validation)})
    lengths["test"] = len(dataset.split("test"))
    counts = ", ".join(f"{count:,} {name}" for name, count in lengths.items())
    return f"{dataset.origin}: {counts}; {fields}"


def _field(name: str, field: FieldSchema) -> str:
    shape = f" [{', '.join(map(str, field.shape))}]" if field.shape else ""
    return name + shape + (f" in {field.classes}" if field.classes is not None else "")
