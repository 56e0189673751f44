"""``python -m energyc``."""

import sys

from energyc.cli import main

sys.exit(main())
