"""The slower passes on a text that was saved: ``energyc check`` in a process of its own.

It is killed when the text changes, and whatever becomes of it, the server lives on.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from typing import Any

#: After so many seconds the analysis is given up.
SECONDS = 120.0
#: ``-P``: nothing is imported from the folder that the editor was started in.
COMMAND = (sys.executable, "-P", "-m", "energyc", "check", "-", "--format", "json")


async def analysed(text: str) -> Mapping[str, Any]:
    """The report of ``energyc check`` as JSON; empty where it gave none in time. Cancelling it kills the process."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(text.encode()), SECONDS)
        report = json.loads(output)
        return report if isinstance(report, dict) and report.get("class") else {}
    except (TimeoutError, ValueError):
        return {}
    finally:
        if process.returncode is None:
            process.kill()
