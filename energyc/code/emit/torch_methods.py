"""The routines of a module as methods."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from energyc.code.emit.code import Code
from energyc.code.emit.context import Context
from energyc.code.emit.layout import WIDTH, broken_lines, escaped, wrapped
from energyc.code.emit.routines import Prepared, Signature
from energyc.code.emit.torch_nodes import TorchWriter
from energyc.code.emit.torch_routines import Codes, RoutineWriter
from energyc.code.plan import PlannedRoutine, statements_for
from energyc.derivation.notation import left_side
from energyc.mathematics.ir import Node

#: The lines of an early return, from the expressions of what is not summed.
EarlyReturn = Callable[[Mapping[str, Code]], list[str]]

_RESULTS = {
    "list": "list[Tensor]",
    "states": "list[Tensor | None]",
    "dict": "dict[str, Tensor]",
    "both": "tuple[list[Tensor | None], dict[str, Tensor]]",
}


class MethodWriter:
    """Writes the methods of one class with one writer of expressions."""

    def __init__(self, context: Context, writer: TorchWriter) -> None:
        self.context = context
        self.writer = writer

    def prepare(self, fixed: Mapping[Node, str]) -> str:
        """``_prepare``: clamps in, clamps and what depends on clamps and params alone out, under the names given."""
        c = self.context
        clamps: dict[Node, str] = {item.node: c.local[n] for n, item in c.given.items()}
        arguments = "".join(f", {name}: Tensor" for name in clamps.values())
        wishes = {**c.plan.names, **fixed}
        statements = statements_for(list(fixed), set(c.plan.constants), c.plan.names, c.options.passes)
        body, _ = self._body(PlannedRoutine("_prepare", statements, ()), {**clamps, **c.set}, wishes, "batch")
        made = [body.named.get(node, name) for node, name in fixed.items()]
        body.prune([Code(name) for name in made])
        lines = [
            f"def _prepare(self{arguments}) -> {c.called.fixed}:",
            '    """What depends on clamps and params alone."""',
        ]
        lines += [f"    {line}" for line in self._set()]
        lines += [f"    {line}" for line in body.lines]
        lines.append(f"    return {c.called.fixed}({', '.join([*clamps.values(), *c.set.values(), *made])})")
        return "\n".join(broken_lines(lines))

    def _set(self) -> Iterator[str]:
        """The lines that set what is neither given nor computed; outside of a relaxation the step is the last one."""
        step, sizes = self.context.step, self.context.network.extents
        for node, name in self.context.set.items():
            value = "self.training" if step is None or node is not step else sizes[step.over or ""] - 1
            yield f"{name} = torch.tensor({value}, device=self.device)"

    def hold(self, held: Sequence[Node], statements: Sequence[Node]) -> tuple[str, dict[Node, str]]:
        """``_hold``: states in, what depends on them and not on a direction out; also the names of the fields."""
        c = self.context
        signature = Signature("_hold", ("states", "fixed"), "list", "", ())
        names, loads = self._inputs(signature)
        routine = PlannedRoutine("_hold", tuple(statements), ())
        body, _ = self._body(routine, names, c.fixed_names(held), "len(states[0])")
        fields = {node: body.named.get(node) or names[node] for node in held}
        body.prune([Code(name) for name in fields.values()])
        returned = f"return Held({', '.join(fields.values())})"
        lines = [f"def _hold(self, states: Tensors, fixed: {c.called.fixed}) -> Held:"]
        lines.append('    """What the correction at these states needs, whatever the direction."""')
        lines += self._lines(loads, [*body.lines, returned])
        return "\n".join(broken_lines(lines)), fields

    def method(self, prepared: Prepared, planned: PlannedRoutine, given: Mapping[Node, str] | None = None) -> str:
        """A routine as a method; ``given`` are names of what it finds made beside its inputs."""
        signature = prepared.signature
        names, loads = self._inputs(signature)
        batched = next((c for c in ("states", "seeds", "directions", "plus") if c in signature.arguments), None)
        batch = self.context.samples_fixed if batched is None else f"len({batched}[0])"
        split = signature.split and any(output.summed for output in planned.outputs)
        early = _early_return(signature) if split else None
        body, codes = self._body(planned, {**names, **(given or {})}, self.context.plan.names, batch, early)
        body.prune([*codes[0].values(), *codes[1].values()])
        returned = _returned(signature, *codes)
        head = [*_head(signature, self.context.called.fixed), *docstring(signature.doc, self._formulas(signature))]
        return "\n".join([*head, *broken_lines(self._lines(loads, [*body.lines, returned]))])

    def _body(
        self,
        routine: PlannedRoutine,
        names: Mapping[Node, str],
        wishes: Mapping[Node, str],
        batch: str,
        early: EarlyReturn | None = None,
    ) -> tuple[RoutineWriter, Codes]:
        own, masks = self.context.own_names()
        self.writer.masks.update(masks)
        with self.writer.scope({**own, **names}):
            body = RoutineWriter(self.writer, self.context.globals.child(), wishes, self.context.options.passes, batch)
            return body, body.write(routine, early)

    def _lines(self, loads: Sequence[str], body: Sequence[str]) -> list[str]:
        text = "\n".join(body)
        return [f"    {line}" for line in [*filter(None, (_trimmed(load, text) for load in loads)), *body]]

    def _inputs(self, signature: Signature) -> tuple[dict[Node, str], list[str]]:
        """What a method calls its inputs, and the lines that take them out of their containers."""
        c, d = self.context, self.context.derivation
        tables: dict[str, dict[str, Node]] = {
            "states": dict(d.states),
            "targets": {n: t.node for n, t in c.network.targets.items()},
            "seeds": dict(d.readout_seeds if signature.seeds_readouts else d.seeds),
            "directions": dict(d.directions),
            "plus": dict(d.plus),
            "minus": dict(d.minus),
            "sums": dict(d.sums.inputs) if c.sums else {},
        }
        called = {"states": c.local, "targets": c.local, "seeds": c.seeds, "directions": c.directions}
        called |= {"plus": c.plus, "minus": c.minus, "sums": c.sums}
        names = c.names_in_fixed() if "fixed" in signature.arguments else {}
        loads = []
        for container, table in tables.items():
            if container in signature.arguments and table:
                local = {node: called[container][n] for n, node in table.items()}
                names.update(local)
                loads.append(_unpack(list(local.values()), container))
        return names, loads

    # ------------------------------------------------------------ formulas

    def _formulas(self, signature: Signature) -> list[str]:
        """The equations of what a routine computes: the spec's own, or derived ones in its notation."""
        c, d, name = self.context, self.context.derivation, signature.name
        written = {
            "_terms": [q.tree for q in c.network.energies.values()],
            "_families": [q.tree for q in c.network.energies.values() if q.is_family],
            "_readouts": [q.tree for q in c.network.readouts.values()],
            "_cost": [q.tree for q in c.network.costs.values()],
            "_metrics": [q.tree for q in c.network.reported.values()],
        }
        if name in written:
            texts = (c.network.source.slice(tree.span) for tree in written[name])
            return [line for text in texts for line in wrapped(text, indent="    ")]
        derived = {
            "_force": ("F_{}", d.force),
            "_slopes": ("grad({})", d.slopes),
            "_cost_force": ("dC/d{}", d.cost_force),
            "_cost_pullback": ("dC/d{}", {**d.cost_force, **d.cost_gradient}),
            "_energy_gradient": ("dE/d{}", {n: x for n, x in d.energy_gradient.items() if n in signature.keys}),
            "_energy_contrast": ("c_{}", d.energy_contrast),
            "_nudge": ("n_{}", d.nudge if d.descends else {}),
            "_descent_gradient": ("dE/d{}", {n: x for n, x in d.descent_gradient.items() if n in signature.keys}),
            "_clamped": ("{}", d.clamped),
            "_predictions": ("{}", d.predicted if name == "_predictions" else {}),
        }
        label, nodes = derived.get(name, ("", {}))
        flows = c.network.flows.values() if name == "_force" else ()
        texts = (c.network.source.slice(flow.tree.span) for flow in flows)
        as_written = [line for text in texts for line in wrapped(text, indent="    ")]
        return as_written + [line for n, node in nodes.items() for line in self._formula(label.format(n), node)]

    def _formula(self, label: str, node: Node) -> list[str]:
        notation = self.context.notation
        text = f"{left_side(label, notation.indices(node))} = {notation.text(node)}"
        return wrapped(text, indent="    ")


