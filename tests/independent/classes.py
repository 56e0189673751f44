"""The squared error of a class, which the networks on digits share."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from tests.independent.network import half_square


def squared_error(scores: Tensor, label: Tensor) -> Tensor:
    """1/2 |y - onehot(label)|^2 of each sample, ``[batch]``."""
    return half_square(scores - F.one_hot(label, scores.shape[1]))
