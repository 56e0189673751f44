"""Names described: in words for hover, completion and the outline; by an icon and a colour in an editor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from lsprotocol.types import CompletionItemKind, SymbolKind

from energyc.language.diagnostics import listed
from energyc.language.resolve.names import noun
from energyc.language.settings import written
from energyc.language.syntax import ast, unparse
from energyc.surfaces.lsp.reading import Reading
from energyc.surfaces.lsp.symbols import Symbol

#: The longest text of an equation that is shown in full.
LONGEST = 400


@dataclass(frozen=True)
class Appearance:
    """How an editor shows names of a kind: its icons in completion and in the outline, its semantic token."""

    completion: CompletionItemKind
    outline: SymbolKind
    token: str
    modifier: str = ""


_VARIABLE = Appearance(CompletionItemKind.Variable, SymbolKind.Variable, "variable")
_INPUT = Appearance(CompletionItemKind.Field, SymbolKind.Field, "variable", "readonly")
_PARAM = Appearance(CompletionItemKind.Property, SymbolKind.Property, "property")
_TERM = Appearance(CompletionItemKind.Event, SymbolKind.Event, "event")
_BOUND = replace(_VARIABLE, token="parameter")
#: What is not here is a variable.
_APPEARANCES: Mapping[str, Appearance] = MappingProxyType(
    {
        "network": Appearance(CompletionItemKind.Module, SymbolKind.Module, "namespace"),
        "layer": Appearance(CompletionItemKind.Module, SymbolKind.Namespace, "namespace"),
        "data": Appearance(CompletionItemKind.Module, SymbolKind.Object, "namespace"),
        "preset": Appearance(CompletionItemKind.Struct, SymbolKind.Struct, "namespace"),
        "dim": Appearance(CompletionItemKind.TypeParameter, SymbolKind.TypeParameter, "type"),
        "const": Appearance(CompletionItemKind.Constant, SymbolKind.Constant, "variable", "readonly"),
        "fn": Appearance(CompletionItemKind.Function, SymbolKind.Function, "function"),
        "step": replace(_VARIABLE, modifier="readonly"),
        **dict.fromkeys(("clamp", "target", "noise"), _INPUT),
        **dict.fromkeys(("param", "tie"), _PARAM),
        **dict.fromkeys(("energy", "force"), _TERM),
        **dict.fromkeys(("index", "argument"), _BOUND),
    }
)


def appearance(symbol: Symbol) -> Appearance:
    """How an editor shows a symbol."""
    return _APPEARANCES.get(symbol.kind, _VARIABLE)


def title(reading: Reading, symbol: Symbol) -> str:
    """A symbol as a declaration would write it: ``param W[D, C]``, ``index d in D``."""
    dims = reading.dims(symbol)
    shape = f"[{', '.join(dims)}]" if dims else ""
    match symbol.kind:
        case "index":
            over = reading.range(symbol)
            return f"index {symbol.name}" + (f" in {over}" if over else "")
        case "dim":
            size = reading.size(symbol.name)
            return f"dim {symbol.name}" + (f" = {size}" if size is not None else "")
        case "const":
            const = reading.network.consts.get(symbol.name) if reading.network else None
            value = "" if const is None else f" = {written(const.exact if const.exact is not None else const.value)}"
            return f"const {symbol.name}{value}"
        case "fn" if isinstance(symbol.tree, ast.Function):
            return f"fn {_called(symbol.tree)}"
        case "force" if isinstance(symbol.tree, ast.Equation):
            return f"force {symbol.name} on {symbol.tree.left.name.text}"
    return f"{symbol.kind} {symbol.name}{shape}"


def _called(tree: ast.Function) -> str:
    indices = f"[{', '.join(name.text for name in tree.indices)}]" if tree.indices else ""
    prime = "'" if tree.prime else ""
    return f"{tree.name.text}{prime}{indices}({', '.join(name.text for name in tree.arguments)})"


def detail(reading: Reading, symbol: Symbol) -> str:
    """The kind of a symbol and its shape with sizes, in a few words: ``param [D, C] = 64 x 32``."""
    dims = reading.dims(symbol)
    match symbol.kind:
        case "index":
            over = reading.range(symbol)
            size = reading.size(over) if over else None
            return "index" + (f" over {over}" if over else "") + (f" = {size}" if size is not None else "")
        case "dim" | "const":
            return title(reading, symbol).replace(f" {symbol.name}", "", 1)
    over = _over(symbol)
    shape = f" {reading.shape(dims)}" if dims is not None else ""
    return f"{noun(symbol.kind)}{shape}" + (f", integers below {over}" if over else "")


def _over(symbol: Symbol) -> str | None:
    """The dim that the values of an integer input lie in."""
    tree = symbol.tree
    return tree.kind.text if isinstance(tree, ast.InputItem) and tree.kind is not None else None


def facts(reading: Reading, symbol: Symbol) -> list[str]:
    """The facts of a symbol, a sentence each, in Markdown."""
    said: list[str] = []
    dims = reading.dims(symbol)
    if dims:
        said.append(f"{reading.shape(dims)}{_count(reading, dims)}")
    match symbol.tree:
        case ast.InputItem(kind=kind, source=source):
            said += [f"integers below {kind.text}"] if kind is not None else []
            said += [f"from `{source.owner.text}.{source.field.text}`"] if source is not None else []
        case ast.ParamItem():
            said += _start(reading, symbol)
        case ast.StateItem(domains=domains):
            said += _sets(reading, domains)
        case ast.Definition(value=value) if not isinstance(value, ast.Number):
            said.append(f"`{symbol.name} = {unparse(value)}`")
        case ast.Data(adapter=adapter):
            said.append(f"by `{adapter.text}`")
        case ast.Function() as function:
            said.append(f"`{_called(function)} = {_short(unparse(function.body))}`")
        case ast.Equation(right=right) if symbol.kind not in ("index", "argument"):
            said.append(f"`= {_short(unparse(right))}`")
    if symbol.kind == "index":
        over = reading.range(symbol)
        said.append(_range(reading, over) if over else "its dim is not known")
    if symbol.owner:
        said.append(f"in layer `{symbol.owner}`")
    return said


def _range(reading: Reading, over: str) -> str:
    size = reading.size(over)
    return f"runs over {over}" + (f", from 0 to {size - 1}" if size is not None else "")


def _count(reading: Reading, dims: tuple[str, ...]) -> str:
    total = 1
    for dim in dims:
        size = reading.size(dim)
        if size is None:
            return ""
        total *= size
    return f" = {total:,} numbers" if len(dims) > 1 else ""


def _start(reading: Reading, symbol: Symbol) -> list[str]:
    network = reading.network
    key = f"{symbol.owner}.{symbol.name}" if symbol.owner else symbol.name
    param = network.params.get(key) if network else None
    if param is None:
        return []
    said = []
    if param.law is not None:
        arguments = ", ".join(f"{value:g}" for value in param.law.arguments)
        said.append(f"starts as `{param.law.name}({arguments})`" if arguments else f"starts as `{param.law.name}`")
    elif isinstance(symbol.tree, ast.ParamItem) and symbol.tree.value is not None:
        said.append(f"starts at `{unparse(symbol.tree.value)}`")
    return said + (_sets(reading, symbol.tree.domains) if isinstance(symbol.tree, ast.ParamItem) else [])


def _sets(reading: Reading, domains: Sequence[ast.Box | ast.NamedSet]) -> list[str]:
    written = [f"`{reading.source.slice(domain.span)}`" for domain in domains]
    return [f"kept in {listed(written)}"] if written else []


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
