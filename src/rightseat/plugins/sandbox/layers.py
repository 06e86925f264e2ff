"""The isolation layers of a tool's process on this machine, and whether they suffice to run tools."""

import sys
from collections.abc import Iterator

import msgspec

SIGNAL_SCOPE_ABI = 6
RLIMIT_NAMES = {
    "RLIMIT_AS": "memory",
    "RLIMIT_CPU": "CPU time",
    "RLIMIT_FSIZE": "size of a file",
    "RLIMIT_NOFILE": "open files",
    "RLIMIT_NPROC": "threads",
}


class Layers(msgspec.Struct, frozen=True, kw_only=True):
    """Reported by the process before it loads any plugin code; see `worker/isolation.py`."""

    uid: int
    can_read_python: bool
    own_root: bool
    network: bool
    landlock: int
    seccomp: bool
    limits: tuple[str, ...]

    def problem(self) -> str | None:
        """Why tools cannot run here, with a remedy; None if they can."""
        if not self.seccomp:
            return "this system has no seccomp filters. Run the server on Linux, on x86_64 or aarch64."
        if self.uid == 0:
            return (
                "the server runs as root and may not change to another user. Run the server as an ordinary user, "
                "or give it the capabilities CAP_SETUID and CAP_SETGID."
            )
        if not self.landlock and not self.own_root:
            return (
                "this system has neither Landlock nor namespaces, so a tool could read every file of the server's "
                "user. Use Linux 5.13 or newer with Landlock switched on, or allow user namespaces."
            )
        if not self.can_read_python:
            return (
                f"the server runs as root, and the user 'nobody', as which tools run, cannot read Python in "
                f"{sys.base_prefix} or the folder for temporary files. Run the server as an ordinary user, install "
                "Python where every user can read it, or give the server the capability CAP_SYS_ADMIN."
            )
        return None

    def describe(self) -> Iterator[tuple[str, str]]:
        """(name, state) of each layer."""
        yield "seccomp", "allow list of system calls" if self.seccomp else "missing"
        yield "landlock", self._describe_landlock()
        yield "user", f"uid {self.uid}" + (", no capabilities" if self.uid else ": root, so tools are not run")
        yield (
            "files",
            "own root" if self.own_root else "no own root: namespaces are not allowed, so paths can be probed",
        )
        network = "own, empty network namespace" if self.network else "no namespace"
        yield "network", f"{network}; seccomp refuses sockets" if self.seccomp else network
        missing = [text for name, text in RLIMIT_NAMES.items() if name not in self.limits]
        yield "limits", f"missing: {', '.join(missing)}" if missing else ", ".join(RLIMIT_NAMES.values())
        yield (
            "disk",
            "tmpfs of fixed size" if self.own_root else "counted by the server every 50 ms: not a hard limit",
        )

    def _describe_landlock(self) -> str:
        if not self.landlock:
            return "missing (the kernel is older than 5.13, or has it switched off)"
        scope = "with" if self.landlock >= SIGNAL_SCOPE_ABI else f"without (from ABI {SIGNAL_SCOPE_ABI} on)"
        return f"ABI {self.landlock}, {scope} signal scope"
