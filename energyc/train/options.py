"""What ``train { ... }`` may say: the settings of a training run, checked, with their defaults."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any

from energyc.data.schema import Call
from energyc.diagnostics import UserError, near
from energyc.train.settings import (
    Reader,
    Unfit,
    flag,
    number,
    pair,
    read_arguments,
    split_call,
    whole,
    word,
    words,
    written,
)

# For each optimiser of torch.optim: its default learning rate and the settings it takes beside lr.
OPTIMIZERS: Mapping[str, tuple[float, tuple[str, ...]]] = MappingProxyType(
    {
        "sgd": (0.01, ("momentum", "nesterov", "weight_decay")),
        "adam": (1e-3, ("betas", "eps", "weight_decay")),
        "adamw": (1e-3, ("betas", "eps", "weight_decay")),
        "nadam": (1e-3, ("betas", "eps", "weight_decay")),
        "radam": (1e-3, ("betas", "eps", "weight_decay")),
        "adamax": (2e-3, ("betas", "eps", "weight_decay")),
        "rmsprop": (1e-3, ("momentum", "eps", "weight_decay")),
        "adagrad": (0.01, ("eps", "weight_decay")),
        "adadelta": (1.0, ("eps", "weight_decay")),
    }
)
SCHEDULES = ("constant", "cosine", "linear")
DTYPES = ("float32", "float64")
#: What an evaluation measures beside the cost and the metrics of the spec.
BESIDE = ("residual", "residual_max", "relax_steps", "samples")
DEFAULT_STEPS = 1000


@dataclass(frozen=True)
class Fault:
    """What is wrong with the setting ``key``.

    E0541 an unknown setting, E0501 a name that is not there, E0502 a value that does not fit, E0503 one too many.
    """

    key: str
    code: str
    message: str
    help: str

    def error(self) -> UserError:
        """As a mistake outside a spec."""
        return UserError(self.message, code=self.code, help=self.help)


@dataclass(frozen=True)
class Penalty:
    """The Jacobian penalty's controller: lambda <- clip(lambda (EMA(residual)/target)^0.3, floor, ceiling)."""

    target: float = 1e-4
    floor: float = 1e-4
    ceiling: float = 10.0


@dataclass(frozen=True)
class TrainOptions:
    """The settings of a run.

    Learning rates: ``lr`` for all params (None: the optimiser's own default), ``rates`` for single ones (``lr.W1``).
    Length: ``steps`` updates, or ``epochs`` passes over the training split; at most one of them is set.
    ``eval_every``, ``save_every`` and ``log_every`` count updates; None leaves them to the loop (see docs/training.md).
    ``best`` names the held-out quantity that decides the best checkpoint, ``best_mode`` whether a low one is good.
    """

    rule: str | None = None
    optimizer: str = "adam"
    lr: float | None = None
    rates: Mapping[str, float] = field(default_factory=dict)
    final_lr: float | None = None
    momentum: float | None = None
    nesterov: bool | None = None
    weight_decay: float | None = None
    betas: tuple[float, float] | None = None
    eps: float | None = None
    schedule: str = "constant"
    warmup: int = 0
    clip: float | None = None
    batch: int = 32
    steps: int | None = None
    epochs: int | None = None
    eval_every: int | None = None
    eval_samples: int = 2000
    save_every: int | None = None
    log_every: int = 1
    metrics: tuple[str, ...] | None = None
    best: str = "cost"
    best_mode: str = "auto"
    gate: float | None = None
    penalty: Penalty | None = None
    residual_defence: float | None = None
    folds: int | None = None
    allow_biased: bool = False
    dtype: str = "float32"
    seed: int = 0

    @staticmethod
    def from_settings(settings: Mapping[str, Any]) -> TrainOptions:
        """Read the words and values of a spec's ``train`` block (or of ``--set train.KEY=VALUE``).

        Raises UserError E0541 (unknown setting), E0502 (a value that does not fit), E0503 (settings that exclude
        each other).
        """
        options, found = _read_all(settings)
        if found:
            raise found[0].error()
        return options

    @staticmethod
    def from_json(saved: Mapping[str, Any]) -> TrainOptions:
        """The options that ``to_json`` wrote into a run.json; keys of later versions are ignored.

        Raises UserError as ``from_settings`` does, where someone changed the file to what no setting may be.
        """
        known = (*_READERS, *_COMPOSED)
        settings = {key: value for key, value in saved.items() if key in known and value is not None}
        if isinstance(penalty := settings.get("penalty"), Mapping):
            settings["penalty"] = Call("jacobian", keywords=penalty)
        rates = saved.get("rates") or {}
        return TrainOptions.from_settings(settings | {f"lr.{name}": rate for name, rate in rates.items()})

    def to_json(self) -> dict[str, Any]:
        """All options as JSON values, in the order of the fields."""
        return asdict(replace(self, rates=dict(self.rates)))

    def with_steps(self, steps: int) -> TrainOptions:
        """The same with another length (``--steps``), which replaces ``epochs``."""
        return replace(self, steps=_read_one("steps", steps), epochs=None)

    def with_seed(self, seed: int) -> TrainOptions:
        """The same with another seed (``--seed``)."""
        return replace(self, seed=_read_one("seed", seed))

    def total_steps(self, updates_per_epoch: int) -> int:
        """The number of updates of the whole run."""
        if self.epochs is not None:
            return self.epochs * updates_per_epoch
        return DEFAULT_STEPS if self.steps is None else self.steps

    def rate(self, param: str) -> float:
        """The peak learning rate of one param."""
        return self.rates.get(param, self.base_rate)

    @property
    def base_rate(self) -> float:
        """The peak learning rate of the params that have none of their own."""
        return OPTIMIZERS[self.optimizer][0] if self.lr is None else self.lr


