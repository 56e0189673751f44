"""Datasets made of arrays in memory."""

from energyc.running.data.arrays import ArraySplit, SplitDataset

__all__ = ["ArraySplit", "SplitDataset"]
