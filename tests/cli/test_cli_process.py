"""The command line as a process: how it ends."""

from __future__ import annotations

import pytest

from tests.cli.run import in_python

#: What libraries leave behind: an object that speaks when the interpreter frees it, an exit function, a thread.
LEFT_BEHIND = """
import atexit, os, sys, threading, time, types
{before}
import energyc.surfaces.cli
def main():
    sys.modules["loud"] = types.SimpleNamespace(loud=Loud())
    atexit.register(lambda: print("exit function"))
    threading.Thread(target=lambda: (time.sleep(0.3), print("thread"))).start()
    return energyc.surfaces.cli.main()
class Loud:
    def __del__(self):
        os.write(2, b"leaked\\n")
sys.argv = ["energyc", *{arguments}]
sys.modules["energyc.surfaces.cli.process"].main = main
energyc.surfaces.cli.process()
"""


@pytest.mark.parametrize(("arguments", "status"), [(["list", "tsallis-free"], 1), (["--version"], 0), (["nope"], 2)])
def test_a_process_ends_without_a_word_of_libraries(arguments: list[str], status: int) -> None:
    done = in_python(LEFT_BEHIND.format(before="", arguments=arguments))
    assert done.returncode == status
    assert done.stdout.endswith("thread\nexit function\n")
    assert "leaked" not in done.stderr


def test_no_exit_function_is_left_out() -> None:
    before = "import atexit; atexit.register(lambda: print('profiler'))"
    done = in_python(LEFT_BEHIND.format(before=before, arguments=["--version"]))
    assert (done.returncode, done.stdout[-30:]) == (0, "thread\nexit function\nprofiler\n")
