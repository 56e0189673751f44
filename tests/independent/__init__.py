"""The shipped networks and the learning rules once more, written by hand from the papers in plain torch.

Nothing here knows the compiler: forces, Jacobians and gradients come from autograd in float64, convolutions,
normalisers and losses from torch's own operators. The tests beside this package hold the compiler to it.
"""

from tests.independent.cet import CET
from tests.independent.cet_lm import CETLanguageModel
from tests.independent.deep_hopfield import DeepHopfield
from tests.independent.hopfield import Hopfield
from tests.independent.hopfield_conv import HopfieldConv
from tests.independent.modern_hopfield import ModernHopfield
from tests.independent.network import Network, Random, Tensors
from tests.independent.predictive_coding import PredictiveCoding
from tests.independent.resistive import Resistive
from tests.independent.thick import Thick
from tests.independent.thick_tied import ThickTied
from tests.independent.thin import Thin

CONSERVATIVE: tuple[Network, ...] = (
    Hopfield(),
    DeepHopfield(),
    HopfieldConv(),
    ModernHopfield(),
    PredictiveCoding(),
    Resistive(),
    CET(),
    CETLanguageModel(),
)
NOT_CONSERVATIVE: tuple[Network, ...] = (Thick(), ThickTied(), Thin())

ALL = CONSERVATIVE + NOT_CONSERVATIVE

#: Specs that number their steps and so rest nowhere; their algorithms are modules of their own.
UNROLLED = ("tel", "tel_digits")
#: Specs whose kinks move by proximal steps; tests/specs/test_sparse_coding.py has its algorithm.
PROXIMAL = ("sparse_coding",)
#: Specs with a test of their own beside code by hand: tests/specs/test_monotone.py.
BY_HAND = ("monotone",)

__all__ = ["ALL", "BY_HAND", "CONSERVATIVE", "NOT_CONSERVATIVE", "PROXIMAL", "UNROLLED", "Network", "Random", "Tensors"]
