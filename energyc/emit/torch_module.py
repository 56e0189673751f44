"""A network as one PyTorch module that needs nothing but torch."""

from __future__ import annotations

import hashlib
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from energyc.derive import Derivation, derive
from energyc.emit import torch_access, torch_functions, torch_initial, torch_nodes, torch_routines, torch_sets
from energyc.emit.code import Code
from energyc.emit.features import Features
from energyc.emit.layout import fitted, safe, wrapped
from energyc.emit.names import Identifiers, class_name
from energyc.emit.routines import REPEATED, Prepared, Signature, prepare
from energyc.emit.torch_initial import initial_values
from energyc.emit.torch_nodes import TorchWriter
from energyc.emit.torch_routines import RoutineWriter
from energyc.ir import Einsum, Indicator, Node
from energyc.notation import left_side, of_network
from energyc.plan import Passes, Plan, PlannedRoutine, plan
from energyc.resolve.network import Network
from energyc.resources import resource

HELPERS = {
    **torch_initial.HELPERS,
    **torch_functions.HELPERS,
    **torch_nodes.HELPERS,
    **torch_access.HELPERS,
    **torch_routines.HELPERS,
    **torch_sets.HELPERS,
}


@dataclass(frozen=True)
class Options:
    """What a module was made with; it is told in the module's head."""

    rules: tuple[str, ...]
    label: str
    version: str
    passes: Passes = Passes()
    biased: Mapping[str, str] | None = None
    settings: str = ""
    unproved: tuple[str, ...] | None = None


def torch_module(network: Network, options: Options) -> str:
    """The text of the module: the same network and options give the same bytes."""
    return _Module(network, options).text()


def module_plan(
    network: Network, rules: Sequence[str], passes: Passes, unproved: tuple[str, ...] | None = None
) -> tuple[Plan, list[Prepared], Derivation]:
    """The plan of a module for rules, with the routines it was made from."""
    derivation = derive(network, unproved)
    prepared = prepare(derivation, Features.of(rules, network.relax.solver))
    names = {quantity.node: name for name, quantity in network.lets.items()}
    planned = plan(
        network.graph,
        [p.routine for p in prepared],
        sizes=network.extents,
        names=names,
        passes=passes,
        repeated=REPEATED,
    )
    return planned, prepared, derivation


