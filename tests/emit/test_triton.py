"""The target triton: phases in kernels are those of torch, interpreted on a CPU and, where there is one, on a GPU."""

from __future__ import annotations

import json
import linecache
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from energyc import pipeline
from energyc.code.targets.triton import groups
from energyc.mathematics.functions import FUNCTIONS, ScalarFunction, scalar_function
from energyc.runtime.equations.inputs import prepared
from energyc.runtime.kernels import triton_functions
from energyc.runtime.kernels.triton_functions import interpreted
from energyc.runtime.kernels.triton_kernels import TritonKernels
from energyc.runtime.relaxation.graphs import Graphs
from tests.emit.judge import resolved
from tests.emit.kernels import (
    BATCH,
    MODELS,
    SMALL,
    SPEC_OF,
    SPECS,
    agrees,
    differences,
    drawn,
    kernel_module,
    needs_interpreter,
    replay_plainly,
    shipped,
)

#: Quick to interpret, and between them every kind of block: boxes, masks, spheres, windows, gathers.
QUICK = ("hopfield", "cet", "thick", "hopfield_conv", "cem", "et_anomaly")

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:triton")
needs_triton = pytest.mark.skipif(not triton_functions.has_triton(), reason="triton is not installed")
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


def quick(paths: list[Path]) -> list[Any]:
    """Each spec as a case, slow but for the quick ones."""
    return [pytest.param(p, marks=() if p.stem in QUICK else pytest.mark.slow, id=p.stem) for p in paths]


# ------------------------------------------------------------------ interpreted


@needs_interpreter
@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("path", quick(SPECS))
def test_shipped_specs(path: Path) -> None:
    agrees(kernel_module(shipped(path), target="triton"))


@needs_interpreter
def test_single_precision() -> None:
    net = kernel_module(shipped(SPEC_OF["hopfield"]), target="triton", dtype=torch.float32)
    assert next(net.parameters()).dtype == torch.float32
    found = differences(net)
    assert 0 < max(found.values()) < 1e-5, found


@needs_interpreter
@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("name", ["hopfield", "cet", "thick", "hopfield_conv", "et_anomaly"])
def test_products_in_bfloat16(name: str) -> None:
    """Beside torch operations with the same products: what lies between blocks is rounded too."""
    preset, rounded = "verify" if name in ("cet", "thick") else None, {"train.products": "bfloat16"}
    choices = pipeline.Choices(preset, {**SMALL.get(name, {}), **rounded})
    network = pipeline.resolve(pipeline.read(SPEC_OF[name]), choices)
    net = kernel_module(network, target="triton", dtype=torch.float32)
    assert net.products == "bfloat16"
    agrees(net, 0.03)
    states = stepped(net)
    net.products = "float32"
    agrees(net, 1e-4)
    assert max(float((a - b).abs().max()) for a, b in zip(states, stepped(net), strict=True)) > 1e-4


@needs_interpreter
@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("name", ["hopfield", "cet", "thin"])
def test_two_nudged_phases_in_one_batch(name: str) -> None:
    path = SPEC_OF[name]
    rule = "vf" if name == "thin" else "centered-ep"
    nets = [kernel_module(shipped(path), [rule], target="triton") for _ in range(2)]
    nets[1].nudge_together = True
    assert nets[1]._joins
    random = torch.Generator().manual_seed(0)
    clamps, targets = (drawn(shapes, random, nets[0]) for shapes in (nets[0].clamp_shapes, nets[0].target_shapes))
    one, two = (
        net.gradients(clamps, targets, steps=2, nudge_steps=2, beta=0.3, allow_biased=True).params for net in nets
    )
    for key, value in one.items():
        torch.testing.assert_close(two[key], value, rtol=1e-8, atol=1e-9 * float(value.abs().max()))


