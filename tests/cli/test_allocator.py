"""Memory of large blocks returns to the operating system, also after a larger one was freed."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
from pathlib import Path
from rightseat.cli.allocator import map_large_blocks

def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

if sys.argv[1] == "set":
    map_large_blocks()
bytearray(20_000_000)  # from now on glibc would take smaller blocks from the heap
before = resident_bytes()
large, small = [], []
for _ in range(40):
    large.append(bytearray(b"x" * 1_500_000))
    small.append(bytearray(b"y" * 2000))
del large
print(resident_bytes() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc")
def test_freed_large_blocks_between_small_ones_return_to_the_operating_system() -> None:
    kept = {
        mode: int(subprocess.run([sys.executable, "-c", PROGRAM, mode], capture_output=True, check=True).stdout)
        for mode in ("set", "default")
    }

    assert kept["set"] < 2_000_000
    assert kept["default"] > 20_000_000  # else the option is not needed any more


TRIMMING_PROGRAM = """
from pathlib import Path
from rightseat.cli.allocator import HeapTrimmer

def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

trimmer = HeapTrimmer()
pieces = [bytearray(b"x" * 6000) for _ in range(4000)]
kept = pieces[::40]
before = resident_bytes()
del pieces
print(trimmer.trim(), before - resident_bytes(), trimmer.trim())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc")
def test_free_pages_between_blocks_in_use_return_to_the_operating_system() -> None:
    ended = subprocess.run([sys.executable, "-c", TRIMMING_PROGRAM], capture_output=True, check=True, text=True)

    is_trimmed, returned, is_trimmed_again = ended.stdout.split()
    assert (is_trimmed, is_trimmed_again) == ("True", "False")
    assert int(returned) > 15_000_000
