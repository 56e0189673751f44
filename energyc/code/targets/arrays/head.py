"""The head of a module: its network, and where it comes from."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from energyc.code.module.context import Options
from energyc.code.tree.prose import wrapped
from energyc.language.network import Network


def head(network: Network, rules: Sequence[str], options: Options, further: Sequence[str] = ()) -> tuple[str, ...]:
    """The lines of the docstring; ``further`` are those of a target."""
    about = f"{network.name}: {network.description}" if network.description else network.name
    digest = hashlib.sha256(network.source.text.encode()).hexdigest()
    return (
        *wrapped(about),
        "",
        f"Made by energyc {options.version} from {options.label}",
        f"SHA-256 of the spec: {digest}",
        *wrapped(f"Rules: {', '.join(rules)}", "    "),
        *([f"Options: {options.settings}"] if options.settings else []),
        *further,
    )
