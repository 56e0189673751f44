"""Loggers, which are told how a run goes: TensorBoard's event files, or an object of the user's own.

| module | content |
|---|---|
| ``protocol`` | ``Logger``: what a run tells, in four methods; ``Telling``: the loggers of a run |
| ``tensorboard_log`` | event files in the run folder |
| ``chosen`` | the loggers that ``--log`` names |

Nothing here asks a question or uses the network.

Imports: ``diagnostics``, ``extras``, ``files``, ``running``; libraries: ``tensorboard``.
"""

from energyc.running.loggers.protocol import Ending, Logger, Run

__all__ = ["Ending", "Logger", "Run"]
