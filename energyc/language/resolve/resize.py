"""The dims of a spec when some are set to other values, without resolving the spec again."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from energyc.language.network import Network
from energyc.language.resolve.names import collect
from energyc.language.resolve.reporter import Reporter
from energyc.language.resolve.sizes import Sizes
from energyc.language.syntax import ast


class Resizing:
    """The formulas of a network's dims; consts and sizes of data stay what they are.

    ``free`` are the dims that can be set, ``behind`` the free ones that each derived dim follows.
    """

    def __init__(self, network: Network) -> None:
        self._network = network
        self._names = collect(network.tree.statements, Reporter(network.source))
        self._consts = {n: (c.value if c.exact is None else c.exact, None) for n, c in network.consts.items()}
        self.free = tuple(name for name, size in network.sizes.items() if not size.derived_from)
        self.behind: Mapping[str, frozenset[str]] = {
            name: self._behind(name) for name in network.sizes if name not in self.free
        }

    def _behind(self, name: str) -> frozenset[str]:
        sources, pending = set[str](), [name]
        while pending:
            size = self._network.sizes.get(pending.pop())
            for source in size.derived_from if size else ():
                if source not in sources:
                    sources.add(source)
                    pending.append(source)
        return frozenset(sources & set(self.free))

    def __call__(self, dims: Mapping[str, int]) -> dict[str, int] | None:
        """Every dim's size where the free ones have these; None where a formula then gives no size."""
        reporter = Reporter(self._network.source)
        overrides = {**self._consts, **{name: (Fraction(size), None) for name, size in dims.items()}}
        sizes = Sizes(self._names, reporter, overrides, self._data_size)
        try:
            sizes.compute()
        except RecursionError:
            return None
        values = {name: size.value for name, size in sizes.dims.items()}
        complete = not reporter.failed and len(values) == len(self._network.sizes)
        return values if complete and self._holds_orthogonal(values) else None

    def _holds_orthogonal(self, sizes: Mapping[str, int]) -> bool:
        """Whether each orthogonal param has no more vectors than a space of their length holds."""
        pairs = (
            (param.node.dims[row], param.node.dims[column])
            for param in self._network.params.values()
            for structure in param.structure
            if structure.kind == "orthogonal"
            for row, column in zip(structure.rows, structure.columns, strict=True)
        )
        return all(sizes[row] <= sizes[column] for row, column in pairs)

    def _data_size(self, field: ast.Field) -> int | None:
        """A size of data is known where it is a dim's whole formula."""
        sizes = self._network.sizes.values()
        return next((size.value for size in sizes if size.tree is not None and size.tree.value is field), None)
