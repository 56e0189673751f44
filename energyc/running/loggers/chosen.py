"""The loggers that ``--log`` names: one of energyc's own, or ``module:factory``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from energyc.language.diagnostics import Spoken, UserError, did_you_mean
from energyc.running.loggers.protocol import Logger
from energyc.running.loggers.tensorboard_log import TensorBoard
from energyc.running.references import Reference

#: The loggers of energyc, which run.json may name, so that a resumed run has them again.
SHIPPED: Mapping[str, Callable[[], Logger]] = MappingProxyType({"tensorboard": TensorBoard})
_OWN = Spoken(
    "tensorboard, or one of your own: --log module:factory", "tensorboard, or an object of your own among loggers=[...]"
)
_METHODS = ("start", "scalars", "picture", "finish")


def chosen(names: Iterable[str]) -> tuple[Logger, ...]:
    """Make the loggers of ``--log``, each once.

    Raises UserError: E0950 for a factory that cannot be called, E0951 for what is not a logger, E0952 for one that is
    not installed, E0953 for an unknown name.
    """
    return tuple(_made(name) for name in dict.fromkeys(names))


def given(loggers: Logger | str | Iterable[Logger | str]) -> tuple[Logger, ...]:
    """Return the loggers that a program gives, one or several, those of energyc by name.

    Raises UserError E0951, E0952, E0953.
    """
    if isinstance(loggers, str) or not isinstance(loggers, Iterable):
        loggers = (loggers,)
    return tuple(_checked(_shipped(each) if isinstance(each, str) else each, "loggers:") for each in loggers)


def continued(names: Iterable[str], notify: Callable[[str], None]) -> tuple[Logger, ...]:
    """Make the loggers that run.json names, as far as they are installed here; ``notify`` gets what is not.

    Only those of energyc: a run folder may come from anyone, and may not name what is called.
    """
    loggers: list[Logger] = []
    for name in dict.fromkeys(names):
        try:
            loggers += [SHIPPED[name]()] if name in SHIPPED else []
        except UserError as error:
            notify(f"warning: the run logs to {name} no longer: {error.message} ({error.help})")
    return tuple(loggers)


def names_of(loggers: Sequence[Logger]) -> list[str]:
    """Return the names of those that energyc ships."""
    return [name for name, kind in SHIPPED.items() if any(isinstance(logger, kind) for logger in loggers)]  # type: ignore[arg-type]


def _made(name: str) -> Logger:
    if name in SHIPPED:
        return SHIPPED[name]()
    reference = Reference("--log", name, "E0950")
    if not reference.is_one:
        return _shipped(name)
    made = reference.made(is_made=lambda thing: not isinstance(thing, type) and not _lacks(thing))
    return _checked(made, f"--log {name} makes")


def _shipped(name: str) -> Logger:
    if name not in SHIPPED:
        help_text = did_you_mean(name, SHIPPED, _OWN)
        raise UserError(f"there is no logger {name}", code="E0953", help=help_text)
    return SHIPPED[name]()


def _checked(logger: Logger, what: str) -> Logger:
    if missing := _lacks(logger):
        message = f"{what} an object of type {type(logger).__name__}, which has no method {missing[0]}"
        raise UserError(message, code="E0951", help="derive it from energyc.running.loggers.Logger")
    return logger


def _lacks(thing: object) -> list[str]:
    return [method for method in _METHODS if not callable(getattr(thing, method, None))]
