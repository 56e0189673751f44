"""Greek letters by their names."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

GREEK: Mapping[str, str] = MappingProxyType(
    {
        **{"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η"},
        **{"theta": "θ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π"},
        **{"rho": "ρ", "sigma": "σ", "tau": "τ", "upsilon": "υ", "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω"},
        **{"Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ"},
        **{"Upsilon": "Υ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω"},
    }
)
