"""The sets of params in PyTorch: starts on them, and the methods that lead params and gradients back to them."""

from __future__ import annotations

from collections.abc import Mapping

from energyc.code.emit.context import Context
from energyc.language.network import Param, Structure

#: What each set does to a param, and what it leaves of a gradient; ``unit`` reads no rows.
_NEAREST: Mapping[str, str] = {
    "symmetric": "symmetric",
    "zero_diagonal": "zero_diagonal",
    "orthogonal": "orthogonal",
    "sphere": "unit",
}
_ALONG: Mapping[str, str] = {"orthogonal": "along_orthogonal", "sphere": "along_sphere"}


def on_sets(value: str, param: Param, *, drawn: bool) -> str:
    """A starting value on the sets of its param; what is ``drawn`` symmetric keeps the variance of its law."""
    for part in param.structure:
        nearest = "mirrored" if part.kind == "symmetric" and drawn else _NEAREST[part.kind]
        value = f"{nearest}({value}, {_axes(part)})"
    return value


def param_sets(context: Context) -> list[str]:
    """``project_params`` and ``project_gradients`` of a network that has params with structure."""
    structured = {name: param for name, param in context.network.params.items() if param.structure}
    if not structured:
        return []
    lines = [
        "",
        "@torch.no_grad()",
        "def project_params(self) -> None:",
        '    """Put params back on their sets."""',
    ]
    for name, param in structured.items():
        attribute = f"self.{context.params[name]}"
        lines.append(f"    {attribute}.copy_({on_sets(attribute, param, drawn=False)})")
    lines += [
        "    super().project_params()",
        "",
        "@torch.no_grad()",
        "def project_gradients(self, gradients: Mapping[str, Tensor]) -> dict[str, Tensor]:",
        '    """The parts of gradients along the sets of their params."""',
        "    along = dict(gradients)",
    ]
    for name, param in structured.items():
        lines.append(f'    if "{name}" in along:')
        along = f'along["{name}"]'
        for part in param.structure:
            at = f", self.{context.params[name]}" if part.kind in _ALONG else ""
            lines.append(f"        {along} = {_ALONG.get(part.kind, part.kind)}({along}{at}, {_axes(part)})")
    return [*lines, "    return along"]


def _axes(part: Structure) -> str:
    groups = (part.columns,) if part.kind == "sphere" else (part.rows, part.columns)
    return ", ".join(f"({', '.join(map(str, axes))}{',' * (len(axes) == 1)})" for axes in groups)