def stepped(net: Any) -> list[torch.Tensor]:
    """The states after three steps by kernels."""
    random = torch.Generator().manual_seed(0)
    with torch.no_grad():
        fixed = prepared(net, drawn(net.clamp_shapes, random, net))
        states = [torch.randn(BATCH, *shape, generator=random) for shape in net.state_shapes.values()]
        net._project_(states)
        assert net.kernels.serve("free", states, net.products)
        net._steps_(states, fixed, 0, 3, [0.2] * len(states))
    return states


@needs_interpreter
@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_models_of_the_literature(path: Path) -> None:
    agrees(kernel_module(shipped(path), target="triton"))


LONG = """network long
dim N = 4099
clamp x[N]
state z[N] in sphere[N]
state y[N] in standardized[N]
energy leak = 0.5 * sum[i](z[i]^2) + 0.5 * sum[i](y[i]^2)
energy pull = -sum[i](x[i] * tanh(z[i])) - sum[i](y[i] * x[i] * z[i]) - logsumexp[i](z[i])
relax { steps = 3, step = 0.1 }
train { rule = implicit }
"""


@needs_interpreter
@pytest.mark.usefixtures("nothing_left")
def test_rows_longer_than_a_block() -> None:
    agrees(kernel_module(resolved(LONG), target="triton"))


#: A row that is read transposed, and the largest of rows that are padded and negative.
TURNED = """network turned
dim N = 3, M = 5
clamp x[M]
state z[N, N]
state y[N, M] in nonnegative
let share[i, j] = softmax[i, j](z[i, j])
energy leak = sum[i, j](z[i, j]^2)/2 + sum[i, k](y[i, k]^2)/2
energy top = sum[i](max[k](tanh(y[i, k]) - 3))
force turn on z[i, j] = share[i, j] * share[j, i]
force low on y[i, k] = max[l](y[i, l] - 9) * x[k]
relax { steps = 3, step = 0.1 }
train { rule = implicit }
"""


@needs_interpreter
@pytest.mark.usefixtures("nothing_left")
def test_rows_that_are_padded_or_read_elsewhere() -> None:
    agrees(kernel_module(resolved(TURNED), target="triton"))


# ------------------------------------------------------------------ functions

POWERS = ("-1", "-1/2", "1/2", "2", "3", "3/2", "-5/2", "11", "1/3", "10", "-9")
#: Their forms are right to rounding of 1 where they are small themselves.
CANCELLING = frozenset({"cumulative", "gelu", "gelu_slope", "gelu_tanh", "gelu_tanh_slope"})
KERNEL = """
from energyc.runtime.kernels.triton_functions import *
from energyc.runtime.kernels.triton_functions import jit, tl, triton

@jit
def apply(x, y, count):
    k = tl.program_id(0) * 64 + tl.arange(0, 64)
    u = tl.load(x + k, mask=k < count, other=1.0)
    tl.store(y + k, FORM, mask=k < count)
"""


