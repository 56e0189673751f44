"""``python -m energyc``."""

import os
import sys

from energyc.surfaces.cli import main

status = main()
if "WORLD_SIZE" in os.environ:
    from energyc.running.ranks.launch import leave

    leave(status)
sys.exit(status)
