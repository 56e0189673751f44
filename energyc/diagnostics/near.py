"""The name that was probably meant by an unknown one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType

#: The least similarity of two words: twice the letters they share in order, over the letters of both.
SIMILARITY = 0.7

#: Settings, rules and options under the names that other libraries have for them.
_SYNONYMS: Mapping[str, str] = MappingProxyType(
    {
        "learning_rate": "lr",
        "learningrate": "lr",
        "rate": "lr",
        "eta": "lr",
        "batch_size": "batch",
        "batchsize": "batch",
        "num_epochs": "epochs",
        "n_epochs": "epochs",
        "num_steps": "steps",
        "n_steps": "steps",
        "iterations": "steps",
        "iters": "steps",
        "max_iter": "max_steps",
        "updates": "steps",
        "dt": "step",
        "step_size": "step",
        "stepsize": "step",
        "tol": "tolerance",
        "atol": "tolerance",
        "optim": "optimizer",
        "algorithm": "rule",
        "method": "rule",
        "wd": "weight_decay",
        "l2": "weight_decay",
        "scheduler": "schedule",
        "lr_schedule": "schedule",
        "grad_clip": "clip",
        "clip_norm": "clip",
        "precision": "dtype",
        "strength": "beta",
        "nudging": "beta",
        "backprop": "bptt",
        "backpropagation": "bptt",
        "bp": "bptt",
        "eqprop": "ep",
        "ift": "implicit",
    }
)


def near(word: str, known: Iterable[str], most: int = 1) -> list[str]:
    """The known names most similar to a word, the most similar first.

    A synonym is likelier than another case, and that than another spelling.
    """
    names = list(dict.fromkeys(known))
    synonyms = [name for name in names if name == _SYNONYMS.get(word.lower().replace("-", "_"))]
    same = [name for name in names if name.lower() == word.lower() and name != word]
    return (synonyms or same)[:most] or get_close_matches(word, names, n=most, cutoff=SIMILARITY)