class _Module:
    """One module while it is being written."""

    def __init__(self, network: Network, options: Options) -> None:
        self.network = network
        self.options = options
        self.features = Features.of(options.rules, network.relax.solver)
        self.plan, self.prepared, self.derivation = module_plan(
            network, options.rules, options.passes, options.unproved
        )
        self.class_name = class_name(network.name)
        self.notation = of_network(network)
        letters = _letters(self.notation.habits, network.extents)
        self.writer = TorchWriter(network.extents, network.values, letters)
        reserved = {"_anchor", "training", "params", "device", "dtype", *(p.signature.name for p in self.prepared)}
        self.attributes = Identifiers({*reserved, *dir_of_module()})
        self.param_attributes = {name: self.attributes.new(name) for name in network.params}
        self.globals = Identifiers({self.class_name, "Fixed", "Free", "Phase", "Relaxed", "Gradients", "How", "Path", "Tensors", "gmres", "batch", *HELPERS})
        self.constants: list[tuple[str, Node, bool]] = []
        self.local = {name: self.globals.new(name) for name in (*network.states, *network.clamps, *network.targets, *network.readouts)}
        self._fields: dict[Node, str] = {}

    # ------------------------------------------------------------ the whole

    def text(self) -> str:
        """The module's text."""
        environment = Environment(
            loader=FileSystemLoader(resource("codegen")), undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False
        )
        self._name_constants()
        equations = self._equations()
        self.constants = [entry for entry in self.constants if re.search(rf"self\.{entry[0]}\b", equations)]
        runtime = [self._part(environment, part) for part in self.features.parts]
        functions = [self._part(environment, part) for part in self.features.functions]
        init = self._init()
        helpers = [HELPERS[name] for name in self._closure(sorted(self.writer.needed))]
        rendered = environment.get_template("torch/module.py.j2").render(
            title=safe("\n".join(wrapped(self.network.name + (": " + self.network.description if self.network.description else "")))),
            head=self._head(),
            imports=self._imports("\n".join([*helpers, *functions, *runtime, equations, init])),
            records="\n\n\n".join([self._part(environment, "records"), self._fixed_class()]),
            functions="\n\n\n".join([*helpers, *functions]),
            class_name=self.class_name,
            class_doc=self._classsafe(),
            constants=self._class_constants(),
            init=init,
            equations=equations,
            runtime="\n\n".join(runtime),
        )
        return rendered.rstrip() + "\n"

    def _part(self, environment: Environment, name: str) -> str:
        return environment.get_template(f"torch/parts/{name}.py.j2").render().rstrip("\n")

    def _closure(self, needed: Sequence[str]) -> list[str]:
        """Helper functions with those they call, in a fixed order."""
        wanted = dict.fromkeys(needed)
        for name in needed:
            wanted.update(dict.fromkeys(torch_sets.REQUIRES.get(name, ())))
        return [name for name in HELPERS if name in wanted]

    def _head(self) -> str:
        digest = hashlib.sha256(self.network.source.text.encode()).hexdigest()
        lines = [
            f"Made by energyc {self.options.version} from {self.options.label}",
            f"SHA-256 of the spec: {digest}",
            f"Rules: {', '.join(self.features.rules)}",
            f"Passes: {self.options.passes}",
        ]
        if self.options.settings:
            lines.append(f"Options: {self.options.settings}")
        return safe("\n".join(lines))

    def _imports(self, text: str) -> str:
        used = lambda pattern: re.search(pattern, text) is not None  # noqa: E731
        standard = [f"import {name}" for name in ("itertools", "math") if used(rf"\b{name}\.")]
        abc = [name for name in ("Callable", "Iterable", "Iterator", "Mapping", "Sequence") if used(rf"\b{name}\b")]
        lines = [*standard, f"from collections.abc import {', '.join(abc)}", "from typing import NamedTuple", "", "import torch"]
        if used(r"\bF\."):
            lines.append("import torch.nn.functional as F")
        lines.append("from torch import Tensor, nn")
        if used(r"\bonce_differentiable\b"):
            lines.append("from torch.autograd.function import once_differentiable")
        return "\n".join(lines)

    def _classsafe(self) -> str:
        shapes = [f"{name}[{', '.join(s.node.dims)}]" for name, s in self.network.states.items()]
        sizes = ", ".join(f"{name} = {size.value}" for name, size in self.network.sizes.items())
        text = f"States {', '.join(shapes)}.\n\nSizes: {sizes}." if sizes else f"States {', '.join(shapes)}."
        return textwrap.indent("\n".join(wrapped(text)), "    ").strip() + ("\n    " if "\n" in text else "")

    # ------------------------------------------------------------ constants, params, fixed

    def _name_constants(self) -> None:
        """Attributes for what depends on indices alone, as truth values where it guards and as reals where it multiplies."""
        for node in self.plan.constants:
            wish = "mask" if isinstance(node, Indicator) else "position"
            name = self.attributes.new(self.plan.names.get(node, wish))
            self.constants.append((name, node, isinstance(node, Indicator)))

    def _class_constants(self) -> str:
        network, features = self.network, self.features
        relax, nudge = network.relax, network.nudge
        sizes = network.extents
        shape = lambda dims: tuple(sizes[d] for d in dims)  # noqa: E731
        inputs = lambda items: {n: (shape(i.node.dims), sizes[i.node.over] if i.node.over else None) for n, i in items.items()}  # noqa: E731
        values = {
            "name": network.name,
            "rules": features.rules,
            "state_names": tuple(network.states),
            "state_shapes": {n: shape(s.node.dims) for n, s in network.states.items()},
            "clamp_shapes": inputs(network.clamps),
            "target_shapes": inputs(network.targets),
            "param_attributes": self.param_attributes,
            "param_bounds": {n: (p.low, p.high) for n, p in network.params.items() if p.low is not None or p.high is not None},
            "term_names": tuple(network.energies),
            "readout_names": tuple(network.readouts),
            "metric_names": tuple(network.metrics),
            "relax_steps": relax.steps,
            "relax_step": tuple(float(relax.step_of.get(n, relax.step)) for n in network.states),
            "relax_tolerance": relax.tolerance,
            "relax_chunk": relax.chunk,
            "relax_max_steps": relax.max_steps,
            "constrained": any(s.constraint is not None for s in network.states.values()),
            "biased": dict(self.options.biased or {}),
            "_rule_methods": features.methods,
        }
        if features.contrast:
            values["beta"] = "auto" if nudge.beta is None else nudge.beta
            values["last_beta"] = None
        else:
            values["beta"] = None
        values["nudge_steps"] = nudge.steps
        return "\n".join(_assignment(f"    {name} = ", value) for name, value in values.items())

    def _init(self) -> str:
        lines = [
            "def __init__(",
            "    self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0",
            ") -> None:",
            "    super().__init__()",
            "    dtype = dtype or torch.get_default_dtype()",
            '    self.register_buffer("_anchor", torch.zeros((), device=device, dtype=dtype), persistent=False)',
        ]
        if self.network.params:
            lines += ["    random = torch.Generator().manual_seed(seed)"]
            lines += [f"    {line}" for line in initial_values(self.network, self.writer, self.param_attributes)]
        for name, node, boolean in self.constants:
            code = self.writer.define_mask(node) if boolean else self.writer.define(node)  # type: ignore[arg-type]
            lines.append(f'    self.register_buffer("{name}", {code.text}, persistent=False)')
        return textwrap.indent("\n".join(fitted(lines)), "    ")

    def _fixed_class(self) -> str:
        """The record of clamps and of what is computed once a relaxation."""
        fields = [(self.local[n], True) for n in self.network.clamps]
        fields += [(self._fields[node], node.batched) for node in self.plan.fixed]
        lines = ["class Fixed(NamedTuple):", '    """The clamps, and what depends on clamps and params alone."""', ""]
        lines += [f"    {name}: Tensor" for name, _ in fields]
        parts = [f"{name}=self.{name}[rows]" for name, batched in fields if batched]
        body = f"self._replace({', '.join(parts)})" if parts else "self"
        lines += ["", "    def rows(self, rows: Tensor) -> Fixed:", '        """The same for some of the samples."""', f"        return {body}"]
        return "\n".join(fitted(lines))

    # ------------------------------------------------------------ equations

    def _equations(self) -> str:
        parts = [self._prepare_method()]
        for prepared, planned in zip(self.prepared, self.plan.routines, strict=True):
            parts.append(self._method(prepared, planned))
        parts += [self._ties_method(), self._project_method(), self._project_adjoint_method()]
        return textwrap.indent("\n\n".join(parts), "    ").replace("\n    \n", "\n\n")

    def _global_names(self) -> dict[Node, str]:
        names: dict[Node, str] = {p.node: f"self.{self.param_attributes[n]}" for n, p in self.network.params.items()}
        for name, node, boolean in self.constants:
            if boolean:
                self.writer.masks[node] = f"self.{name}"
            else:
                names[node] = f"self.{name}"
        return names

    def _prepare_method(self) -> str:
        identifiers = self.globals.child()
        names = self._global_names()
        names.update({c.node: self.local[n] for n, c in self.network.clamps.items()})
        arguments = ", ".join(f"{self.local[n]}: Tensor" for n in self.network.clamps)
        routine = PlannedRoutine("_prepare", tuple(self._prepare_order()), ())
        with self.writer.scope(names):
            body = RoutineWriter(self.writer, identifiers, self._fixed_names(), self.options.passes, "batch")
            body.write(routine)
            self._fields = {node: body.named[node] for node in self.plan.fixed}
        given = [*(self.local[n] for n in self.network.clamps), *self._fields.values()]
        lines = [f"def _prepare(self, {arguments}) -> Fixed:" if arguments else "def _prepare(self) -> Fixed:"]
        lines += ['    """What depends on clamps and params alone."""', *(f"    {line}" for line in body.lines)]
        lines.append(f"    return Fixed({', '.join(given)})")
        return "\n".join(fitted(lines))

    def _prepare_order(self) -> list[Node]:
        return list(self.plan.fixed)

    def _fixed_names(self) -> dict[Node, str]:
        """Names for hoisted nodes: the let's own, or what they are made of."""
        names = dict(self.plan.names)
        for node in self.plan.fixed:
            if node not in names and not isinstance(node, Einsum):
                names[node] = "drive" if node.dims else "offset"
        return names

    def _method(self, prepared: Prepared, planned: PlannedRoutine) -> str:
        signature = prepared.signature
        identifiers = self.globals.child()
        names = self._global_names()
        loads = self._loads(signature, names)
        batch = f"len({'states[0]' if 'states' in signature.arguments else 'seeds[0]' if 'seeds' in signature.arguments else 'fixed[0]'})"
        with self.writer.scope(names):
            body = RoutineWriter(self.writer, identifiers, self.plan.names, self.options.passes, batch)
            codes = body.write(planned)
        body.prune(codes)
        returned = _returned(signature.gives, signature.keys, {o.key.split("_", 1)[-1] if o.key not in signature.keys else o.key: c for o, c in zip(planned.outputs, codes, strict=True)})
        text = "\n".join([*body.lines, returned])
        lines = [_signature(signature.name, signature.arguments, signature.gives)]
        lines += _docstring(signature.doc, self._formulas(signature.name))
        lines += [f"    {line}" for load in loads if (line := _trimmed(load, text))]
        lines += [f"    {line}" for line in [*body.lines, returned]]
        return "\n".join(fitted(lines))

    def _loads(self, signature: Signature, names: dict[Node, str]) -> list[str]:
        """Lines that take the inputs out of their containers; the names go to ``names``."""
        lines = []
        d, arguments = self.derivation, signature.arguments
        if "states" in arguments:
            names.update({node: self.local[n] for n, node in d.states.items()})
            lines.append(_unpack([self.local[n] for n in d.states], "states"))
        if "fixed" in arguments:
            names.update({c.node: f"fixed.{self.local[n]}" for n, c in self.network.clamps.items()})
            names.update({node: f"fixed.{field}" for node, field in self._fields.items()})
        if "targets" in arguments and self.network.targets:
            names.update({t.node: self.local[n] for n, t in self.network.targets.items()})
            lines.append(_unpack([self.local[n] for n in self.network.targets], "targets"))
        for kind, prefix in (("seeds", "seed"), ("directions", "v")):
            if kind in arguments:
                inputs = d.directions if kind == "directions" else d.readout_seeds if signature.seeds_readouts else d.seeds
                local = {node: f"{prefix}_{self.local[n]}" for n, node in inputs.items()}
                names.update(local)
                lines.append(_unpack(list(local.values()), kind))
        return lines

    def _formulas(self, name: str) -> list[str]:
        """The spec's own equations for what a routine computes."""
        equations = {
            "_terms": [q.tree for q in self.network.energies.values()],
            "_readouts": [q.tree for q in self.network.readouts.values()],
            "_cost": [self.network.cost.tree] if self.network.cost else [],
            "_metrics": [q.tree for q in self.network.metrics.values()],
        }.get(name)
        if equations is not None:
            return [line for tree in equations for line in self.network.source.slice(tree.span).split("\n")]
        d = self.derivation
        derived = {
            "_force": ("F_{}", d.force),
            "_cost_force": ("dC/d{}", d.cost_force),
            "_cost_gradient": ("dC/d{}", d.cost_gradient),
            "_energy_gradient": ("dE/d{}", d.energy_gradient),
        }
        label, nodes = derived.get(name, ("", {}))
        return [line for n, node in nodes.items() for line in self._formula(label.format(n), node)]

    def _formula(self, label: str, node: Node) -> list[str]:
        """``label[indices] = formula``, in lines."""
        text = f"{left_side(label, self.notation.indices(node))} = {self.notation.text(node)}"
        return textwrap.wrap(text, 106, subsequent_indent="    ", break_long_words=False)

    def _ties_method(self) -> str:
        names = self._global_names()
        with self.writer.scope(names):
            views = [f'"{n}": {self.writer.define(t.node).text}' if isinstance(t.node, Einsum) else f'"{n}": {self.writer.code(t.node).text}' for n, t in self.network.ties.items()]
        lines = ["def _ties(self) -> dict[str, Tensor]:", '    """The tied names, each a view of its source."""', f"    return {{{', '.join(v + '.detach()' for v in views)}}}"]
        return "\n".join(fitted(lines))

    def _project_method(self) -> str:
        lines = ["def _project_(self, states: list[Tensor]) -> None:", '    """Each state onto its constraint set, in place."""']
        body = []
        for k, (_, state) in enumerate(self.network.states.items()):
            if state.constraint is not None:
                line, helper = torch_sets.projection(f"states[{k}]", state.constraint)
                body.append(line)
                if helper:
                    self.writer.needed.add(helper)
        return "\n".join([*lines, *(f"    {line}" for line in body)])

    def _project_adjoint_method(self) -> str:
        parts = []
        for k, (_, state) in enumerate(self.network.states.items()):
            if state.constraint is None:
                parts.append(f"seeds[{k}]")
                continue
            text, helper = torch_sets.adjoint(f"at[{k}]", f"seeds[{k}]", state.constraint)
            parts.append(text)
            if helper:
                self.writer.needed.add(helper)
        lines = [
            "def _project_adjoint(self, at: Tensors, seeds: Tensors) -> list[Tensor]:",
            '    """P^T seeds, P the derivative of the projection at a point."""',
            f"    return [{', '.join(parts)}]",
        ]
        return "\n".join(fitted(lines))


