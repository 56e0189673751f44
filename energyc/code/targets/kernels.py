"""The kernels of a network or of its layers, and the module around them, whatever language they are printed in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

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
from energyc.code.module.runtime import runtime
from energyc.code.module.symbols import Symbols
from energyc.code.plan import ModulePlan
from energyc.code.plan.routines import BLOCK, slope_key, sum_key
from energyc.code.targets.names import SIZE, Names
from energyc.code.targets.torch.layers import Around, layer_contexts, layered_part
from energyc.code.targets.torch.module import module, plain_part
from energyc.code.targets.torch.part import Kernels, network_part
from energyc.code.tree.expressions import (
    Attribute,
    Constant,
    Dict,
    Expr,
    List,
    Name,
    Starred,
    String,
    Tuple,
    integers,
)
from energyc.code.tree.extents import named
from energyc.code.tree.quotation import quote, quote_body
from energyc.code.tree.statements import Assign, Body, Comment, Function, Parameter, Return, Statement
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

    ``source`` is what is built before they run. ``imports`` are those of what the kernels read.
    """

    definitions: Body
    runner: Expr
    source: str | None
    imports: Body = ()


#: Writes kernels in a language.
Write = Callable[[Sequence[Kernel]], Written]


def kernel_module(planned: ModulePlan, options: Options, target: str, rows: Rows, write: Write) -> Printed:
    """The module; where a network has no kernels for the target it is that of torch, and says why."""
    try:
        relaxing = kernels_of(planned, options, target, rows)
    except NotLowered as reason:
        text = module(planned, options, plain_part(planned, options), f"none: {reason}")
        return Printed(text, fallback=str(reason))
    with_kernels = [r.context.class_names.own for r in relaxing if r.kernels]
    own = _layered(planned, options, relaxing) if planned.layers else _plain(relaxing[0])
    written = write(all_kernels(relaxing))
    whole = (*own, *written.definitions, *_bound(with_kernels, written.runner))
    text = module(planned, options, whole, _said(relaxing), written.imports)
    recording = [any(kernel.walk == "record" for kernel in r.kernels) for r in relaxing]
    records: Share = "all" if all(recording) else "some" if any(recording) else "none"
    return Printed(text, source=written.source, records=records)


def _said(relaxing: Sequence[Relaxing]) -> str:
    """The line of the head that tells which kernels there are, and which layers have none."""
    names = ", ".join(kernel.name for kernel in all_kernels(relaxing))
    without = [f"{r.context.network.name} has none: {r.reason}" for r in relaxing if r.reason]
    return "; ".join([names, *without])


def _plain(relaxing: Relaxing) -> Body:
    """The records and the class of a network without layers."""
    return network_part(relaxing.context, _kernels(relaxing))


def _layered(planned: ModulePlan, options: Options, relaxing: Sequence[Relaxing]) -> Body:
    """The records and the classes of a network of layers."""
    layers = {r.context.network.name: r for r in relaxing}
    kernels = {name: _kernels(r) for name, r in layers.items() if r.kernels}
    return layered_part(planned, options, Around({name: r.context for name, r in layers.items()}, kernels))


def _kernels(relaxing: Relaxing) -> Kernels:
    """Members that kernels add to the class of a network or of a layer."""
    return Kernels(_given(relaxing), relaxing.settings, ("KernelNetwork",))


def _bound(classes: Sequence[str], runner: Expr) -> Body:
    """The statements by which classes get the object that runs their kernels, which they share."""
    places = [Attribute(Name(own), "kernels") for own in classes]
    if len(places) == 1:
        return (Assign(places[0], runner),)
    made = (Comment("The kernels of the layers.", documents=True), Assign(Name("KERNELS"), runner))
    return (*made, *(Assign(place, Name("KERNELS")) for place in places))


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
    return Relaxing(context, _passed_alike(context, kernels), prefix)


def _passed_alike(context: Context, kernels: Sequence[Kernel]) -> tuple[Kernel, ...]:
    """The kernels, to which the caller passes the same things first, and then the targets of each."""
    targets = {kernel: _aimed(context, kernel) for kernel in kernels}
    read = (node for kernel, own in targets.items() for node, _ in kernel.given if node not in own)
    shared = tuple(dict.fromkeys(read))
    return tuple(replace(kernel, passed=(*shared, *own), shared=len(shared)) for kernel, own in targets.items())


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
    """The method that lists what kernels read."""
    context = relaxing.context

    def methods() -> Body:
        names: dict[Node, Expr] = {**context.own_names()[0], **context.names_in_fixed()}
        one, *_ = relaxing.kernels
        passed = [names[node] for node in one.passed[: one.shared]]
        aimed = [Starred(Name("targets"))] if any(_is_aimed(kernel) for kernel in relaxing.kernels) else []
        kinds = {"fixed": Name(context.class_names.fixed), "targets": runtime("Tensors")}
        parameters = (Parameter("self"), *(Parameter(name, kind) for name, kind in kinds.items()))
        doc = ("The tensors that kernels read, in their order.",)
        body = (Return(List((*passed, *aimed))),)
        return (Function("_given", parameters, body, quote("list[Tensor]"), doc),)

    return methods


def _is_aimed(kernel: Kernel) -> bool:
    """Whether a kernel reads its targets."""
    return any(node in kernel.passed[kernel.shared :] for node, _ in kernel.given)


def _aimed(context: Context, kernel: Kernel) -> tuple[Node, ...]:
    """The arguments of a kernel that hold targets, in their order."""
    d = context.derivation
    if kernel.walk == "solve":  # the states, the seeds of their adjoint and which entries move
        return _nodes(d.states, _like_states(d, "seed"), _like_states(d, "moving"))
    if kernel.walk == "go_back":  # what is kept of each state before each step, and after each step
        came = _of_sets(context, "came")
        return _nodes({name: came.get(name, node) for name, node in d.states.items()}, _like_states(d, "moved"))
    return tuple(target.node for target in context.network.targets.values())


def _nodes(*passed: Mapping[str, Node]) -> tuple[Node, ...]:
    return tuple(node for part in passed for node in part.values())
