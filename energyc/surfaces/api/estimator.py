"""``energyc.Estimator``: a spec with one input and one target as an estimator of scikit-learn."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from energyc.extras import install_extra
from energyc.language.diagnostics import Source, UserError
from energyc.language.network import Network
from energyc.language.syntax import ast
from energyc.pipeline import Choices, parse, resolve
from energyc.running.runs.locate import read_spec
from energyc.surfaces.api.training import train

try:
    from sklearn.base import BaseEstimator
    from sklearn.metrics import accuracy_score, r2_score
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d, validate_data
except ImportError:
    raise UserError(
        "energyc.Estimator follows scikit-learn, which is not installed",
        code="E0913",
        help=f"{install_extra('data')}, or train by energyc.train, which needs no scikit-learn",
    ) from None


@dataclass(frozen=True)
class Task:
    """The task of a spec: its clamp and its target, with their dims, and the readout that answers.

    ``inputs`` and ``answers`` are the sizes of the dims by name: of a sample, and of its target or classes.
    ``probable``: the cost is a cross entropy, so that the softmax of the readout is a distribution over classes.
    """

    clamp: str
    target: str
    readout: str
    inputs: dict[str, int]
    answers: dict[str, int]
    classifies: bool
    probable: bool

    @staticmethod
    def of(source: Source, choices: Choices) -> Task:
        """The task of a spec. Raises SpecError; UserError E0930 where it has not one input and one target."""
        network = resolve(source, choices)
        if len(network.clamps) != 1 or len(network.targets) != 1:
            kinds = (("clamp", network.clamps), ("target", network.targets))
            has = " and ".join(f"{len(names)} {kind}{'s' * (len(names) != 1)}" for kind, names in kinds)
            raise _unfit(network, f"it has {has}", "an estimator has one of each; energyc.train takes any number")
        (clamp, given), (target, aim) = *network.clamps.items(), *network.targets.items()
        if given.node.over is not None or not given.node.dims:
            raise _unfit(network, f"its clamp {clamp} holds no features", "declare it as x[I], of real numbers")
        classifies = aim.node.over is not None
        if classifies and aim.node.dims:
            raise _unfit(network, f"its target {target} holds several classes", "declare it as label : K, or t[K]")
        wanted = tuple(filter(None, [aim.node.over])) if classifies else aim.node.dims
        readout = next((name for name, made in network.readouts.items() if made.node.dims == wanted), None)
        if readout is None:
            of = f"[{', '.join(map(str, wanted))}]" if wanted else "without dims"
            raise _unfit(network, f"no readout answers its target {target}", f"add one {of}")
        inputs, answers = ({dim: network.extents[dim] for dim in dims} for dims in (given.node.dims, wanted))
        return Task(
            clamp, target, readout, inputs, answers, classifies, classifies and _is_cross_entropy(parse(source))
        )

    def sizes(self, features: int, answers: int) -> dict[str, int]:
        """The dims that data decide: of a clamp with one dim, and of the classes or answers."""
        decided = [(self.inputs, features), (self.answers, answers)]
        return {dim: size for dims, size in decided for dim in dims if len(dims) == 1}


def _unfit(network: Network, why: str, help_text: str) -> UserError:
    return UserError(f"{network.name} is not an estimator: {why}", code="E0930", help=help_text)


def _is_cross_entropy(tree: ast.Spec) -> bool:
    """Return whether a spec's cost is a cross entropy."""
    costs = [s.right for s in tree.statements if isinstance(s, ast.Equation) and s.word == "cost"]
    return any(isinstance(cost, ast.Apply) and cost.name.text == "cross_entropy" for cost in costs)


def _classifies(estimator: Estimator) -> bool:
    return estimator._task().classifies


def _is_probable(estimator: Estimator) -> bool:
    if not estimator._task().probable:
        raise AttributeError("there are probabilities of classes where the cost is a cross_entropy, and nothing else")
    return True


