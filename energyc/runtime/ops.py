"""The functions on tensors that equations call, as ``rt.ops.softplus``."""

from .tensors.functions import *  # noqa: F403
from .tensors.indexing import *  # noqa: F403
from .tensors.param_sets import *  # noqa: F403
from .tensors.reductions import *  # noqa: F403
