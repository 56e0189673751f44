"""Warnings that name the line that called a network."""

from __future__ import annotations

import inspect
import warnings


def warn_caller(message: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warn at the code that called a network, past torch and this library."""
    inside = {"torch", __name__.partition(".")[0]}
    frame, level = inspect.currentframe(), 1
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in inside:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
