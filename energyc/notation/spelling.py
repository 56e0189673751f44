"""How scalar functions are written: those of the language as they are, a slope as ``f'``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

#: Helper functions of the graph that are slopes of functions of the language: (function, primes).
SLOPE_OF: Mapping[str, tuple[str, int]] = MappingProxyType(
    {
        "silu_slope": ("silu", 1),
        "gelu_slope": ("gelu", 1),
        "gelu_tanh_slope": ("gelu_tanh", 1),
        "erf_slope": ("erf", 1),
        "step": ("relu", 1),
        "sign": ("abs", 1),
    }
)


#: Functions of the graph that no spec can name, as a spec would define them.
DEFINITIONS: Mapping[str, str] = MappingProxyType(
    {
        "silu_integral": "fn silu_integral'(u) = silu(u)",
        "gauss": "fn gauss(u) = exp(-u^2 / 2) / sqrt(6.283185307179586)",
    }
)


def spelled(function: str) -> tuple[str, int]:
    """The name and the number of primes that a function of the graph is written with."""
    return SLOPE_OF.get(function, (function, 0))


#: Greek letters by their names.
GREEK: Mapping[str, str] = MappingProxyType(
    {
        **{"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η"},
        **{"theta": "θ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π"},
        **{"rho": "ρ", "sigma": "σ", "tau": "τ", "upsilon": "υ", "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω"},
        **{"Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ"},
        **{"Upsilon": "Υ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω"},
    }
)
