"""Sets up the C library's allocator, so that memory of large responses returns to the operating system.

glibc maps large blocks separately and unmaps them when they are freed. But each such block raises the size from which
it does so, up to 32 MB: after one response of ten million characters, all later copies of large responses stay in the
heap, between small blocks that are in use. A fixed size prevents that.
"""

import ctypes
import sys

M_MMAP_THRESHOLD = -3  # of malloc.h
MAPPED_BLOCK_BYTES = 1 << 18
MIN_TRIMMED_BYTES = 1 << 22


def map_large_blocks() -> None:
    """Does nothing with another C library than glibc."""
    if sys.platform != "linux":
        return
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(M_MMAP_THRESHOLD, MAPPED_BLOCK_BYTES)


class HeapTrimmer:
    """Returns free pages of the C library's heap to the operating system, where a long response has left many.

    Small objects are in Python's own heap, so they do not use these pages.
    """

    def __init__(self) -> None:
        library = ctypes.CDLL(None) if sys.platform == "linux" else None
        self._measure = getattr(library, "mallinfo2", None)
        self._trim = getattr(library, "malloc_trim", None)
        if self._measure is not None:
            self._measure.restype = _HeapInfo
        self._free_bytes = self._measure_free()

    def trim(self) -> bool:
        """Whether there was more to return than `MIN_TRIMMED_BYTES`. Takes 20 µs if not. Call it now and then."""
        free = self._measure_free()
        if self._trim is None or free - self._free_bytes < MIN_TRIMMED_BYTES:
            self._free_bytes = min(free, self._free_bytes)
            return False
        self._trim(0)
        self._free_bytes = self._measure_free()  # pages that were returned still count as free
        return True

    def _measure_free(self) -> int:
        return int(self._measure().fordblks) if self._measure is not None else 0


class _HeapInfo(ctypes.Structure):
    """`struct mallinfo2` of malloc.h; `fordblks` is the number of free bytes."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    )
