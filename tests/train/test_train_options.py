"""The settings of ``train { ... }``: what is read, what is refused, and with which words."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from energyc.language.diagnostics import UserError
from energyc.language.settings import Call
from energyc.language.settings.train import ContractionPenalty, JacobianPenalty, TrainOptions, read_train


def test_reads_every_kind_of_value() -> None:
    options = TrainOptions.from_settings(
        {
            "rule": "centered-ep",
            "optimizer": "adamw",
            "lr": Fraction(4, 10000),
            "lr.W1": Fraction(1, 10),
            "final_lr": 1e-6,
            "betas": [Fraction(9, 10), Fraction(99, 100)],
            "schedule": Call("cosine", keywords={"warmup": Fraction(100)}),
            "metrics": ["accuracy", "top"],
            "penalty": Call("jacobian", keywords={"target": 1e-4, "floor": 1e-5}),
            "batch": Fraction(20),
        }
    )
    assert (options.rule, options.optimizer, options.batch) == ("centered-ep", "adamw", 20)
    assert (options.schedule, options.warmup) == ("cosine", 100)
    assert options.rate("W1") == 0.1 and options.rate("W2") == 4e-4
    assert options.betas == (0.9, 0.99)
    assert options.metrics == ("accuracy", "top")
    assert options.penalty == JacobianPenalty(target=1e-4, floor=1e-5, ceiling=10.0)


@pytest.mark.parametrize("written", [0, 1, 400, Fraction(1, 12), 0.25])
def test_a_warmup_is_a_number_of_updates_or_a_share_of_the_run(written: float) -> None:
    options = TrainOptions.from_settings({"warmup": written})
    assert (
        options.warmup == float(written)
        and TrainOptions.from_json(json.loads(json.dumps(options.to_json()))) == options
    )
    assert (
        TrainOptions.from_settings({"schedule": Call("cosine", keywords={"warmup": written})}).warmup == options.warmup
    )
    assert options.warmup_updates(1200) == (written if written >= 1 else round(written * 1200))


def test_json_round_trip() -> None:
    settings = {"lr.W": 0.5, "penalty": Call("jacobian"), "optimizer": "adam", "betas": [0, 0.5], "metrics": ["a"]}
    options = TrainOptions.from_settings(settings)
    assert TrainOptions.from_json(json.loads(json.dumps(options.to_json()))) == options


def test_a_penalty_on_contraction_and_decays_of_single_params() -> None:
    penalty = Call("contraction", {"rate": Fraction(1, 2)})
    options = TrainOptions.from_settings({"penalty": penalty, "weight_decay": 0.01, "weight_decay.W": 0})
    assert options.penalty == ContractionPenalty(rate=0.5, weight=1.0) and options.controlled is None
    assert (options.weight_decay, options.decays) == (0.01, {"W": 0.0})
    assert TrainOptions.from_json(json.loads(json.dumps(options.to_json()))) == options


def test_json_round_trip_of_calls_and_lists() -> None:
    score = Call("macro_f1", {"score": "logit", "label": "y", "of": "m", "threshold": "best"})
    geometric = Call("geometric", {"first": 0.1, "last": 1e-3})
    settings = {"metrics": ["a", score, "rmse"], "lr.W": [0.1, 0, Fraction(1, 3)], "lr.V": geometric, "validation": 0.2}
    options = TrainOptions.from_settings(settings)
    assert options.metrics == ("a", "macro_f1", "rmse") and [score.call() for score in options.scores] == [score]
    assert TrainOptions.from_json(json.loads(json.dumps(options.to_json()))) == options


@pytest.mark.parametrize(
    "saved",
    [
        {"metrics": 3},
        {"metrics": [3, ["a"]]},
        {"metrics": ["auc"], "scores": [{"name": "auc", "score": [1]}]},
        {"metrics": ["macro_f1"], "scores": [{"name": "macro_f1", "threshold": {}}]},
        {"rates": {"W": {"first": 0.1}}},
        {"rates": {"W": {"first": 0.1, "last": -1}}},
        {"rates": {"W": [0.1, "fast"]}},
        {"validation": 1},
    ],
)
def test_a_json_that_someone_changed_is_refused(saved: dict[str, Any]) -> None:
    with pytest.raises(UserError) as caught:
        TrainOptions.from_json(saved)
    assert caught.value.code == "E0502"


@pytest.mark.parametrize(
    ("settings", "code", "parts"),
    [
        ({"optimiser": "sgd"}, "E0541", ["optimiser", "did you mean `optimizer`"]),
        ({"zzz": 1}, "E0541", ["zzz", "it has"]),
        ({"optimizer": "adamm"}, "E0502", ["adamm", "adamw"]),
        ({"lr": -1}, "E0502", ["`train.lr`", "at least 0, not `-1`"]),
        ({"lr": Fraction(10) ** 400}, "E0502", ["train.lr", "..."]),
        ({"lr": float("nan")}, "E0502", ["nan"]),
        ({"lr": "fast"}, "E0502", ["fast", "a number"]),
        ({"lr": True}, "E0502", ["not `true`"]),
        ({"penalty": Call("contraction", {"target": 1})}, "E0502", ["called with rate, weight", "not `target`"]),
        ({"penalty": Call("contraction", {"rate": 2})}, "E0502", ["rate", "at most 1"]),
        ({"weight_decay.W": -1}, "E0502", ["train.weight_decay.W", "at least 0"]),
        ({"optimizer": "sgd", "weight_decay.W": 1, "eps": 1}, "E0503", ["eps"]),
        ({"lr.W": "x"}, "E0502", ["train.lr.W"]),
        ({"lr.W": [0.1, -1]}, "E0502", ["train.lr.W", "a list of them"]),
        ({"lr.W": Call("geometric", {"first": 1})}, "E0502", ["geometric(first = 1, last = 0.1)"]),
        ({"lr.W": Call("geometric", {"first": 0, "last": 1})}, "E0502", ["the first of `train.lr.W`"]),
        ({"lr": [0.1, 0.2]}, "E0502", ["`train.lr` is a number"]),
        ({"validation": 1}, "E0502", ["train.validation"]),
        ({"folds": 1}, "E0502", ["train.folds"]),
        ({"metrics": [Call("f1")]}, "E0502", ["macro_f1, auc, rmse, perplexity"]),
        ({"metrics": ["a", "a"]}, "E0502", ["without repetitions"]),
        ({"metrics": [Call("auc", {"threshold": 1})]}, "E0502", ["score, label, of"]),
        ({"metrics": [Call("macro_f1", {"threshold": "low"})]}, "E0502", ["a number or best"]),
        ({"batch": Fraction(1, 2)}, "E0502", ["positive whole number"]),
        ({"batch": 0}, "E0502", ["`train.batch`", "not `0`"]),
        ({"betas": [0.9]}, "E0502", ["two numbers"]),
        ({"betas": [0.9, 1]}, "E0502", ["under 1"]),
        ({"schedule": Call("cosine", keywords={"warm": 3})}, "E0502", ["warmup"]),
        ({"schedule": Call("cosine", keywords={"warmup": -3})}, "E0502", ["the warmup of `train.schedule`", "from 0"]),
        ({"warmup": Fraction(3, 2)}, "E0502", ["a whole number from 0, or a share of the run below 1"]),
        ({"warmup": -0.1}, "E0502", ["a share of the run below 1"]),
        ({"warmup": "5%"}, "E0502", ["a share of the run below 1"]),
        ({"warmup": True}, "E0502", ["a share of the run below 1"]),
        ({"schedule": 3}, "E0502", ["cosine(warmup = 1/20)"]),
        ({"penalty": Call("hessian")}, "E0502", ["jacobian"]),
        (
            {"penalty": Call("jacobian", keywords={"target": 0})},
            "E0502",
            ["the target of `train.penalty` is a positive number, not `0`"],
        ),
        ({"penalty": 3}, "E0502", ["one of jacobian, contraction", "contraction(rate = 0.8)"]),
        ({"gate": [Fraction(1), Fraction(2)]}, "E0502", ["`train.gate` is a positive number, not `[1, 2]`"]),
        ({"betas": [Fraction(1, 3), 2]}, "E0502", ["[1/3, 2]"]),
        ({"lr": Call("periodic", {"length": Fraction(1, 10)})}, "E0502", ["periodic(length = 0.1)"]),
        ({"dtype": "float16"}, "E0502", ["one of float32, float64"]),
        ({"seed": 10**30}, "E0502", ["to 9223372036854775807"]),
        ({"steps": 10, "epochs": 2}, "E0503", ["steps and epochs"]),
        ({"final_lr": 0.1}, "E0503", ["constant", "cosine"]),
        ({"optimizer": "adam", "momentum": 0.9}, "E0503", ["adam takes no momentum", "betas"]),
        ({"optimizer": "sgd", "nesterov": "true"}, "E0503", ["momentum"]),
        ({"penalty": Call("jacobian", keywords={"floor": 20})}, "E0503", ["floor"]),
    ],
)
def test_refuses(settings: dict[str, Any], code: str, parts: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        TrainOptions.from_settings(settings)
    shown = f"{caught.value.message} {caught.value.help}"
    assert caught.value.code == code
    assert all(part in shown for part in parts), shown
    assert len(caught.value.message) < 120


def test_all_faults_at_once() -> None:
    settings = {"gate": -2, "steps": 3, "epochs": 2, "lr.W": "x", "lrr": 1, "batch": 7}
    settings |= {"metrics": ["mse", "f1"], "best": "top", "rule": "bp"}
    _, found = read_train(settings, {"metric": ["mse"]}, ["ep", "bptt"])
    assert [(fault.key, fault.code) for fault in found] == [
        ("gate", "E0502"),
        ("lr.W", "E0502"),
        ("lrr", "E0541"),
        ("epochs", "E0503"),
        ("metrics", "E0501"),
        ("best", "E0501"),
        ("rule", "E0501"),
    ]
    fine = {"batch": 7, "best": "residual", "metrics": ["mse"], "rule": "ep"}
    assert read_train(fine, {"metric": ["mse"]}, ["ep"])[1] == []


def test_length_in_steps_or_epochs() -> None:
    assert TrainOptions.from_settings({"epochs": 3}).total_steps(7) == 21
    assert TrainOptions.from_settings({"steps": 5}).total_steps(7) == 5
    assert TrainOptions.from_settings({"epochs": 3}).with_steps(8).total_steps(7) == 8
