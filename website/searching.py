"""What readers call the subject of a page, where its headings say it in other words: the search weighs these most.

The search also takes each word of a query for the beginning of others, so that "a run" finds "architecture": without
these words a page whose title happens to begin alike comes before the page that is meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

#: The page -> its subjects.
SUBJECTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "tutorial.md": ("install", "getting started", "first network"),
        "rules.md": ("equilibrium propagation", "nudge", "EP", "learning rule", "predictive coding", "contrastive"),
        "for-ep-papers.md": ("reproduce", "equilibrium propagation", "paper"),
        "for-hardware.md": ("hardware", "analog", "neuromorphic"),
        "for-layers.md": ("Hopfield layer", "torch module", "DEQ", "deep equilibrium model"),
        "from-torch.md": ("torch", "autograd"),
        "data.md": ("own data", "dataset", "train on data"),
        "training.md": ("train", "resume", "run", "checkpoint", "does not settle", "converge", "optimizer"),
        "verify.md": ("gradient error", "cosine", "settle"),
        "hardware.md": ("SPICE", "netlist", "circuit", "Ising", "quantization", "mismatch"),
        "conservativeness.md": ("asymmetric", "Jacobian", "proof", "gradient field", "witness"),
        "certificates.md": ("certificate", "proof", "checker"),
        "kernels.md": ("C++", "Triton", "GPU", "fast"),
        "ranks.md": ("several GPUs", "distributed", "torchrun"),
        "results.md": ("accuracy", "measured"),
        "benchmarks/index.md": ("benchmark", "speed", "JAX", "torch.compile"),
        "language.md": ("syntax", "grammar", "spec"),
        "interface.md": ("command line", "Python interface", "API", "notebook"),
        "editors.md": ("language server", "LSP", "VS Code"),
    }
)