class Estimator(BaseEstimator):  # type: ignore[misc]
    """A network of a spec with one clamp and one target, after scikit-learn: a classifier or a regressor.

    It classifies where the target is a class (``target label : K``) and regresses where it is real (``target t[K]``).
    The dims of the input and of the classes follow the data, unless ``dims`` has them. Labels may be anything
    that scikit-learn takes. It trains on all samples that ``fit`` is given, as ``energyc.train`` does, and keeps the
    weights of the best checkpoint on them. The keywords are those of ``energyc.train``; ``out`` is a folder for
    the run, which is otherwise not kept.

    After ``fit``: ``network_`` (a torch module), ``task_``, ``n_features_in_``, ``classes_`` (of a classifier). It then
    answers by what it was fitted to, whatever becomes of the file of its spec.
    """

    def __init__(
        self,
        spec: str | Path,
        *,
        rule: str | None = None,
        allow_biased: bool = False,
        steps: int | None = None,
        preset: str | None = None,
        dims: Mapping[str, int] | None = None,
        consts: Mapping[str, object] | None = None,
        settings: Mapping[str, object] | None = None,
        seed: int = 0,
        device: str = "cpu",
        target: str | None = None,
        out: str | Path | None = None,
    ) -> None:
        self.spec = spec
        self.rule = rule
        self.allow_biased = allow_biased
        self.steps = steps
        self.preset = preset
        self.dims = dims
        self.consts = consts
        self.settings = settings
        self.seed = seed
        self.device = device
        self.target = target
        self.out = out

    def fit(self, X: Any, y: Any) -> Estimator:
        """Train on samples X [samples, features] and y [samples] or [samples, answers]; returns itself.

        Raises ValueError for what scikit-learn takes for no data; SpecError, UserError, Diverged as ``energyc.train``.
        """
        task = self._asked()
        real = not task.classifies
        X, y = validate_data(self, X, y, dtype=np.float64, multi_output=real, y_numeric=real)
        if task.classifies:
            check_classification_targets(y)
            self.classes_, aims = np.unique(column_or_1d(y, warn=True), return_inverse=True)
            if len(self.classes_) < 2:
                raise ValueError(f"y holds one class, {self.classes_[0]}: there is nothing to tell apart")
            answers = len(self.classes_)
        else:
            aims, answers = self._aims(task, y)
        sizes = {**task.sizes(X.shape[1], answers), **(self.dims or {})}
        data = {task.clamp: self._shaped(task, X), task.target: aims}
        with tempfile.TemporaryDirectory(prefix="energyc-") as folder:
            run = train(
                self.spec,
                data,
                test=data,
                rule=self.rule,
                allow_biased=self.allow_biased,
                steps=self.steps,
                out=self.out or Path(folder) / "run",
                preset=self.preset,
                dims=sizes,
                consts=self.consts,
                settings=self.settings,
                seed=self.seed,
                device=self.device,
                target=self.target,
                pictures=False,
                quiet=True,
            )
            self.network_ = run.load(device=self.device).eval()
        self.task_, self.n_iter_ = task, run.steps
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The classes of samples [samples], or answers [samples] or [samples, answers]."""
        found, task = self._answers(X), self._task()
        if task.classifies:
            return self.classes_[found.argmax(1)]
        return found[:, 0] if found.ndim == 2 and self._flat_ else found

    @available_if(_classifies)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> np.ndarray:
        """The scores of the classes [samples, classes]; of two classes the second's less the first's [samples]."""
        found = self._answers(X)
        return found[:, 1] - found[:, 0] if found.shape[1] == 2 else found

    @available_if(_is_probable)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> np.ndarray:
        """The probabilities of the classes [samples, classes]: the softmax that a cross entropy is the cost of."""
        found = self._answers(X)
        weights = np.exp(found - found.max(1, keepdims=True))
        return weights / weights.sum(1, keepdims=True)

    def score(self, X: Any, y: Any) -> float:
        """The accuracy of a classifier; the coefficient of determination of a regressor."""
        measure = accuracy_score if self._task().classifies else r2_score
        return float(measure(y, self.predict(X)))

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, RegressorTags

        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self._task().classifies:
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        else:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
            tags.target_tags.multi_output = bool(self._task().answers)
        return tags

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_read"}

    def _task(self) -> Task:
        """The task it was fitted to; before, that of its spec as it stands now."""
        task: Task = self.task_ if hasattr(self, "task_") else self._asked()
        return task

    def _asked(self) -> Task:
        """The task of the spec, which is resolved once for a text and its choices."""
        source, choices = read_spec(self.spec), Choices.of(self.preset, self.dims, self.consts, self.settings)
        asked = (source.text, str(choices))
        if getattr(self, "_read", (None, None))[0] != asked:
            self._read = asked, Task.of(source, choices)
        task: Task = self._read[1]
        return task

    def _aims(self, task: Task, y: np.ndarray) -> tuple[np.ndarray, int]:
        """Real targets in the shape of the spec's, and how many there are of a sample."""
        self._flat_ = y.ndim == 1
        if not task.answers:
            return column_or_1d(y, warn=True), 1
        columns = y[:, None] if y.ndim == 1 else y
        return columns, columns.shape[1]

    def _shaped(self, task: Task, X: np.ndarray) -> np.ndarray:
        """Features in the shape of a clamp with several dims."""
        shape = [*task.inputs.values()] if len(task.inputs) > 1 else [X.shape[1]]
        if int(np.prod(shape)) != X.shape[1]:
            raise ValueError(f"X has {X.shape[1]} features; {task.clamp} takes {' x '.join(map(str, shape))}")
        return X.reshape(len(X), *shape)

    def _answers(self, X: Any) -> np.ndarray:
        """The readout of samples, in float64; without classes that ``dims`` has room for and ``fit`` was not given."""
        import torch

        check_is_fitted(self, "network_")
        task, net = self._task(), self.network_
        X = self._shaped(task, validate_data(self, X, dtype=np.float64, reset=False))
        with torch.no_grad():
            found = net({task.clamp: torch.tensor(X, dtype=net.dtype, device=net.device)})[task.readout]
        answers = check_array(found.double().cpu().numpy(), ensure_2d=False, ensure_all_finite=False)
        return answers[:, : len(self.classes_)] if task.classifies else answers