def interpreted_function(form: str, u: np.ndarray) -> np.ndarray:
    """A form's values, computed by a kernel."""
    text = KERNEL.replace("FORM", form.replace("{u}", "u").replace("{atom}", "u"))
    scope: dict[str, Any] = {"__name__": "kernel_of_a_form"}
    linecache.cache["<form>"] = (len(text), None, text.splitlines(True), "<form>")
    exec(compile(text, "<form>", "exec"), scope)
    x = torch.from_numpy(u)
    y = torch.full_like(x, float("nan"))
    scope["apply"][(-(-len(u) // 64),)](x, y, len(u))
    return y.numpy()


def targets(entry: ScalarFunction) -> set[str]:
    return {form.target for form in entry.forms}


@needs_interpreter
@pytest.mark.parametrize("name", [*sorted(n for n, f in FUNCTIONS.items() if "triton" in targets(f)), *POWERS])
def test_functions(name: str) -> None:
    entry = FUNCTIONS[name] if name in FUNCTIONS else scalar_function("power", Fraction(name))
    u = np.concatenate([np.linspace(-30, 30, 300), np.geomspace(1e-9, 20, 100), -np.geomspace(1e-9, 20, 111)])
    if entry.domain is not None and name != "-9":
        u = np.abs(u) + 1e-9
    with np.errstate(all="ignore"):
        found, expected = interpreted_function(entry.form("triton").text, u), entry.value(u)
    scale = np.maximum(np.abs(expected), np.maximum(1, np.abs(u)) if name in CANCELLING else 0)
    wrong = ~(np.abs(found - expected) <= 1e-13 * scale)
    assert not wrong.any(), (u[wrong][:3], found[wrong][:3], expected[wrong][:3])


def test_every_function_of_the_kernels_has_a_form() -> None:
    for entry in (*FUNCTIONS.values(), *(scalar_function("power", Fraction(e)) for e in POWERS)):
        assert ("cpp" in targets(entry)) == ("triton" in targets(entry)), entry.name


# ------------------------------------------------------------------ without a GPU


def test_without_a_gpu_the_phases_run_as_torch_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    net = kernel_module(shipped(SPEC_OF["hopfield"]), target="triton")
    monkeypatch.setenv("TRITON_INTERPRET", "0")  # not before: networks of one text share their module
    monkeypatch.setattr(net.kernels, "failure", None)  # networks of one text share their kernels
    x = [torch.randn(2, *shape, dtype=torch.float64) for shape in net.state_shapes.values()]
    with pytest.warns(RuntimeWarning, match="run as torch operations"):
        assert not net.kernels.serve("free", x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not net.kernels.serve("free", x)


@pytest.mark.slow
def test_a_module_works_where_triton_is_missing(tmp_path: Path) -> None:
    path = SPEC_OF["hopfield"]
    made = pipeline.emit(shipped(path), None, target="triton")
    (tmp_path / "made.py").write_text(made.text)
    code = f"""
import sys
sys.modules["triton"] = None
import torch
from made import {made.class_name}
net = {made.class_name}()
net.relax({{name: torch.rand(2, *shape) for name, (shape, _) in net.clamp_shapes.items()}})
print(net.kernels.failure)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "triton is not installed"


@needs_interpreter
@pytest.mark.parametrize("name", ["hopfield", "deep_hopfield"])
def test_graphs_are_replayed_on_new_values(name: str) -> None:
    """Steps and the look after them, of whole phases and of single steps; as many graphs as powers of two."""
    net = kernel_module(shipped(SPEC_OF[name]), target="triton")
    replayed, random = TritonKernels(net.kernels.phases), torch.Generator().manual_seed(0)
    replayed.graphs = Graphs(replay_plainly, "cpu")
    for turn, (count, steps) in enumerate((n, k) for k in (2, 5, 0) for n in (3, 3, 4, 3, 9)):
        states = [
            torch.rand(count, *shape, generator=random, dtype=torch.float64) for shape in net.state_shapes.values()
        ]
        with torch.no_grad():
            given = net._given(prepared(net, drawn(net.clamp_shapes, random, net, count)), [])
        scalars, expected = [0.1 / (1 + turn)] * len(states), [x.clone() for x in states]
        change, far = torch.empty(2, count, dtype=torch.float64)
        net.kernels.run("free", expected, given, scalars, steps, far)
        replayed.run("free", states, given, scalars, steps, change)
        assert all(torch.equal(x, y) for x, y in zip(states, expected, strict=True)), turn
        assert torch.equal(change, far), turn
    assert [key[0][:2] for key in replayed.graphs.recorded] == [("free", steps) for steps in (2, 5, 0)]


# ------------------------------------------------------------------ PTX, and a GPU

#: Bytes of shared memory that a block may have on every device of a compute capability.
SHARED = {80: 163 * 1024, 90: 227 * 1024}
#: Bytes of a thread that may leave registers, by the type of what lies between blocks: a few of its numbers, or what a
#: call puts on its stack; rows of 512 entries times a matrix in bfloat16 need more.
SPILLED = {"fp32": 64, "bf16": 512}
COMPILE = """
import importlib.util, json, pathlib, re, subprocess, sys, tempfile
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

tools = pathlib.Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
spec = importlib.util.spec_from_file_location("made", sys.argv[1])
made = importlib.util.module_from_spec(spec)
spec.loader.exec_module(made)
text = pathlib.Path(sys.argv[1]).read_text()
kernels = [f for n, f in vars(made).items() if isinstance(f, triton.runtime.JITFunction) and n.endswith("_kernel")]

def resources(code):
    binary = pathlib.Path(tempfile.mkdtemp()) / "kernel.cubin"
    binary.write_bytes(code.asm["cubin"])
    found = subprocess.run([tools / "cuobjdump", "--dump-resource-usage", binary], capture_output=True, text=True)
    return {name: int(number) for name, number in re.findall(r"(REG|STACK):(\\d+)", found.stdout)}

def operands(lines):
    loaded = dict(re.findall(r"(\\w+) = tl.load\\((\\w+)", "\\n".join(lines)))
    rest = " ".join(line for line in lines if "block_dot(" not in line)
    counts = lambda text: {name: len(re.findall(text.format(name), rest)) for name in loaded}
    read, given = counts(r"\\b{}\\b"), counts(r"\\b{} = ")
    alone = set(loaded.values()) - {p for name, p in loaded.items() if read[name] > given[name]}
    return {p for p in alone if f"real = {p}." not in rest and f"tl.store({p} " not in rest}

KINDS = ("fp32", "fp32", 80), ("fp32", "fp32", 90), ("fp32", "bf16", 90), ("fp64", "fp64", 80)
found = {}
for kernel in kernels:
    lines = kernel.src.splitlines()
    whole = {a for a in kernel.arg_names if any(f"tl.load({a} " in line and "other=0)" in line for line in lines)}
    whole |= {a for a in kernel.arg_names if a.removesuffix("_ptr") in sys.argv[2:]}
    between = {a for a in kernel.arg_names if any(f"tl.load({a}" in line and ".to(real)" in line for line in lines)}
    between |= operands(lines)
    call = re.search(rf"    {kernel.__name__}\\[.*?\\n(?=    \\S|\\n|\\Z)", text, re.DOTALL).group()
    options = {name: int(number) for name, number in re.findall(r"(num_\\w+)=(\\d+)", call)}
    for real, low, capability in KINDS:
        kinds = {a: f"*{low if a in between else real}" for a in kernel.arg_names} | dict.fromkeys(whole, "*i64")
        types = kinds | {a: "i32" for a in kernel.arg_names if a in ("samples", "steps")}
        constants = {p.name: getattr(made, p.name, "ieee") for p in kernel.params if p.is_constexpr}
        source = ASTSource(fn=kernel, signature=types | dict.fromkeys(constants, "constexpr"), constexprs=constants)
        code = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
        assert f".target sm_{capability}" in code.asm["ptx"], kernel
        read = [line for line in code.asm["ttir"].splitlines() if "%samples" in line and "tt.func" not in line]
        assert not any("muli" in line for line in read), read  # 32 bits, which so many samples may overflow
        key = f"{kernel.__name__} {real} {low} {capability}"
        found[key] = {**resources(code), "SHARED": code.metadata.shared, "capability": capability, "low": low}
print(json.dumps([len(kernels), found]))
"""


def test_no_kernel_multiplies_the_number_of_samples() -> None:
    """It has 32 bits; the places that it is compared with have 64."""
    goldens = [text for path in SPECS if (text := _golden(path)) is not None]
    functions = [
        f for text in goldens for f in re.findall(r"^@jit\ndef .*?(?=^[^\s)]|\Z)", text, re.MULTILINE | re.DOTALL)
    ]
    counting = [f for f in functions if re.search(r"\bsamples\b", f.partition(":\n")[2])]
    assert counting
    for function in counting:
        assert "tl.program_id(0).to(tl.int64)" in function
        assert re.findall(r".*\bsamples\b.*", function.partition(":\n")[2]) == ["    inside = sample < samples"]


def _golden(path: Path) -> str | None:
    """The Triton kernels of a spec as they are kept."""
    kept = Path(__file__).parents[1] / "golden" / path.stem / "triton.py"
    return kept.read_text() if kept.exists() else None


SCALAR_NUDGE = """\
network scalar_nudge
dim N = 2, H = 4, K = 4
target label : K
param W[H, N] ~ normal(1), V[H, N] ~ normal(1)
state z[H] in [-2, 1/2]
energy leak = 1/2 * sum[h](z[h]^2)
readout out[k in K] = sum[h,n](W[h,n] * V[h,n])/10 + tanh(sum[h](z[h] * z[h]))
cost ce = cross_entropy[k](out[k], label)
train { rule = ep }
"""


@needs_interpreter
def test_a_number_for_all_samples_inside_a_nudge() -> None:
    """A sum over params alone is one place, without samples and without a row."""
    assert "nudged" in agrees(kernel_module(resolved(SCALAR_NUDGE), target="triton"))


@needs_interpreter
@pytest.mark.parametrize("few", [1, groups.FEW])
def test_rows_of_large_buffers_have_places_of_64_bits(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "FEW", few)
    network = shipped(SPEC_OF["hopfield"])
    text = pipeline.emit(network, target="triton").text
    rows = re.findall(r"    r = .*", text)
    assert rows
    assert all(line.endswith("[None, :].to(tl.int64)") == (few == 1) for line in rows), rows
    agrees(kernel_module(network, target="triton"))


def compiled_for_a_gpu(text: str, folder: Path, numbers: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
    """What each kernel of a module needs, compiled for GPUs; ``numbers`` are names of numbers of steps."""
    (folder / "made.py").write_text(text)
    variables = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    command = [sys.executable, "-c", COMPILE, str(folder / "made.py"), *numbers]
    done = subprocess.run(command, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    count, found = json.loads(done.stdout)
    assert count == len(re.findall(r"^@jit\ndef \w+_kernel\b", text, re.MULTILINE)) > 0
    return found  # type: ignore[no-any-return]


@needs_triton
@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.parametrize("path", SPECS, ids=[path.stem for path in SPECS])
def test_kernels_compile_for_a_gpu(path: Path, tmp_path: Path) -> None:
    network = pipeline.resolve(pipeline.read(path))
    made = pipeline.emit(network, None, target="triton")
    if made.fallback is not None:
        pytest.skip(f"no kernels: {made.fallback}")
    numbers = [n.step.name for n in (network, *(x.network for x in network.layers.values())) if n.numbered]
    found = compiled_for_a_gpu(made.text, tmp_path, numbers)
    for name, used in found.items():
        assert used["SHARED"] <= SHARED[used["capability"]], (name, used)
        assert used["STACK"] <= SPILLED.get(used["low"], used["STACK"]), (name, used)


@needs_triton
@needs_gpu
@pytest.mark.skipif(interpreted(), reason="triton interprets its kernels here")
@pytest.mark.parametrize("path", quick(SPECS))
def test_on_a_gpu(path: Path) -> None:
    agrees(kernel_module(shipped(path), target="triton", device="cuda"))


@needs_triton
@needs_gpu
@pytest.mark.skipif(interpreted(), reason="triton interprets its kernels here")
@pytest.mark.parametrize(("products", "limit"), [("float32", 1e-4), ("tf32", 5e-3), ("bfloat16", 0.05)])
def test_products_on_a_gpu(products: str, limit: float) -> None:
    """Beside float32 on the CPU."""
    network = pipeline.resolve(pipeline.read(SPEC_OF["cet"]), pipeline.Choices("verify", {"train.products": products}))
    net = kernel_module(network, target="triton", device="cuda", dtype=torch.float32)
    random = torch.Generator().manual_seed(0)
    clamps = drawn(net.clamp_shapes, random, net)
    found = [net.relax(clamps, steps=3).states["z"].cpu() for _ in range(3)]  # met, recorded, replayed
    assert net.kernels.graphs.failure is None
    net.products = "float32"
    exact = net.cpu().relax({name: x.cpu() for name, x in clamps.items()}, steps=3).states["z"]
    for states in found:
        assert float((states - exact).norm() / exact.norm()) < limit
