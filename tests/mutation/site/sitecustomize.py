"""Marks energyc in the subprocesses of the tests that are recorded (``tests/mutation/recording.py``)."""

import os

if "ENERGYC_ENTERED" in os.environ:
    import atexit
    import json
    from pathlib import Path

    from tests.mutation.marking import install

    _entered = install(Path(__file__).resolve().parents[3])

    @atexit.register
    def leave() -> None:
        path = Path(os.environ["ENERGYC_ENTERED"], f"{os.getpid()}.json")
        path.write_text(json.dumps(sorted(_entered.names | _entered.at_import)), encoding="utf-8")