# ---------------------------------------------------------------- text


def dir_of_module() -> frozenset[str]:
    """Names that ``nn.Module`` has for itself, and those of the generated class."""
    own = "energy terms force readout cost metrics relax gradients correction start forward name rules beta source last_beta last_solve biased"
    modules = (
        "add_module apply bfloat16 buffers call_super_init children compile cpu cuda double dump_patches eval extra_repr float "
        "get_buffer get_extra_state get_parameter get_submodule half ipu load_state_dict modules mtia named_buffers named_children "
        "named_modules named_parameters parameters register_backward_hook register_buffer register_forward_hook "
        "register_full_backward_hook register_full_backward_pre_hook register_load_state_dict_post_hook register_module "
        "register_parameter register_state_dict_post_hook register_state_dict_pre_hook requires_grad_ set_extra_state set_submodule "
        "share_memory state_dict to to_empty train type xpu zero_grad T_destination constrained nudge_steps project_params first_bad_term "
        "state_names state_shapes clamp_shapes target_shapes param_attributes param_bounds term_names readout_names metric_names relax_steps "
        "relax_step relax_tolerance relax_chunk relax_max_steps"
    )
    return frozenset((own + " " + modules).split())


def _letters(habits: Sequence[tuple[str, str]], dims: Iterable[str]) -> dict[str, str]:
    """For each dim the single letters that the spec uses for indices over it, then its own first letter."""
    letters: dict[str, dict[str, None]] = {dim: {} for dim in dims}
    for dim, index in habits:
        if len(index) == 1 and index.isascii() and dim in letters:
            letters[dim][index] = None
    return {dim: "".join(found) + (dim[0].lower() if dim[0].isascii() else "") for dim, found in letters.items()}


