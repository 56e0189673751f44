"""scikit-learn's drawn manifolds: ``manifolds(name = moons)``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from energyc.running.data.arrays import ArraySplit, SplitDataset, standardise
from energyc.running.data.errors import takes_no_file
from energyc.running.data.options import OptionReader
from energyc.running.data.schema import FieldSchema, Options, Schema
from energyc.running.data.shipped import sklearn_datasets

TEST_SHARE = 0.2
LARGEST_POINTS = 1 << 20


@dataclass(frozen=True)
class Manifold:
    """The function of ``sklearn.datasets`` that draws it, its inputs, and the classes of y (None: y is real)."""

    maker: str
    inputs: int
    classes: int | None


MANIFOLDS: Mapping[str, Manifold] = MappingProxyType(
    {
        "moons": Manifold("make_moons", 2, 2),
        "swiss-roll": Manifold("make_swiss_roll", 3, None),
        "s-curve": Manifold("make_s_curve", 3, None),
    }
)


@dataclass(frozen=True)
class Manifolds:
    """``x [inputs]`` and ``y``: the moon (a label in 2 classes), or the position along the roll or the curve.

    Options: ``name`` (moons, swiss-roll, s-curve), ``points`` (2,000, a fifth of them the test), ``noise`` (0.1, the
    deviation of what is added to each point). x and a real y are standardised over the training points. The draw is a
    function of the seed.
    """

    name: str = "manifolds"

    def schema(self, options: Options) -> Schema:
        """Fields x, y; sizes inputs, and classes where there are any."""
        manifold, _, _ = self._read(options)
        y = FieldSchema(()) if manifold.classes is None else FieldSchema((), "integer", manifold.classes)
        classes = {} if manifold.classes is None else {"classes": manifold.classes}
        return Schema({"x": FieldSchema((manifold.inputs,)), "y": y}, {"inputs": manifold.inputs, **classes})

    def open(self, options: Options, path: str | None, *, seed: int = 0) -> SplitDataset:
        """Draw the points with this seed; raises ``UserError`` for a path, since no file is read."""
        if path is not None:
            raise takes_no_file(self.name, path)
        manifold, points, noise = self._read(options)
        make = getattr(sklearn_datasets("manifolds"), manifold.maker)
        x, y = make(points, noise=noise, random_state=np.random.RandomState(seed % 2**32))
        order = np.random.RandomState((seed + 1) % 2**32).permutation(points)
        cut = points - max(1, round(points * TEST_SHARE))
        x, y = standardise(x[order], np.arange(cut)).values, y[order]
        if manifold.classes is None:
            y = standardise(y[:, None], np.arange(cut)).values[:, 0]
        train, test = (ArraySplit({"x": x[part], "y": y[part]}) for part in (slice(cut), slice(cut, None)))
        origin = f"scikit-learn's {manifold.maker} (noise {noise:g}, seed {seed})"
        return SplitDataset(self.schema(options), origin, train, test, ("x and a real y are standardised",))

    def _read(self, options: Options) -> tuple[Manifold, int, float]:
        reader = OptionReader(self.name, options, ("name", "points", "noise"))
        points = reader.size("points", 2000, least=10, most=LARGEST_POINTS)
        return MANIFOLDS[reader.choice("name", "moons", MANIFOLDS)], points, reader.positive("noise", 0.1)
