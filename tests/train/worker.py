"""Trains the tiny network as a process of its own, so that it can be killed: OUT SETTINGS PAUSE [resume]."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch

from energyc.running.training.loop import train
from energyc.running.training.outcome import Interrupted
from tests.train.tiny import make_session

torch.set_num_threads(1)
out, settings, pause = Path(sys.argv[1]), json.loads(sys.argv[2]), float(sys.argv[3])
session = make_session(out, settings, pause=pause, noise=0.05)
try:
    train(session, resume="resume" in sys.argv)
except Interrupted as stop:
    print(stop, stop.help, sep="\n")
    sys.exit(130)
