"""The kernels of a network or of its layers, and the module around them, whatever language they are printed in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from energyc.code.emit.context import Context, Options
from energyc.code.emit.formulas import formulas
from energyc.code.emit.layout import broken_lines
from energyc.code.emit.torch_layers import Around, layer_contexts, layered_parts
from energyc.code.emit.torch_module import Parts, module, torch_module
from energyc.code.emit.torch_param_sets import param_sets
from energyc.code.emit.torch_part import Carried, final_class, network_part
from energyc.code.loops import Equations, Kernel, NotLowered, Rows, free_phase, nudged_phase, tracking_phases
from energyc.code.targets.names import Names
from energyc.language.network import Network
from energyc.mathematics.ir import Node


@dataclass(frozen=True)
class Relaxing:
    """A network, or a layer, with the kernels of its phases, whose names begin with ``prefix``.

    Where it has none, ``reason`` says why.
    """

    context: Context
    kernels: tuple[Kernel, ...]
    prefix: str = ""
    reason: str = ""

    @property
    def settings(self) -> tuple[str, ...]:
        """Lines of the class: what the names begin with, and whether the kernels leave out what is for training."""
        prefix = (f'_kernel_prefix = "{self.prefix}"',) if self.prefix else ()
        return (*prefix, *(("_kernels_in_training = False",) if self.context.network.training is not None else ()))


#: Kernels in a language: the definitions of a module, and the expression of the object that runs them.
Printed = Callable[[Sequence[Relaxing]], tuple[str, str]]


def kernel_module(network: Network, options: Options, rows: Rows, printed: Printed) -> str:
    """The text of the module; where a network has no kernels it is that of the torch target, and says why."""
    try:
        relaxing = kernels_of(network, options, rows)
    except NotLowered as reason:
        title, rest = torch_module(network, options).split("Passes:", 1)
        return f"{title}Kernels: none: {reason}\nPasses:{rest}"
    definitions, expression = printed([r for r in relaxing if r.kernels])
    own, classes = (_layered if network.blocks else _plain)(network, options, relaxing, expression)
    return module(network, options, (own, f"{definitions}\n\n\n{classes}"), [_said(relaxing)])


def _said(relaxing: Sequence[Relaxing]) -> str:
    """The line of the head that tells which kernels there are, and which layers have none."""
    names = ", ".join(kernel.name for r in relaxing for kernel in r.kernels)
    without = [f"{r.context.network.name} has none: {r.reason}" for r in relaxing if r.reason]
    return "; ".join([f"Kernels: {names}", *without])


def _plain(network: Network, options: Options, relaxing: Sequence[Relaxing], expression: str) -> Parts:
    """The parts of a network without layers."""
    (own,) = relaxing
    context = own.context
    about = "The network: its equations, relaxed by kernels and learned."
    body = [f"learning_rules = ({', '.join(rule.module for rule in context.features.rules)},)"]
    body += [*context.features.hooks, f"kernels = {expression}", *own.settings, *param_sets(context)]
    return network_part(context, _given(own)), final_class(context, about, body, ("KernelNetwork",))


def _layered(network: Network, options: Options, relaxing: Sequence[Relaxing], expression: str) -> Parts:
    """The parts of a network of layers, which share one object of kernels."""
    layers = {r.context.network.name: r for r in relaxing}
    carried = {
        name: Carried(_given(r), ("KernelNetwork",), ("kernels = KERNELS", *r.settings))
        for name, r in layers.items()
        if r.kernels
    }
    around = Around({name: r.context for name, r in layers.items()}, carried)
    own, classes = layered_parts(network, options, around)
    shared = "\n".join(broken_lines([f"KERNELS = {expression}"]))
    return own, f"#: The kernels of the layers.\n{shared}\n\n\n{classes}"


def kernels_of(network: Network, options: Options, rows: Rows = "array") -> list[Relaxing]:
    """The kernels of a network's phases or of its layers', whose groups keep their rows so.

    Raises NotLowered where there are none.
    """
    if not network.blocks:
        return [_phases(Context(network, options), rows)]
    names = Names()
    found = [_layer(c, names.new(name), rows) for name, c in layer_contexts(network, options).items()]
    if not any(r.kernels for r in found):
        raise NotLowered("; ".join(f"in layer {r.context.network.name}, {r.reason}" for r in found))
    return found


def _layer(context: Context, prefix: str, rows: Rows) -> Relaxing:
    try:
        return _phases(context, rows, prefix)
    except NotLowered as reason:
        return Relaxing(context, (), prefix, str(reason))


def _phases(context: Context, rows: Rows, prefix: str = "") -> Relaxing:
    """The kernels of a network, or of a layer, which is not nudged. Raises NotLowered."""
    if context.network.relax.solver == "newton":
        raise NotLowered("its solver is newton")
    if rows == "array" and context.network.train.products == "bfloat16":
        raise NotLowered("its products are in bfloat16, and C++ kernels compute in the type of the states")
    equations = _equations(context, rows, prefix)
    kernels = [free_phase(equations)]
    if context.features.needs("contrast") and not prefix and context.network.training is None:
        kernels.append(nudged_phase(equations))
        if any(rule.name in ("tracking-aep", "dyadic-ep") for rule in context.features.rules) and equations.correction:
            kernels.append(tracking_phases(equations))
    return Relaxing(context, tuple(kernels), prefix)


def _equations(context: Context, rows: Rows, prefix: str) -> Equations:
    """What the plan computes at each step, by state."""
    outputs = {r.name: {o.key: o.node for o in r.outputs} for r in context.plan.routines}
    states = context.network.states

    def by_state(routine: str) -> dict[str, Node]:
        return {key: node for key, node in outputs.get(routine, {}).items() if key in states}

    nudge = by_state("_nudge") if context.options.descends else by_state("_cost_pullback")
    return Equations(
        context.network,
        by_state("_force"),
        nudge,
        by_state("_correction"),
        context.derivation.directions,
        context.fields,
        context.plan.names,
        formulas(context, (node for found in outputs.values() for node in found.values())),
        rows,
        prefix,
    )


def _given(relaxing: Relaxing) -> Callable[[], Iterator[str]]:
    """The method that lists what each kernel reads."""
    context = relaxing.context

    def methods() -> Iterator[str]:
        names: Mapping[Node, str] = {**context.own_names()[0], **context.names_in_fixed()}
        targets = {t.node: f"targets[{k}]" for k, t in enumerate(context.network.targets.values())}
        head = f"def _given(self, name: str, fixed: {context.called.fixed}, targets: Tensors) -> list[Tensor]:"
        lines = [head, '    """What a kernel reads, in its order."""']
        for kernel in relaxing.kernels:
            read = ", ".join((targets | dict(names))[node] for node, _ in kernel.given)
            lines += [f'    if name == "{kernel.name}":', f"        return [{read}]"]
        lines.append("    raise KeyError(name)")
        yield "\n".join(broken_lines(lines))

    return methods