def faults(settings: Mapping[str, Any], metrics: Collection[str], rules: Collection[str]) -> list[Fault]:
    """All that is wrong with settings as ``TrainOptions.from_settings`` takes them, on a network with such metrics."""
    options, found = _read_all(settings)
    found += misnamed(options, ("cost", *metrics, *BESIDE))
    if options.rule is not None and options.rule not in rules:
        message = f"train.rule names no rule `{options.rule}`"
        found.append(Fault("rule", "E0501", message, suggest(options.rule, rules)))
    return found


def misnamed(options: TrainOptions, measured: Collection[str]) -> list[Fault]:
    """The ``metrics`` and ``best`` that an evaluation, which gives the numbers ``measured``, does not measure."""
    asked = [*(("metrics", name) for name in options.metrics or ()), ("best", options.best)]
    chosen = [name for name in measured if name not in BESIDE]
    return [
        Fault(key, "E0501", f"train.{key} names no metric `{name}`", suggest(name, chosen))
        for key, name in asked
        if name not in measured
    ]


def suggest(name: str, known: Collection[str]) -> str:
    """The help text for a misspelt name: near ones, or all of them."""
    meant = near(name, known, most=3)
    return f"did you mean `{'` or `'.join(meant)}`?" if meant else "known: " + ", ".join(sorted(known))


def _schedule(value: Any) -> dict[str, Any]:
    name, arguments = split_call(value)
    word(SCHEDULES)(name)
    return {"schedule": name, **read_arguments(arguments, {"warmup": whole(0)})}


def _penalty(value: Any) -> dict[str, Any]:
    name, arguments = split_call(value, "jacobian(target = 1e-4)")
    word(("jacobian",))(name)
    positive = number(above=0)
    return {"penalty": Penalty(**read_arguments(arguments, dict.fromkeys(("target", "floor", "ceiling"), positive)))}


# Settings that are read into several options at once.
_COMPOSED: Mapping[str, Reader] = MappingProxyType({"schedule": _schedule, "penalty": _penalty})

_READERS: Mapping[str, Reader] = MappingProxyType(
    {
        "rule": word(),
        "optimizer": word(tuple(OPTIMIZERS)),
        "lr": number(0),
        "final_lr": number(0),
        "momentum": number(0, 1),
        "nesterov": flag,
        "weight_decay": number(0),
        "betas": pair,
        "eps": number(above=0),
        "warmup": whole(0),
        "clip": number(above=0),
        "batch": whole(1),
        "steps": whole(0),
        "epochs": whole(0),
        "eval_every": whole(1),
        "eval_samples": whole(1),
        "save_every": whole(1),
        "log_every": whole(1),
        "metrics": words,
        "best": word(),
        "best_mode": word(("auto", "min", "max")),
        "gate": number(above=0),
        "residual_defence": number(0),
        "folds": whole(2),
        "allow_biased": flag,
        "dtype": word(DTYPES),
        "seed": whole(0),
    }
)


def _read_all(settings: Mapping[str, Any]) -> tuple[TrainOptions, list[Fault]]:
    """The options, a setting that does not fit left at its default; and what is wrong."""
    known: dict[str, Any] = {}
    rates: dict[str, float] = {}
    found: list[Fault] = []
    for key, value in settings.items():
        read = _reader(key)
        if read is None:
            help_text = suggest(key, [*_READERS, *_COMPOSED])
            found.append(Fault(key, "E0541", f"`train` has no setting `{key}`", help_text))
            continue
        try:
            answer = read(value)
        except Unfit as unfit:
            found.append(_unfit(key, value, unfit))
            continue
        if key.startswith("lr."):
            rates[key.removeprefix("lr.")] = answer
        else:
            known |= answer if key in _COMPOSED else {key: answer}
    options = TrainOptions(rates=rates, **known)
    return options, [*found, *_contradictions(options)]


def _reader(key: str) -> Reader | None:
    return number(0) if key.startswith("lr.") else _READERS.get(key) or _COMPOSED.get(key)


def _read_one(key: str, value: Any) -> Any:
    try:
        return _READERS[key](value)
    except Unfit as unfit:
        raise _unfit(key, value, unfit).error() from None


def _unfit(key: str, value: Any, unfit: Unfit) -> Fault:
    part = "" if unfit.part is None else f": {_short(unfit.part)}"
    message = f"train.{key} = {_short(written(value))} does not fit{part}"
    return Fault(key, "E0502", message, f"write {unfit.expected}")


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def _contradictions(options: TrainOptions) -> Iterator[Fault]:
    """Settings that exclude each other; each is told at the one that can go."""
    if options.steps is not None and options.epochs is not None:
        yield Fault("epochs", "E0503", "train sets both steps and epochs", "keep one of them")
    if options.final_lr is not None and options.schedule == "constant":
        message = "train.final_lr has no effect on a constant rate"
        yield Fault("final_lr", "E0503", message, "add schedule = cosine or schedule = linear")
    _, taken = OPTIMIZERS[options.optimizer]
    for name in ("momentum", "nesterov", "weight_decay", "betas", "eps"):
        if getattr(options, name) is not None and name not in taken:
            message = f"the optimiser {options.optimizer} takes no {name}"
            yield Fault(name, "E0503", message, "it takes lr, " + ", ".join(taken))
    if options.nesterov and "nesterov" in taken and not options.momentum:
        yield Fault("nesterov", "E0503", "train.nesterov needs a momentum above 0", "add momentum = 0.9")
    if options.penalty and options.penalty.floor > options.penalty.ceiling:
        yield Fault("penalty", "E0503", "the penalty's floor lies above its ceiling", "exchange them")