def _docstring(doc: str, formulas: Sequence[str]) -> list[str]:
    if not formulas:
        return [f'    """{safe(doc)}"""']
    body = [f"    {safe(line)}".rstrip() for line in formulas]
    return [f'    """{safe(doc)}', "", *body, '    """']


def _signature(name: str, arguments: Sequence[str], gives: str) -> str:
    kinds = {"states": "Tensors", "fixed": "Fixed", "targets": "Tensors", "seeds": "Tensors", "directions": "Tensors"}
    result = {"list": "list[Tensor]", "states": "list[Tensor | None]", "dict": "dict[str, Tensor]"}[gives]
    return f"def {name}(self, {', '.join(f'{a}: {kinds[a]}' for a in arguments)}) -> {result}:"


def _returned(gives: str, keys: Sequence[str], codes: Mapping[str, Code]) -> str:
    if gives == "dict":
        return f"return {{{', '.join(f'{key!r}: {code.text}' for key, code in codes.items())}}}".replace("'", '"')
    missing = "None"
    return f"return [{', '.join(codes[key].text if key in codes else missing for key in keys)}]"


def _unpack(names: Sequence[str], container: str) -> str:
    return f"({names[0]},) = {container}" if len(names) == 1 else f"{', '.join(names)} = {container}"


def _trimmed(load: str, text: str) -> str:
    """An unpacking with ``_`` for the names that the text does not read; nothing where it reads none."""
    left, right = load.split(" = ")
    names = re.findall(r"[A-Za-z_]\w*", left)
    read = [name if re.search(rf"(?<![\w.\"]){re.escape(name)}\b", text) else "_" for name in names]
    return _unpack(read, right) if set(read) != {"_"} else ""


def _assignment(prefix: str, value: object) -> str:
    text = prefix + _literal(value)
    return "\n".join(fitted([text]))


def _literal(value: object) -> str:
    """A literal of plain data with double quotes."""
    if isinstance(value, str):
        return '"' + value.encode("unicode_escape").decode().replace('"', '\\"') + '"' if value.isascii() else repr(value)
    if isinstance(value, tuple):
        inner = ", ".join(_literal(v) for v in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_literal(k)}: {_literal(v)}" for k, v in value.items()) + "}"
    return repr(value)


__all__ = ["Options", "module_plan", "torch_module"]
