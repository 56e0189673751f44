"""The version, which generated modules carry in their heads, and when this process began to import energyc.

Imports: nothing.
"""

import time

__version__ = "0.3.0"
#: Seconds since the epoch.
BEGAN = time.time()
