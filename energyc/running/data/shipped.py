"""Data that ship with energyc or an installed dependency; scikit-learn is imported on use."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from energyc.extras import install_extra
from energyc.language.diagnostics import Given, UserError, spoken
from energyc.resources import resource


def load_digits() -> tuple[np.ndarray, np.ndarray]:
    """scikit-learn's digits: images ``[1797, 8, 8]`` in [0, 1] and labels ``[1797]``.

    They are a part of UCI's optdigits (Alpaydin and Kaynak 1998, CC BY 4.0), and ship here with 16 levels in a byte.
    """
    with np.load(resource("specs", "data", "digits.npz"), allow_pickle=False) as arrays:
        return (arrays["image"].reshape(-1, 8, 8) / 16).astype(np.float32), arrays["label"].astype(np.int64)


def sklearn_datasets(purpose: str) -> ModuleType:
    """``sklearn.datasets``; raises ``UserError`` if scikit-learn is not installed."""
    try:
        import sklearn.datasets
    except ImportError:
        raise UserError(
            f"{purpose} come with scikit-learn, which is not installed",
            code="E0913",
            help=spoken(f"{install_extra('data')}, or give your own: {{}}", Given(None)),
        ) from None
    module: ModuleType = sklearn.datasets
    return module


def require_pillow() -> None:
    """Raise ``UserError`` if Pillow, which reads all images, is not installed."""
    try:
        import PIL.Image  # noqa: F401
    except ImportError:
        raise UserError(
            "images need Pillow, which is not installed", code="E0913", help=install_extra("data")
        ) from None
