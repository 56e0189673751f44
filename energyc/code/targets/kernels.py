"""The kernels of a network or of its layers, and the module around them, whatever language they are printed in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from energyc.code.loops import (
    Adjoint,
    Back,
    Block,
    Equations,
    Kernel,
    NotLowered,
    Rows,
    adjoint_phase,
    adjoint_solve,
    free_phase,
    nudged_phase,
    nudged_sweeps,
    recorded_phase,
    rounding,
    settling_phase,
    steps_back,
    sweeps,
    tracking_phases,
)
from energyc.code.module.context import Context, Options
from energyc.code.module.formulas import formulas
from energyc.code.module.printed import Printed, Share
from energyc.code.module.symbols import Symbols
from energyc.code.plan import ModulePlan
from energyc.code.plan.routines import BLOCK, slope_key, sum_key
from energyc.code.targets.names import SIZE, Names
from energyc.code.targets.torch.classes import learning_rules
from energyc.code.targets.torch.layers import Around, layer_contexts, layered_parts
from energyc.code.targets.torch.module import module, parts_of
from energyc.code.targets.torch.param_sets import param_sets
from energyc.code.targets.torch.part import Carried, final_class, network_part
from energyc.code.tree.expressions import Comparison, Constant, Dict, Expr, List, Name, Number, String, Tuple, integers
from energyc.code.tree.extents import named
from energyc.code.tree.quotation import quote, quote_body
from energyc.code.tree.statements import Assign, Body, Comment, Function, If, Parameter, Return, Statement
from energyc.derivation.derive import Derivation, Proximal
from energyc.mathematics.ir import Input, Node, walk


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
    def settings(self) -> Body:
        """Settings of the class: what names begin with, whether kernels leave out what is for training, their walks."""
        prefix = (Assign(Name("_kernel_prefix"), String(self.prefix)),) if self.prefix else ()
        in_training = quote_body("_kernels_in_training = False") if self.context.network.training is not None else ()
        settling = any(kernel.walk == "settle" for kernel in self.kernels)
        in_one_call = (Assign(Name("settling"), Constant(True)),) if settling else ()
        return (*prefix, *in_training, *in_one_call, *self._of_trajectories())

    def _of_trajectories(self) -> Iterator[Statement]:
        """Settings of a network whose kernels keep trajectories and go back through them, if they do."""
        for kernel in self.kernels:
            if kernel.walk == "go_back":
                count = len(self.context.network.states)
                sums = (integers(*map(int, buffer.sizes)) for buffer in kernel.states[count:])
                yield Assign(Name("retraced"), Constant(True))
                yield Assign(Name("_sum_sizes"), Tuple(tuple(sums)))
                orders = ((String(name), integers(*order)) for name, (_, order) in kernel.totals.items())
                yield Assign(Name("_totals"), Dict(tuple(orders)))


@dataclass(frozen=True)
class Written:
    """Kernels in a language: the definitions of a module, and the object that runs them.

    ``source`` is what is built before they run; ``own`` is the network's own part as it is beside them.
    """

    definitions: Body
    runner: Expr
    source: str | None
    own: Body


#: Writes kernels, given the network's own part and the names of the classes in it that have them.
Write = Callable[[Sequence[Kernel], Body, Collection[str]], Written]


def kernel_module(planned: ModulePlan, options: Options, target: str, rows: Rows, write: Write) -> Printed:
    """The module; where a network has no kernels for the target it is that of torch, and says why."""
    try:
        relaxing = kernels_of(planned, options, target, rows)
    except NotLowered as reason:
        text = module(planned, options, parts_of(planned, options), f"none: {reason}")
        return Printed(text, fallback=str(reason))
    with_kernels = {r.context.class_names.equations for r in relaxing if r.kernels}
    own, finals = (_layered if planned.layers else _plain)(planned, options, relaxing)
    written = write(all_kernels(relaxing), own, with_kernels)
    parts = written.own, (*written.definitions, *finals(written.runner))
    text = module(planned, options, parts, _said(relaxing))
    recording = [any(kernel.walk == "record" for kernel in r.kernels) for r in relaxing]
    records: Share = "all" if all(recording) else "some" if any(recording) else "none"
    return Printed(text, source=written.source, records=records)


def _said(relaxing: Sequence[Relaxing]) -> str:
    """The line of the head that tells which kernels there are, and which layers have none."""
    names = ", ".join(kernel.name for kernel in all_kernels(relaxing))
    without = [f"{r.context.network.name} has none: {r.reason}" for r in relaxing if r.reason]
    return "; ".join([names, *without])


#: The network's own part, and the classes that users call, of the object that runs kernels.
Unfinished = tuple[Body, Callable[[Expr], Body]]


def _plain(planned: ModulePlan, options: Options, relaxing: Sequence[Relaxing]) -> Unfinished:
    """The parts of a network without layers."""
    (own,) = relaxing
    context = own.context
    about = "The network: its equations, relaxed by kernels and learned."

    def finals(runner: Expr) -> Body:
        kernels = Assign(Name("kernels"), runner)
        body = (*learning_rules(context.features.rules), kernels, *own.settings, *param_sets(context))
        return (final_class(context, about, body, ("KernelNetwork",)),)

    return network_part(context, _given(own)), finals


def _layered(planned: ModulePlan, options: Options, relaxing: Sequence[Relaxing]) -> Unfinished:
    """The parts of a network of layers, which share one object of kernels."""
    layers = {r.context.network.name: r for r in relaxing}
    carried = {
        name: Carried(_given(r), ("KernelNetwork",), (*quote_body("kernels = KERNELS"), *r.settings))
        for name, r in layers.items()
        if r.kernels
    }
    around = Around({name: r.context for name, r in layers.items()}, carried)
    own, classes = layered_parts(planned, options, around)
    remark = Comment("The kernels of the layers.", documents=True)
    return own, lambda runner: (remark, Assign(Name("KERNELS"), runner), *classes)


def all_kernels(relaxing: Sequence[Relaxing]) -> list[Kernel]:
    """The kernels of a network, or of all of its layers."""
    return [kernel for r in relaxing for kernel in r.kernels]


def kernels_of(planned: ModulePlan, options: Options, target: str = "cpp", rows: Rows = "array") -> list[Relaxing]:
    """The kernels of a network's phases or of its layers', for a target, whose groups keep their rows so.

    Raises NotLowered where there are none.
    """
    if not planned.layers:
        return [_phases(Context(planned, options), target, rows)]
    names = Names()
    found = [_layer(c, names.new(name), target, rows) for name, c in layer_contexts(planned, options).items()]
    if not any(r.kernels for r in found):
        raise NotLowered("; ".join(f"in layer {r.context.network.name}, {r.reason}" for r in found))
    return found


def _layer(context: Context, prefix: str, target: str, rows: Rows) -> Relaxing:
    try:
        return _phases(context, target, rows, prefix)
    except NotLowered as reason:
        return Relaxing(context, (), prefix, str(reason))


def _phases(context: Context, target: str, rows: Rows, prefix: str = "") -> Relaxing:
    """The kernels of a network, or of a layer. Raises NotLowered."""
    if context.network.relax.solver == "newton":
        raise NotLowered("its solver is newton")
    equations = _equations(context, target, rows, prefix)
    blocks = context.features.blocks
    kernels = [free_phase(equations), *([sweeps(equations)] if blocks else [])]
    if rows == "array" and context.network.relax.solver == "gradient" and not context.network.numbered:
        kernels.append(settling_phase(equations))
    if context.features.needs("contrast") and context.network.training is None:
        kernels.append(nudged_sweeps(equations) if blocks else nudged_phase(equations))
        if any(rule.corrects_moving_states for rule in context.features.rules) and equations.correction:
            kernels.append(tracking_phases(equations))
    if equations.adjoint is not None and "implicit" in context.options.rules:
        with suppress(NotLowered):  # GMRES solves for it
            kernels.append(adjoint_solve(equations))
    if equations.adjoint is not None and "adjoint" in context.options.rules and not context.options.descends:
        with suppress(NotLowered):  # steps are torch operations
            kernels.append(adjoint_phase(equations))
    if equations.back is not None:
        with suppress(NotLowered):  # steps back are torch operations
            kernels += [steps_back(equations), recorded_phase(equations)]
    if rows == "array":
        kernels = [rounding(k) if _rounds(context, k) else k for k in kernels]
    return Relaxing(context, tuple(kernels), prefix)


def _rounds(context: Context, kernel: Kernel) -> bool:
    """Whether a kernel in C++ is made for products in bfloat16, too: all, or those with which a free phase begins."""
    network = context.network
    begins = network.relax.products == "bfloat16" and kernel.walk in ("relax", "settle") and not kernel.contrasts
    return network.train.products == "bfloat16" or begins


def _equations(context: Context, target: str, rows: Rows, prefix: str) -> Equations:
    """The equations that the plan computes at each step, by state."""
    outputs = {r.name: {o.key: o.node for o in r.outputs} for r in context.plan.routines}
    states = context.network.states

    def by_state(routine: str) -> dict[str, Node]:
        return {key: node for key, node in outputs.get(routine, {}).items() if key in states}

    nudge = by_state("_nudge") if context.options.descends else by_state("_cost_vjp")
    names, extents = Names(), context.network.extents
    sizes = named(extents, {dim: names.new(dim, SIZE) for dim in extents})
    symbols = Symbols(sizes, context.network.values)
    symbols.name_roots(walk(node for found in outputs.values() for node in found.values()), names)
    return Equations(
        context.network,
        sizes,
        symbols.factor,
        {name: symbols.definition(roots) for roots, name in symbols.scales.items()},
        target,
        by_state("_force"),
        nudge,
        by_state("_correction"),
        context.derivation.directions,
        _kinks(context.derivation, outputs.get("_weights", {})),
        context.fields,
        context.plan.names,
        formulas(context, (node for found in outputs.values() for node in found.values())),
        rows,
        prefix,
        _blocks(context, outputs) if context.features.blocks else (),
        _adjoint(context, by_state("_force_vjp")),
        _back(context, outputs.get("_step_vjp", outputs.get("_force_vjp", {}))) if rows == "array" else None,
    )


def _back(context: Context, planned: Mapping[str, Node]) -> Back | None:
    """A step in reverse, as it is planned; None unless a rule goes back through steps, which are plain ones."""
    d, network = context.derivation, context.network
    if not context.features.needs("trajectory") or network.relax.irreversible or network.training is not None:
        return None
    sums = {name: planned[key] for name in d.sums.terms if (key := sum_key(name)) in planned}
    return Back(
        {name: node for name, node in planned.items() if name in d.states},
        sums,
        {name: node for name, node in planned.items() if name in d.params},
        d.cotangents,
        *(_of_sets(context, what) for what in ("moved", "came")),
    )


def _of_sets(context: Context, what: str) -> dict[str, Input]:
    """An input for each state that is in a set."""
    states = context.network.states
    return {n: node for n, node in _like_states(context.derivation, what).items() if states[n].constraint is not None}


def _adjoint(context: Context, back: Mapping[str, Node]) -> Adjoint | None:
    """The transposed Jacobian, as it is planned; None unless a rule of the module has an adjoint, or nothing rests."""
    d, network = context.derivation, context.network
    if network.numbered or {"implicit", "adjoint"}.isdisjoint(context.options.rules):
        return None
    seeds, moving = (_like_states(d, name) for name in ("seed", "moving"))
    held = {n for n, state in network.states.items() if state.constraint is not None or n in d.proximal}
    return Adjoint(back, d.cotangents, seeds, {name: node for name, node in moving.items() if name in held})


def _like_states(d: Derivation, what: str) -> dict[str, Input]:
    """An input for each state, beside it: what is passed to the kernel of the adjoint."""
    return {name: d.graph.input(f"{what}_{name}", "argument", node.dims) for name, node in d.states.items()}


def _blocks(context: Context, outputs: Mapping[str, Mapping[str, Node]]) -> list[Block]:
    """The blocks of a sweep, of forces and slopes that are planned."""
    found, blocks = context.derivation.blocks, []
    for number, names in enumerate(found.order):
        planned = outputs[f"{BLOCK}{number}"]
        numbers = {name: slope for name in names if (slope := found.numbers.get(name)) is not None}
        slopes = {name: planned[slope_key(name)] for name in found.given(names)}
        blocks.append(Block({name: planned[name] for name in names}, {**numbers, **slopes}, found.cost_slopes))
    return blocks


def _kinks(derivation: Derivation, planned: Mapping[str, Node]) -> dict[str, Proximal]:
    """The kinks that move proximally, of weights that are planned."""
    made = {node: planned[key] for key, node in derivation.weights.items()}
    return {name: kinks.with_weights(made) for name, kinks in derivation.proximal.items()}


def _given(relaxing: Relaxing) -> Callable[[], Body]:
    """The method that lists what each kernel reads."""
    context = relaxing.context

    def methods() -> Body:
        names: dict[Node, Expr] = {**context.own_names()[0], **context.names_in_fixed()}
        names |= {t.node: Name("targets")[Number(k)] for k, t in enumerate(context.network.targets.values())}
        aimed = {"solve": _adjoint_names(context), "go_back": _kept_names(context)}
        body: list[Statement] = [_read_by(k, {**names, **aimed.get(k.walk, {})}) for k in relaxing.kernels]
        kinds = {"name": "str", "fixed": context.class_names.fixed, "targets": "Tensors"}
        parameters = (Parameter("self"), *(Parameter(name, Name(kind)) for name, kind in kinds.items()))
        body += quote_body("raise KeyError(name)")
        doc = ("The arrays that a kernel reads, in its order.",)
        return (Function("_given", parameters, tuple(body), quote("list[Tensor]"), doc),)

    return methods


def _adjoint_names(context: Context) -> dict[Node, Expr]:
    """The states, the seeds of their adjoint and which entries move, in the place of the targets."""
    d = context.derivation
    return _as_targets(d.states, _like_states(d, "seed"), _like_states(d, "moving"))


def _kept_names(context: Context) -> dict[Node, Expr]:
    """What is kept of each state before each step, and after each step, in the place of the targets."""
    d, came = context.derivation, _of_sets(context, "came")
    return _as_targets({name: came.get(name, node) for name, node in d.states.items()}, _like_states(d, "moved"))


def _as_targets(*passed: Mapping[str, Node]) -> dict[Node, Expr]:
    nodes = [node for part in passed for node in part.values()]
    return {node: Name("targets")[Number(k)] for k, node in enumerate(nodes)}


def _read_by(kernel: Kernel, names: Mapping[Node, Expr]) -> Statement:
    read = List(tuple(names[node] for node, _ in kernel.given))
    return If(Comparison("==", Name("name"), String(kernel.name)), (Return(read),))
