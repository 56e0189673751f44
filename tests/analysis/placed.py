"""The body of a spec elsewhere: in a layer, in one that is repeated, as families of energies, as a row of copies."""

from __future__ import annotations

import re

from energyc.language.network import Network
from energyc.proofs.claims.judgement import Kernel
from energyc.proofs.conservativeness.certified import Symmetries
from energyc.proofs.verdicts.trees import Trees

#: What stays outside of a layer.
OUTSIDE = ("dim", "param", "const", "fn")


def kernel_of(network: Network) -> Kernel:
    """The checker as it is asked about a network."""
    return Trees(Symmetries(network, network.tree))


def in_layer(body: str, repeated: bool = False) -> str:
    """The body in ``layer inner``, read by a cost; or in one that stands there three times."""
    inside = "".join(f"  {line}\n" for line in body.splitlines() if not line.startswith(OUTSIDE))
    outside = "".join(f"{line}\n" for line in body.splitlines() if line.startswith(OUTSIDE))
    state = re.findall(r"state (\w+)", body)[0]
    dims = body.split(f"state {state}[")[1].split("]")[0] if f"state {state}[" in body else ""
    index = ",".join(f"{letter} in {dim.strip()}" for letter, dim in zip("pq", dims.split(","), strict=False) if dim)
    places = ",".join("pq"[: index.count(" in ")])
    read = f"inner.{state}[{places}]" if index else f"inner.{state}"
    total = f"sum[{index}]({read}^2)" if index else f"{read}^2"
    layer = f"layer inner {{\n{inside}}}\n"
    if not repeated:
        return f"{outside}{layer}cost whole = {total}"
    along = f"state along\nstart along = x[0]\n{layer}next along = along + {total}\n"
    return f"{outside}dim COPIES = 3\nrepeat COPIES {{\n{along}}}\ncost whole = along"


def in_families(body: str) -> str:
    """Each energy as a family of four members that add up to it."""
    return re.sub(r"^energy (\w+) = (.*)$", r"energy \1[member in N] = 1/4*(\2)", body, flags=re.MULTILINE)


def in_copies(body: str) -> str:
    """Two copies side by side, of all states and lets; the params are shared."""
    names = {name for left in re.findall(r"^state (.*)$", body, re.MULTILINE) for name in _declared(left)}
    names |= set(re.findall(r"^let (\w+)", body, re.MULTILINE))
    lines = ["dim COPIES = 2", *(_of_copies(line, names) for line in body.splitlines())]
    return "\n".join(lines)


def _declared(left: str) -> list[str]:
    """The names of states in a declaration."""
    return re.findall(r"(?:^|, )([a-z]\w*)", re.sub(r"\[[^\]]*\]", "", left))


def _of_copies(line: str, names: set[str]) -> str:
    word, _, rest = line.partition(" ")
    if word in ("dim", "param", "const", "fn", "relax", "clamp", "target"):
        return line
    index = "COPIES" if word == "state" else "copy"
    for name in names:
        rest = re.sub(rf"\b{name}\[", f"{name}<{index},", rest)
        rest = re.sub(rf"\b{name}\b(?![<\[(])", f"{name}[{index}]", rest)
    rest = rest.replace("<", "[") if word == "state" else rest.replace("<copy,", "[copy,")
    if word == "let":
        rest = rest.replace("[copy", "[copy in COPIES", 1)
    if word == "energy":
        left, _, right = rest.partition(" = ")
        rest = f"{left} = sum[copy in COPIES]({right})"
    return f"{word} {rest}"
