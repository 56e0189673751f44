"""Regression of a function drawn from a Gaussian process: ``gaussian_process(kernel = rbf, inputs = I)``.

The setting of table 3 of the CEM paper (Causal Energy Minimization), which gives only the names of the kernels and the
ten inputs. Assumed here: inputs from N(0, I), no noise, and a length of sqrt(2 inputs), the typical distance between
two such points. With these and 4,096 training points the exact posterior mean has a test RMSE of 0.0082 (rbf), 0.216
(matern) and 0.053 (rational-quadratic), seed 0: just below the best networks of that table, so the setting is close.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from energyc.running.data.arrays import ArraySplit, SplitDataset, generator
from energyc.running.data.errors import takes_no_file
from energyc.running.data.options import OptionReader
from energyc.running.data.schema import FieldSchema, Options, Schema

JITTER = 1e-8  # added to the diagonal, so that the Cholesky factor exists in float64
LARGEST_INPUTS, LARGEST_POINTS = 4096, 8192
TEST_SHARE = 0.2


def rbf(x: np.ndarray, length: float) -> np.ndarray:
    """``exp(-r^2 / (2 length^2))``."""
    covariance: np.ndarray = np.exp(-0.5 * _squares(x / length))
    return covariance


def matern(x: np.ndarray, length: float) -> np.ndarray:
    """Matern with nu = 3/2: ``(1 + a) exp(-a)``, ``a = sqrt(3) r / length``."""
    scaled = np.sqrt(3 * _squares(x / length))
    covariance: np.ndarray = (1 + scaled) * np.exp(-scaled)
    return covariance


def rational_quadratic(x: np.ndarray, length: float) -> np.ndarray:
    """``1 / (1 + r^2 / (2 length^2))``: alpha = 1."""
    return 1 / (1 + 0.5 * _squares(x / length))


def periodic(x: np.ndarray, length: float) -> np.ndarray:
    """``exp(-2 sum_i sin(pi (x_i - x'_i) / p)^2 / length^2)`` with period p = 2 length.

    A product over the inputs; a kernel periodic in the distance is positive definite for one input only.
    """
    total = np.zeros((len(x), len(x)))
    for column in x.T:
        total += np.sin(np.pi * (column[:, None] - column[None, :]) / (2 * length)) ** 2
    covariance: np.ndarray = np.exp(-2 * total / length**2)
    return covariance


def non_stationary(x: np.ndarray, length: float) -> np.ndarray:
    """An RBF kernel times ``s(x) s(x')`` with ``s(x) = 1/2 + sigmoid(sum(x) / sqrt(inputs))``."""
    scale = 0.5 + 1 / (1 + np.exp(-x.sum(1) / np.sqrt(x.shape[1])))
    covariance: np.ndarray = scale[:, None] * rbf(x, length) * scale[None, :]
    return covariance


Kernel = Callable[[np.ndarray, float], np.ndarray]
KERNELS: Mapping[str, Kernel] = MappingProxyType(
    {
        "rbf": rbf,
        "matern": matern,
        "rational-quadratic": rational_quadratic,
        "periodic": periodic,
        "non-stationary": non_stationary,
    }
)


@dataclass(frozen=True)
class GaussianProcess:
    """``x [inputs]`` from N(0, I); ``y`` is one exact draw of the process at all points, without noise.

    Options: ``kernel`` (rbf, matern, rational-quadratic, periodic, non-stationary), ``inputs`` (10), ``points``
    (5,120, a fifth of them the test), ``length`` (sqrt(2 inputs)). The draw is a function of the seed.
    """

    name: str = "gaussian_process"

    def schema(self, options: Options) -> Schema:
        """Fields x, y; size inputs."""
        reader = OptionReader(self.name, options, ("kernel", "inputs", "points", "length"))
        self._kernel(reader), self._points(reader), reader.positive("length", 1.0)
        inputs = self._inputs(reader)
        return Schema({"x": FieldSchema((inputs,)), "y": FieldSchema(())}, {"inputs": inputs})

    def open(self, options: Options, path: str | None, *, seed: int = 0) -> SplitDataset:
        """Draw the function with this seed; raises ``UserError`` for a path, since no file is read."""
        schema = self.schema(options)
        if path is not None:
            raise takes_no_file(self.name, path)
        reader = OptionReader(self.name, options, options)
        inputs, points = self._inputs(reader), self._points(reader)
        length = reader.positive("length", (2 * inputs) ** 0.5)
        x, y = draw(KERNELS[self._kernel(reader)], inputs, points, length, seed)
        cut = points - max(1, round(points * TEST_SHARE))
        train, test = ArraySplit({"x": x[:cut], "y": y[:cut]}), ArraySplit({"x": x[cut:], "y": y[cut:]})
        origin = f"a Gaussian process ({self._kernel(reader)}, length {length:.4g}, seed {seed})"
        return SplitDataset(schema, origin, train, test, ("one function; training and test at different points",))

    def _kernel(self, reader: OptionReader) -> str:
        return reader.choice("kernel", "rbf", KERNELS)

    def _inputs(self, reader: OptionReader) -> int:
        return reader.size("inputs", 10, most=LARGEST_INPUTS)

    def _points(self, reader: OptionReader) -> int:
        return reader.size("points", 5120, least=10, most=LARGEST_POINTS)


def draw(kernel: Kernel, inputs: int, points: int, length: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points ``[points, inputs]`` and the values there ``[points]``, by the Cholesky factor of the covariance."""
    random = generator(seed)
    x = random.standard_normal((points, inputs))
    covariance = kernel(x, length)
    covariance[np.diag_indices(points)] += JITTER
    return x, np.linalg.cholesky(covariance) @ random.standard_normal(points)


def _squares(x: np.ndarray) -> np.ndarray:
    """Squared distances ``[n, n]`` between the rows of ``[n, inputs]``."""
    norms = (x**2).sum(1)
    squares: np.ndarray = np.maximum(0.0, norms[:, None] + norms[None, :] - 2 * x @ x.T)
    squares[np.diag_indices(len(x))] = 0
    return squares
