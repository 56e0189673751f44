"""The held-out numbers of several seeds as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from energyc.train.numbers import format_spread


def print_summary(summary: Mapping[str, Any], *, color: bool = False) -> None:
    """Write the mean and the deviation of each held-out number to standard output."""
    Console(no_color=not color).print(summary_table(summary))


def summary_table(summary: Mapping[str, Any]) -> Table:
    """Return a table of mean and deviation of held-out numbers; ``summary`` is that of ``train_seeds``."""
    count = len(summary["seeds"])
    table = Table(title=f"held-out, {count} seed{'s' if count != 1 else ''}", title_justify="left")
    table.add_column("")
    table.add_column("at the end", justify="right")
    table.add_column("at the best checkpoint", justify="right")
    for name, final in summary["final"].items():
        best = summary["best"].get(name)
        table.add_row(name, _mean(name, final), "" if best is None else _mean(name, best))
    return table


def _mean(name: str, entry: Mapping[str, Any]) -> str:
    return format_spread(name, entry["mean"], entry["deviation"])
