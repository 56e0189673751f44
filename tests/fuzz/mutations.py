"""Mutants of specs: tokens, lines and numbers removed, doubled, exchanged and replaced."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from random import Random

from tests.fuzz.drawing_specs import random_spec

ROOT = Path(__file__).parents[2]
TOKEN = re.compile(r"\w+(?:\.\w+)*|\s+|<=|>=|==|!=|.", re.DOTALL)
NUMBER = re.compile(r"\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b")
NUMBERS = tuple("0 1 2 7 -1 1/2 1/0 0.5 0.0 1e-9 1e30 1e400 4096 99999999999999999999".split())
WORDS = tuple(
    """
    network dim const data clamp target param noise state tie let fn start clamped energy force flow next readout cost
    metric layer repeat relax nudge train preset in on per and or not sum mean max min variance logsumexp softmax
    layernorm rmsnorm standardize where frozen detach median batch training exp log sqrt relu abs sign tanh sigmoid
    softplus silu gelu erf clip leaky_relu cross_entropy correct pi grad simplex sphere standardized nonnegative
    symmetric zero_diagonal orthogonal normal uniform glorot kaiming zeros ones auto none true step steps tolerance
    measure patience exit early inference chunk max_steps solver newton anderson products explosion beta snapshots
    together points radius alpha rule optimizer lr schedule cosine metrics epochs validation best
    blocks certified norm ema eval_exit spec proximal off softsign holomorphic-ep tracking-aep dyadic-ep aep chl
    ( ) [ ] { } , = : ~ | ' . + - * / ^ < > == != <= >= N D K z x y W i d t é 𝛼 # \n
    """.split(" ")
)
LINES = (
    "state z[N]",
    "state q[D] in simplex[D]",
    "repeat L {",
    "repeat n in N {",
    "noise a[N] ~ normal(1), b[N], c ~ uniform(1)",
    "let right[n] = where(n == N - 1, z[0, 0], z[n + 1, 0])",
    "energy beside = cross_entropy[n](z[n, 0], label)",
    "next z[n,d] = where(training, z[n,d], W[n,d])",
    "layer block {",
    "}",
    "energy e = sum[n](z[n]^2)",
    "relax { solver = newton, tolerance = 1e-6 }",
    "relax { step = auto, exit = early }",
    "train { rule = holomorphic-ep }",
    "nudge { beta = auto }",
    "let z = 1",
    "fn f(u) = f(u)",
    "fn g'(u) = 1/u",
    "dim L = 0",
    "param L[D] = 1",
    "cost c = 0",
    "preset p { L = 2, relax.steps = 0 }",
    "relax { solver = blocks, steps = 2 }",
    "relax { step = certified, tolerance = 1e-6 }",
    "nudge { beta = 1/2, steps = 3 }",
    "train { rule = tracking-aep, ema = 0.99, eval_exit = spec }",
    "param Q[N, D] ~ normal in norm[9/10]",
    "param R[D, N] in norm[0, D, N]",
)
#: What each block may say, by its word.
SETTINGS = {
    "relax": """
        solver = blocks|solver = newton|solver = anderson(memory = 2)|step = certified|step = auto|step.z = 1/2|
        exit = early|exit = inference|tolerance = 1e-4|tolerance = none|measure = energy|proximal = off|chunk = 1|
        products = bfloat16|steps = 1|max_steps = 1|explosion = none|patience = 2
    """,
    "nudge": "beta = auto|beta = 1e-3|beta = 0|steps = 1|snapshots = 1|together = true|points = 3|alpha = 1",
    "train": """
        rule = ep|rule = centered-ep|rule = vf|rule = aep|rule = tracking-aep|rule = adjoint|rule = holomorphic-ep|
        rule = holomorphic-aep|rule = tbptt|rule = bptt|rule = implicit|rule = chl|rule = predictive-coding|
        rule = dyadic-ep|rule = dual-propagation|ema = 0.9|ema = 1|ema = 0|eval_exit = spec|eval_exit = early|
        best = cost|dtype = bfloat16|products = bfloat16
    """,
}
BLOCK = re.compile(r"\b(relax|nudge|train)(?:[ \t]+\w+ in \w+)?[ \t]*\{")
Mutation = Callable[[str, Random], str]


@cache
def sources() -> tuple[str, ...]:
    """The specs of the repository."""
    folders = ("specs", "specs/zoo", "tests/golden")
    paths = [path for folder in folders for path in sorted((ROOT / folder).glob("*.energy"))]
    return tuple(path.read_text(encoding="utf-8") for path in paths)


def mutant(seed: int) -> str:
    """The mutant of a seed: of a spec of the repository, or of one that is drawn."""
    random = Random(seed)
    text = random_spec(random.randrange(2**31)).text() if random.random() < 0.5 else random.choice(sources())
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 5))):
        text = random.choice(MUTATIONS)(text, random)
    return text


def _tokens(text: str) -> list[str]:
    return TOKEN.findall(text)


def _place(tokens: Sequence[str], random: Random) -> int:
    """A token that is not a space."""
    solid = [k for k, token in enumerate(tokens) if not token.isspace()]
    return random.choice(solid) if solid else 0


def token_removed(text: str, random: Random) -> str:
    tokens = _tokens(text)
    if tokens:
        del tokens[_place(tokens, random)]
    return "".join(tokens)


def token_replaced(text: str, random: Random) -> str:
    """By a word of the language, or by another token of the text."""
    tokens = _tokens(text) or [""]
    other = random.choice(WORDS) if random.random() < 0.5 else tokens[_place(tokens, random)]
    tokens[_place(tokens, random)] = other
    return "".join(tokens)


def token_inserted(text: str, random: Random) -> str:
    tokens = _tokens(text) or [""]
    tokens.insert(_place(tokens, random), f" {random.choice(WORDS)} ")
    return "".join(tokens)


def tokens_exchanged(text: str, random: Random) -> str:
    tokens = _tokens(text) or [""]
    a, b = _place(tokens, random), _place(tokens, random)
    tokens[a], tokens[b] = tokens[b], tokens[a]
    return "".join(tokens)


def name_renamed(text: str, random: Random) -> str:
    """One name everywhere becomes another one of the text."""
    names = sorted(set(re.findall(r"\b[A-Za-z_]\w*\b", text))) or ["z"]
    return re.sub(rf"\b{random.choice(names)}\b", random.choice(names), text)


def number_changed(text: str, random: Random) -> str:
    found = list(NUMBER.finditer(text))
    if not found:
        return text
    place = random.choice(found)
    return text[: place.start()] + random.choice(NUMBERS) + text[place.end() :]


def line_removed(text: str, random: Random) -> str:
    lines = text.splitlines() or [""]
    del lines[random.randrange(len(lines))]
    return "\n".join(lines) + "\n"


def line_doubled(text: str, random: Random) -> str:
    lines = text.splitlines() or [""]
    lines.insert(random.randrange(len(lines) + 1), random.choice(lines))
    return "\n".join(lines) + "\n"


def lines_exchanged(text: str, random: Random) -> str:
    lines = text.splitlines() or [""]
    a, b = random.randrange(len(lines)), random.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return "\n".join(lines) + "\n"


def line_inserted(text: str, random: Random) -> str:
    """One of another spec, or one that asks for trouble."""
    lines = text.splitlines() or [""]
    others = random.choice(sources()).splitlines() if random.random() < 0.5 else LINES
    lines.insert(random.randrange(len(lines) + 1), random.choice(others))
    return "\n".join(lines) + "\n"


def setting_written(text: str, random: Random) -> str:
    """One of the settings of a block, in the place of the one that it has; of the language, also where it is wrong."""
    found = list(BLOCK.finditer(text))
    if not found:
        return text
    block = random.choice(found)
    written = random.choice(SETTINGS[block[1]].split("|")).strip()
    end = text.find("}", block.end())
    rest, after = (text[block.end() : end], text[end:]) if end > 0 else (text[block.end() :], "")
    name = re.escape(written.split(" = ")[0])
    kept = re.sub(rf"(?<![\w.]){name}\s*=[^,]*(?:,|$)", "", rest).strip().rstrip(",")
    return f"{text[: block.end()]} {', '.join(filter(None, (written, kept)))} {after}"


def cut_off(text: str, random: Random) -> str:
    return text[: random.randrange(len(text) + 1)]


#: Some more often than others.
MUTATIONS: tuple[Mutation, ...] = (
    *(token_removed, token_replaced, token_replaced, token_inserted, tokens_exchanged, name_renamed, name_renamed),
    *(number_changed, number_changed, number_changed, line_removed, line_doubled, lines_exchanged),
    *(line_inserted, line_inserted, cut_off, setting_written, setting_written, setting_written),
)


#: Options of data in the specs that are mutated, and of none.
OPTIONS = ("digits.side", "text.context", "graph.nodes", "pictures.source", "digits.kind", "digits.side.x")


def settings(seed: int) -> list[str]:
    """Settings from outside, as ``--set`` takes them; none for most seeds."""
    random = Random(seed)
    if random.random() < 0.7:
        return []
    names = "relax.step relax.steps relax.solver relax.exit relax.measure nudge.beta nudge.steps train.rule train.lr"
    further = "train.ema train.eval_exit relax.step.z mem.nudge.beta mem.relax.solver relax.tolerance relax.chunk"
    others = "train.dtype train.batch mem.relax.steps D N L gamma nothing.at.all relax."
    chosen = random.sample([*names.split(), *further.split(), *others.split(), *OPTIONS], random.randint(1, 3))
    values = (*NUMBERS, "auto", "none", "newton", "blocks", "certified", "spec", "early", "gradient", "", "[1]")
    return [f"{name}={random.choice(values)}" for name in chosen]
