"""A network as a PyTorch module whose phases run in C++ kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from energyc.emit.context import Context, Options
from energyc.emit.cpp_kernels import KernelWriter
from energyc.emit.cpp_text import folded
from energyc.emit.layout import broken_lines
from energyc.emit.torch_module import module, torch_module
from energyc.emit.torch_part import network_part
from energyc.ir import Node
from energyc.loops import Equations, Kernel, NotLowered, Rows, free_phase, nudged_phase, tracking_phases
from energyc.notation import left_side
from energyc.resolve.network import Network
from energyc.resources import resource


def cpp_module(network: Network, options: Options) -> str:
    """The text of the module; where a network has no kernels it is that of the torch target, and says why."""
    try:
        kernels, context = kernels_of(network, options)
    except NotLowered as reason:
        return without_kernels(network, options, reason)
    source = _source(kernels, context)
    own = network_part(context, given_methods(kernels, context))
    about = "The network: its equations, relaxed by kernels and learned."
    body = [f"learning_rules = ({', '.join(rule.module for rule in context.features.rules)},)"]
    body += context.features.hooks
    names = ", ".join(f'"{kernel.name}"' for kernel in kernels)
    body.append(f"kernels = Kernels(SOURCE, ({names},))")
    called = context.called
    lines = [f"class {called.own}({called.equations}, KernelNetwork):", f'    """{about}"""', ""]
    final = "\n".join([*lines, *(f"    {line}" for line in broken_lines(body))])
    text = f'#: The kernels in C++17.\nSOURCE = r"""{source}"""'
    return module(network, options, (own, f"{text}\n\n\n{final}"), [f"Kernels: {', '.join(k.name for k in kernels)}"])


def without_kernels(network: Network, options: Options, reason: NotLowered) -> str:
    """The module of the torch target, which says why it has no kernels."""
    title, rest = torch_module(network, options).split("Passes:", 1)
    return f"{title}Kernels: none: {reason}\nPasses:{rest}"


def kernels_of(network: Network, options: Options, rows: Rows = "array") -> tuple[list[Kernel], Context]:
    """The kernels of a network's phases, whose groups keep their rows so. Raises NotLowered."""
    if network.blocks:
        raise NotLowered("it has layers")
    if network.relax.solver == "newton":
        raise NotLowered("its solver is newton")
    context = Context(network, options)
    equations = _equations(context, rows)
    kernels = [free_phase(equations)]
    if context.features.needs("contrast"):
        kernels.append(nudged_phase(equations))
    if any(rule.name == "tracking-aep" for rule in context.features.rules) and equations.correction:
        kernels.append(tracking_phases(equations))
    return kernels, context


def _equations(context: Context, rows: Rows) -> Equations:
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
        partial(_formula, context),
        rows,
    )


def _formula(context: Context, node: Node) -> str:
    """A node as its definition, in the notation of the spec."""
    text = context.notation.text(node)
    name = context.plan.names.get(node)
    return f"{left_side(name, context.notation.indices(node))} = {text}" if name else text


def _source(kernels: list[Kernel], context: Context) -> str:
    """The C++ source: what all kernels use, and the network's own."""
    return "\n".join(["", (resource("codegen") / "cpp" / "kernels.h").read_text(), own_source(kernels, context)])


def own_source(kernels: list[Kernel], context: Context) -> str:
    """The network's own part of the C++ source: tables of places, and its kernels."""
    tables: dict[str, str] = {}
    body = [line for kernel in kernels for line in KernelWriter(kernel, context.network.extents, tables).write()]
    places = [f"static const Places {name} = places({labels});" for labels, name in tables.items()]
    return "\n".join(piece for line in [*places, "", *body] for piece in folded(line))


def given_methods(kernels: list[Kernel], context: Context) -> Callable[[], Iterator[str]]:
    """The method that lists what each kernel reads."""

    def methods() -> Iterator[str]:
        names: Mapping[Node, str] = {**context.own_names()[0], **context.names_in_fixed()}
        network = context.network
        targets = {t.node: f"targets[{k}]" for k, t in enumerate(network.targets.values())}
        lines = ["def _given(self, name: str, fixed: Fixed, targets: Tensors) -> list[Tensor]:"]
        lines += ['    """What a kernel reads, in its order."""']
        for kernel in kernels:
            read = ", ".join((targets | dict(names))[node] for node, _ in kernel.given)
            lines += [f'    if name == "{kernel.name}":', f"        return [{read}]"]
        lines.append("    raise KeyError(name)")
        yield "\n".join(broken_lines(lines))

    return methods
