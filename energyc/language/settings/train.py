"""The settings of a training run: ``train { ... }``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar

from energyc.language.diagnostics import did_you_mean, listed
from energyc.language.settings import scores as scores_kind
from energyc.language.settings.kinds import (
    Duration,
    Flag,
    Geometric,
    Integer,
    Number,
    Pair,
    Rate,
    Rates,
    Recorded,
    Spread,
    Word,
    rate_as_written,
)
from energyc.language.settings.scores import BEST, SCORES, Metrics, Score, unclear
from energyc.language.settings.table import CONTRADICTION, UNKNOWN_NAME, Fault, meant, read, setting, table
from energyc.language.settings.values import Call

#: For each optimiser of torch.optim: its default learning rate and the settings it takes beside lr.
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
#: What every evaluation measures beside the cost and the metrics of the spec.
ALWAYS_MEASURED = ("residual", "residual_max", "settled", "relax_steps", "samples")
#: The rule of a spec that names none.
DEFAULT_RULE = "implicit"
DEFAULT_STEPS = 1000
EVAL_SAMPLES = 2000

NOT_NEGATIVE, POSITIVE, COUNT = Number(low=0), Number(above=0), Integer(1)


def updates_of(duration: float, total: int) -> int:
    """Return the number of updates of a ``Duration``, which may be a share of the ``total``."""
    return round(duration * total) if duration < 1 else int(duration)


@dataclass(frozen=True)
class JacobianPenalty:
    """|J_nc w|^2 / dim, whose weight follows lambda <- clip(lambda (EMA(residual)/target)^0.3, floor, ceiling)."""

    target: float = 1e-4
    floor: float = 1e-4
    ceiling: float = 10.0


@dataclass(frozen=True)
class ContractionPenalty:
    """weight * max(0, rho - rate)^2, where a step near the equilibrium multiplies the slowest mode by rho."""

    rate: float = 0.8
    weight: float = 1.0


Penalty = JacobianPenalty | ContractionPenalty


def _penalty(name: str, **fields: float) -> Penalty:
    return JacobianPenalty(**fields) if name == "jacobian" else ContractionPenalty(**fields)


PENALTY = Recorded(
    {
        "jacobian": dict.fromkeys(("target", "floor", "ceiling"), POSITIVE),
        "contraction": {"rate": Number(above=0, high=1), "weight": POSITIVE},
    },
    "contraction(rate = 0.8)",
    _penalty,
)


@dataclass(frozen=True)
class BetaSchedule:
    """How the strength of the nudge goes to ``final`` times its own over ``over`` updates or that share of a run."""

    shape: str
    final: float = 0.1
    over: float | None = None


BETA_SCHEDULE = Recorded(
    {shape: {"final": POSITIVE, "over": Duration()} for shape in ("linear", "cosine", "geometric")},
    "geometric(final = 1/10)",
    BetaSchedule,
)


@dataclass(frozen=True)
class TrainOptions:
    """The settings of a run.

    ``lr`` is the learning rate of all params (None: the optimiser's own), ``rates`` are those of single ones;
    ``weight_decay`` and ``decays``, ``momentum`` and ``momenta`` likewise. The run
    has ``steps`` updates or ``epochs`` passes over the training split; at most one of them is set.
    """

    word: ClassVar[str] = "train"
    misfit: ClassVar[str] = "E0502"

    rule: str | None = setting(None, Word(), "the learning rule", otherwise=f"`{DEFAULT_RULE}`")
    optimizer: str = setting("adam", Word(tuple(OPTIMIZERS)), "the optimiser of torch.optim")
    lr: float | None = setting(
        None,
        NOT_NEGATIVE,
        "the peak learning rate",
        otherwise="0.001; " + ", ".join(f"`{name}` {rate:g}" for name, (rate, _) in OPTIMIZERS.items() if rate != 1e-3),
        owner="param",
        single="rates",
        each=Rates(),
    )
    rates: Mapping[str, Rate] = field(default_factory=dict)
    final_lr: float | None = setting(
        None,
        NOT_NEGATIVE,
        "the learning rate at the last update; single rates are scaled by the same factor",
        otherwise="0",
    )
    momentum: float | None = setting(
        None, Number(0, 1), "the optimiser's momentum", otherwise="torch's", owner="param", single="momenta"
    )
    momenta: Mapping[str, float] = field(default_factory=dict)
    nesterov: bool | None = setting(None, Flag(), "Nesterov momentum", otherwise="torch's")
    weight_decay: float | None = setting(
        None,
        NOT_NEGATIVE,
        "the optimiser's weight decay; AdamW multiplies it by the param's learning rate",
        otherwise="torch's",
        owner="param",
        single="decays",
    )
    decays: Mapping[str, float] = field(default_factory=dict)
    betas: tuple[float, float] | None = setting(None, Pair(), "decay rates of the moments", otherwise="torch's")
    eps: float | None = setting(None, POSITIVE, "the optimiser's epsilon", otherwise="torch's")
    schedule: str = setting(
        "constant",
        Spread({word: {"warmup": Duration()} for word in SCHEDULES}, "cosine(warmup = 1/20)"),
        "how the rate falls",
    )
    warmup: float = setting(0, Duration(), "linear warm-up of the learning rate", unit="updates")
    beta_schedule: BetaSchedule | None = setting(
        None,
        BETA_SCHEDULE,
        "schedule of the nudge strength, from `nudge.beta` to `final` (0.1) times that over `over` updates (the run)",
        otherwise="none: constant",
    )
    clip: float | None = setting(None, POSITIVE, "the largest norm of the whole gradient")
    ema: float | None = setting(
        None,
        Number(above=0, high=0.9999999),
        "decay of the moving average of the params that evaluations use",
        otherwise="none",
    )
    batch: int = setting(32, COUNT, "per update; the last batch of an epoch may be smaller", unit="samples")
    steps: int | None = setting(
        None,
        Integer(0),
        "length of the run; `--steps` overrides it and `epochs`",
        unit="updates",
        otherwise=f"{DEFAULT_STEPS}",
    )
    epochs: int | None = setting(None, Integer(0), "length of the run, instead of `steps`", unit="epochs")
    eval_every: int | None = setting(
        None,
        COUNT,
        "between evaluations",
        unit="updates",
        otherwise="an epoch, but at least a hundredth and at most a tenth of the run",
    )
    eval_samples: int | None = setting(
        None,
        COUNT,
        "of the test set, evenly spread, in each evaluation during training",
        unit="samples",
        otherwise=f"`{EVAL_SAMPLES}`; at most those of the updates between two evaluations, unless `eval_every` or a "
        "metric over a whole split is set",
    )
    eval_exit: str = setting(
        "early",
        Word(("early", "spec")),
        "`early`: evaluated samples stop at `relax.tolerance`, if it is set; `spec`: as `relax.exit` says",
    )
    save_every: int | None = setting(
        None, COUNT, "between checkpoints, in addition to those of evaluations", unit="updates"
    )
    log_every: int = setting(1, COUNT, "between rows of `metrics.jsonl`", unit="updates")
    metrics: tuple[str, ...] | None = setting(
        None,
        Metrics(),
        "the recorded metrics: the spec's, and metrics over a whole split",
        otherwise="all",
    )
    scores: tuple[Score, ...] = ()
    best: str = setting("cost", Word(), "the held-out number that selects the best checkpoint")
    validation: float | None = setting(
        None,
        Number(above=0, high=0.9),
        "share of the training samples held out to select the best checkpoint; without it the test set is used",
    )
    best_mode: str = setting(
        "auto",
        Word(("auto", "min", "max")),
        "whether a low or a high `best` is better; `auto`: low for costs and errors, else high",
    )
    gate: float | None = setting(None, POSITIVE, "samples with a larger residual are excluded from the contrast")
    penalty: Penalty | None = setting(
        None,
        PENALTY,
        "keeps the steps converging ([rules](rules.md#health)): `contraction` penalises modes that a step shrinks "
        "by less than `rate` (0.8); the weight of `jacobian` follows the residual between `floor` (1e-4) and `ceiling` "
        "(10)",
    )
    residual_defence: float | None = setting(None, NOT_NEGATIVE, "the weight of the residual defence")
    folds: int | None = setting(
        None, Integer(2), "number of cross-validation runs, each with another part as the test set"
    )
    allow_biased: bool = setting(False, Flag(), "allow a rule that is biased on this network")
    dtype: str = setting("float32", Word(("float32", "float64")), "dtype of states and params")
    products: str | None = setting(
        None,
        Word(("float32", "tf32", "bfloat16")),
        "precision of the operands of float32 products in the force and its derivatives",
        otherwise="as torch is set",
    )
    bits: int | None = setting(
        None,
        Integer(2),
        "bits of the params in updates and evaluations, at most 24; the optimiser moves unrounded params "
        "(straight-through)",
        otherwise="not rounded",
    )
    mismatch: float = setting(
        0.0,
        Number(0, 1),
        "updates multiply each param by 1 + mismatch * normal, drawn anew for each; evaluations do not",
    )
    cosine_every: int | None = setting(
        None,
        COUNT,
        "between rows with `cosine`, between the rule's gradient and that of `implicit`",
        unit="updates",
        otherwise="never",
    )
    seed: int = setting(0, Integer(0), "of weights, data order, augmentation and noise")

    @staticmethod
    def from_settings(settings: Mapping[str, Any]) -> TrainOptions:
        """The options that a ``train`` block of such settings gives.

        Raises UserError E0541 (an unknown setting), E0502 (a value that does not fit), E0503 (settings that exclude
        each other).
        """
        options, faults = read(TrainOptions, settings)
        for fault in [*faults, *options.contradictions()]:
            raise fault.error()
        return options

    @staticmethod
    def from_json(saved: Mapping[str, Any]) -> TrainOptions:
        """The options that ``to_json`` wrote into a run.json; keys of later versions are ignored.

        Raises UserError as ``from_settings`` does, where someone changed the file to what no setting may be.
        """
        known = table(TrainOptions)
        settings = {key: value for key, value in saved.items() if key in known and value is not None}
        if isinstance(penalty := settings.get("penalty"), Mapping):
            settings["penalty"] = Call("contraction" if "rate" in penalty else "jacobian", penalty)
        if isinstance(schedule := settings.get("beta_schedule"), Mapping):
            keywords = {key: value for key, value in schedule.items() if key != "shape" and value is not None}
            settings["beta_schedule"] = Call(str(schedule.get("shape")), keywords)
        if isinstance(names := settings.get("metrics"), list):
            settings["metrics"] = scores_kind.as_written(names, saved.get("scores") or ())
        single = {f"lr.{name}": rate_as_written(rate) for name, rate in (saved.get("rates") or {}).items()}
        single |= {f"weight_decay.{name}": decay for name, decay in (saved.get("decays") or {}).items()}
        single |= {f"momentum.{name}": momentum for name, momentum in (saved.get("momenta") or {}).items()}
        return TrainOptions.from_settings(settings | single)

    def to_json(self) -> dict[str, Any]:
        """All options as JSON values, in the order of the fields."""
        return asdict(replace(self, rates=dict(self.rates), decays=dict(self.decays), momenta=dict(self.momenta)))

    def with_steps(self, steps: int) -> TrainOptions:
        """The same with another length (``--steps``), which replaces ``epochs``."""
        return replace(self, steps=TrainOptions.from_settings({"steps": steps}).steps, epochs=None)

    def with_seed(self, seed: int) -> TrainOptions:
        """The same with another seed (``--seed``)."""
        return replace(self, seed=TrainOptions.from_settings({"seed": seed}).seed)

    @property
    def trained_by(self) -> str:
        """The rule, where none is set the default one."""
        return self.rule or DEFAULT_RULE

    @property
    def why_trained_by(self) -> str:
        """Why it is trained by that rule."""
        if self.rule is None:
            return f"train.rule is not set, and {DEFAULT_RULE} is exact for any force"
        return "by train.rule"

    def total_steps(self, updates_per_epoch: int) -> int:
        """The number of updates of the whole run."""
        if self.epochs is not None:
            return self.epochs * updates_per_epoch
        return DEFAULT_STEPS if self.steps is None else self.steps

    def warmup_updates(self, total: int) -> int:
        """The updates of the warm-up, in a run of ``total`` updates; it may be set as a share of these."""
        return updates_of(self.warmup, total)

    def evaluated_every(self, total: int, epoch: int) -> int:
        """The updates between two evaluations, in a run of ``total`` updates with ``epoch`` in an epoch."""
        return self.eval_every or max(1, total // 100, min(epoch, total // 10))

    def evaluated_samples(self, every: int) -> int:
        """The most samples of an evaluation: it takes no longer than ``every`` updates unless that was set."""
        if self.eval_samples is not None:
            return self.eval_samples
        is_set = self.eval_every is not None or self.whole_split(())
        return EVAL_SAMPLES if is_set else min(EVAL_SAMPLES, every * self.batch)

    def rate(self, param: str, count: int = 1) -> float | tuple[float, ...]:
        """The peak learning rate of one param, or those along its first dim, of size ``count``."""
        rate = self.rates.get(param, self.base_rate)
        return rate.rates(count) if isinstance(rate, Geometric) else rate

    @property
    def controlled(self) -> JacobianPenalty | None:
        """The penalty whose weight a controller sets."""
        return self.penalty if isinstance(self.penalty, JacobianPenalty) else None

    @property
    def base_rate(self) -> float:
        """The peak learning rate of the params that have none of their own."""
        return OPTIMIZERS[self.optimizer][0] if self.lr is None else self.lr

    def whole_split(self, measured: Collection[str]) -> tuple[Score, ...]:
        """The metrics over a whole split; a bare word is one unless the spec has a metric of its name."""
        words = [name for name in self.metrics or () if name in SCORES and name not in measured]
        called = {score.name for score in self.scores}
        return (*self.scores, *(Score(name) for name in words if name not in called))

    @property
    def needs_validation(self) -> bool:
        """Whether a threshold is chosen on the validation part."""
        return any(score.threshold == BEST for score in self.scores)

    def contradictions(self) -> Iterator[Fault]:
        """Settings that exclude each other, each reported at the one that can go."""
        if self.steps is not None and self.epochs is not None:
            yield Fault("epochs", CONTRADICTION, "train sets both steps and epochs", "keep one of them")
        if self.final_lr is not None and self.schedule == "constant":
            message = "train.final_lr has no effect on a constant rate"
            yield Fault("final_lr", CONTRADICTION, message, "add schedule = cosine or schedule = linear")
        _, taken = OPTIMIZERS[self.optimizer]
        for name in ("momentum", "nesterov", "weight_decay", "betas", "eps"):
            single = {"weight_decay": self.decays, "momentum": self.momenta}.get(name)
            given = getattr(self, name) is not None or single
            if given and name not in taken:
                message = f"the optimiser {self.optimizer} takes no {name}"
                yield Fault(name, CONTRADICTION, message, "it takes lr, " + ", ".join(taken))
        if self.nesterov and "nesterov" in taken and not self.momentum:
            yield Fault("nesterov", CONTRADICTION, "train.nesterov needs a momentum above 0", "add momentum = 0.9")
        if self.products and self.dtype == "float64":
            message = f"train.products = {self.products} is of float32, and train.dtype is float64"
            yield Fault("products", CONTRADICTION, message, "leave one of them out")
        if self.controlled and self.controlled.floor > self.controlled.ceiling:
            yield Fault("penalty", CONTRADICTION, "the penalty's floor lies above its ceiling", "swap them")

    def misnamed(self, measured: Collection[str], rules: Collection[str] = ()) -> Iterator[Fault]:
        """The ``metrics`` and ``best`` that are not among ``measured``, and a rule that is not among ``rules``."""
        metrics = [name for name in measured if name not in ALWAYS_MEASURED]
        for name in self.metrics or ():
            if name not in measured and name not in SCORES:
                yield _misnamed("metrics", "metric", name, [*metrics, *SCORES])
        if self.best not in measured and self.best in SCORES and self.best not in (self.metrics or ()):
            message = f"train.best = {self.best} is not among train.metrics"
            yield Fault("best", UNKNOWN_NAME, message, f"add it: metrics = [{SCORES[self.best].example}]")
        elif self.best not in (*measured, *SCORES):
            yield _misnamed("best", "metric", self.best, metrics)
        if rules and self.rule is not None and self.rule not in rules:
            yield _misnamed("rule", "rule", self.rule, rules)


def read_train(
    given: Mapping[str, object], names: Mapping[str, Collection[str]], rules: Collection[str]
) -> tuple[TrainOptions, list[Fault]]:
    """The options of a network with params and metrics of such ``names``, and all that is wrong with what is given."""
    options, faults = read(TrainOptions, given, names)
    named = options.misnamed(("cost", *names["metric"], *ALWAYS_MEASURED), rules)
    return options, [*faults, *options.contradictions(), *named, *_unclear(options, names)]


def _unclear(options: TrainOptions, names: Mapping[str, Collection[str]]) -> Iterator[Fault]:
    """The names in metrics over a whole split that the network does not have."""
    metrics = names["metric"]
    for score in options.scores:
        if score.name in metrics:
            message = f"train.metrics: {score.name} is a metric of the spec, and cannot be called"
            yield Fault("metrics", UNKNOWN_NAME, message, "give the spec's metric another name")
    for score in options.whole_split(metrics) if "readout" in names else ():
        for what in unclear(score, names["readout"], names["target"], metrics):
            help_text = f"the readouts are {listed(names['readout'])}, the targets {listed(names['target'])}"
            yield Fault("metrics", UNKNOWN_NAME, f"train.metrics: {what}", help_text)


def _misnamed(key: str, kind: str, name: str, known: Collection[str]) -> Fault:
    help_text = did_you_mean(name, known, f"the {kind}s are {listed(known)}")
    instead = "" if key == "metrics" else meant(name, known)
    return Fault(key, UNKNOWN_NAME, f"train.{key} names no {kind} `{name}`", help_text, "value", instead)