def docstring(doc: str, formulas: Sequence[str]) -> list[str]:
    """A docstring of a sentence and formulas, as the lines of a body."""
    first, *rest = wrapped(escaped(doc))
    body = [*rest, *(["", *map(escaped, formulas)] if formulas else [])]
    if not body:
        return [f'    """{first}"""']
    return [f'    """{first}', *(f"    {line}".rstrip() for line in body), '    """']


def _head(signature: Signature, fixed: str) -> list[str]:
    kinds = {"fixed": fixed, "held": "Held"}
    arguments = "".join(f", {a}: {kinds.get(a, 'Tensors')}" for a in signature.arguments)
    arguments += ", params: bool = True" * signature.split
    line = f"def {signature.name}(self{arguments}) -> {_RESULTS[signature.gives]}:"
    before, after = f"def {signature.name}(", f") -> {_RESULTS[signature.gives]}:"
    return [line] if len(line) <= WIDTH else [before, f"    self{arguments}", after]


def _early_return(signature: Signature) -> EarlyReturn:
    """Where the caller wants no slopes by params."""
    return lambda codes: ["if not params:", f"    {_returned(signature, codes, {})}"]


def _returned(signature: Signature, codes: Mapping[str, Code], summed: Mapping[str, Code]) -> str:
    listed = f"[{', '.join(codes[key].text if key in codes else 'None' for key in signature.keys)}]"
    if signature.gives in ("list", "states"):
        return f"return {listed}"
    keyed = codes if signature.gives == "dict" else {k: c for k, c in codes.items() if k not in signature.keys}
    items = ", ".join(f'"{key}": {code.text}' for key, code in {**keyed, **summed}.items())
    return f"return {{{items}}}" if signature.gives == "dict" else f"return {listed}, {{{items}}}"


def _unpack(names: Sequence[str], container: str) -> str:
    return f"({names[0]},) = {container}" if len(names) == 1 else f"{', '.join(names)} = {container}"


def _trimmed(load: str, text: str) -> str:
    """An unpacking with ``_`` for the names that the text does not read; nothing where it reads none."""
    left, right = load.split(" = ")
    names = re.findall(r"[A-Za-z_]\w*", left)
    words = set(re.findall(r"(?<![\w.\"])\w+", text))
    read = [name if name in words else "_" for name in names]
    return _unpack(read, right) if set(read) != {"_"} else ""
