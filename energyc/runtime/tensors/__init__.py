"""Arithmetic on tensors that knows no network: states, linear systems, reductions, sets, draws.

The package has the functions that generated equations call, as ``rt.ops.softplus``.

Imports: nothing; libraries: ``torch``.
"""

from .functions import *  # noqa: F403
from .indexing import *  # noqa: F403
from .params import *  # noqa: F403
