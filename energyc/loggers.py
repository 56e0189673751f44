"""The public names of loggers: what a logger of one's own is written with."""

from energyc.running.loggers import Ending, Logger, Run

__all__ = ["Ending", "Logger", "Run"]
