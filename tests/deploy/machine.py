"""A machine within this one, for tests of what an operator installs: systemd is its first process.

It has the files of this machine, and what it changes is gone with it. Network, processes and control groups are others.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.conditions import wait_until

SYSTEMD = Path("/usr/lib/systemd/systemd")
CHECKOUT = Path(__file__).parents[2]
PROGRAM = "/opt/rightseat/bin/rightseat"
ENVIRON = {"container": "test", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
BOOT_S = 30

BOOT = r"""
set -e
folder=$1 python=$2 packages=$3 checkout=$4
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$folder"
mkdir "$folder/changes" "$folder/work" "$folder/root"
mount -t overlay -o "lowerdir=/,upperdir=$folder/changes,workdir=$folder/work" overlay "$folder/root"
cd "$folder/root"
mkdir -p opt/python opt/packages opt/checkout opt/rightseat/bin run old
mount --rbind "$python" opt/python
mount --bind "$packages" opt/packages
mount --bind "$checkout" opt/checkout
cat >opt/rightseat/bin/rightseat <<END
#!/bin/sh
export LD_LIBRARY_PATH=/opt/python/lib PYTHONPATH=/opt/packages:/opt/checkout/src PYTHONDONTWRITEBYTECODE=1
exec /opt/python/bin/$5 -m rightseat "\$@"
END
chmod 755 opt/rightseat/bin/rightseat
rm -rf etc/systemd/system lib/systemd/system/sysinit.target.wants usr/lib/systemd/system/sysinit.target.wants
mkdir etc/systemd/system
mount -t proc proc proc
mount --rbind /dev dev
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
ip link set lo up
pivot_root . old
umount --lazy old
exec /usr/lib/systemd/systemd --system --unit=basic.target --log-target=journal --show-status=0
"""


class Unavailable(Exception):
    """Why this machine cannot have another one within it."""


class Machine:
    def __init__(self, pid: int) -> None:
        self._enter = ["nsenter", f"--target={pid}", "--all", "--root", "--wd"]

    def command(self, *arguments: str) -> list[str]:
        return [*self._enter, *arguments]

    def run(self, *arguments: str, text: str | None = None) -> str:
        """What the program prints. It must succeed."""
        done = subprocess.run(
            self.command(*arguments), input=text, capture_output=True, text=True, env=ENVIRON, check=False
        )
        assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stdout

    def has(self, *arguments: str) -> bool:
        """Whether the program succeeds."""
        return not subprocess.run(self.command(*arguments), capture_output=True, env=ENVIRON, check=False).returncode

    def write(self, file: str, text: str) -> None:
        """Keeps the rights of a file that exists."""
        self.run("sh", "-c", 'mkdir -p "$(dirname "$1")" && cat >"$1"', "sh", file, text=text)


@contextmanager
def boot(folder: Path, *programs: str) -> Iterator[Machine]:
    for program in ("unshare", "nsenter", "ip", "systemctl", *programs):
        if shutil.which(program) is None:
            raise Unavailable(f"{program} is not installed")
    if not SYSTEMD.exists():
        raise Unavailable("systemd is not installed")
    if os.geteuid():
        raise Unavailable("systemd needs root")
    with cgroup() as group:
        command = [
            *("unshare", "--mount", "--pid", "--fork", "--kill-child", "--uts", "--ipc", "--net", "--cgroup"),
            *("sh", "-c", BOOT, "sh", str(folder), sys.base_prefix, sysconfig.get_path("purelib"), str(CHECKOUT)),
            Path(sys.executable).resolve().name,
        ]
        log = folder.parent / "boot.log"
        start = ["sh", "-c", f'exec >"{log}" 2>&1; echo $$ >"{group}/cgroup.procs"; exec "$@"', "sh", *command]
        with subprocess.Popen(start, stdin=subprocess.DEVNULL, env=ENVIRON) as process:
            try:
                yield await_boot(process, log)
            finally:
                process.kill()


def await_boot(process: "subprocess.Popen[bytes]", log: Path) -> Machine:
    def find() -> Machine | None:
        if process.poll() is not None:
            raise Unavailable(f"systemd cannot be started here: {' '.join(log.read_text().split())[-300:]}")
        for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
            machine = Machine(int(pid))
            if Path(f"/proc/{pid}/exe").readlink() == SYSTEMD and machine.has("systemctl", "is-active", "basic.target"):
                return machine
        return None

    try:
        return wait_until(find, BOOT_S)
    except TimeoutError:
        raise Unavailable("systemd cannot be started here: it did not reach basic.target") from None


@contextmanager
def cgroup() -> Iterator[Path]:
    """A group of processes that is empty afterwards, and gone."""
    hierarchies = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines() if " cgroup2 " in line]
    group = Path(hierarchies[0] if hierarchies else "/sys/fs/cgroup") / f"rightseat-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        raise Unavailable(f"systemd cannot be started here: {error}") from None
    try:
        yield group
    finally:
        with suppress(TimeoutError):
            wait_until(lambda: not (group / "cgroup.events").read_text().startswith("populated 1"), BOOT_S)
        for inner, _, _ in os.walk(group, topdown=False):
            Path(inner).rmdir()


def read_commands(page: str, heading: str, block: int) -> Sequence[str]:
    """The lines of a block of shell commands on a page of the documentation."""
    section = page.split(f"\n{heading}\n")[1].split("\n## ")[0]
    return section.split("```sh\n")[1 + block].split("```")[0].splitlines()
