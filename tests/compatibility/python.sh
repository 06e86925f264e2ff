#!/usr/bin/env bash
# Run tests with another Python, of Debian's unstable release: tests/compatibility/python.sh 3.14 tests/guards -x
#
# Without pytest arguments, the tests of single parts. The Python and the pinned requirements are installed once, in a
# folder below ~/.cache/rightseat (2.5 GB), from where apt and pip of this machine install. Needs Debian, root and
# debootstrap. PostgreSQL and Redis of this machine are used if they run. `Python VERSION` of unstable is what Debian
# builds at the moment; `PYTHON_TESTS_MIRROR` names another mirror, such as one with older packages.
set -euo pipefail

if (($# == 0)) || ((EUID != 0)) || ! command -v debootstrap >/dev/null; then
    echo "usage, as root and with debootstrap installed: ${BASH_SOURCE[0]} VERSION [pytest arguments]" >&2
    exit 2
fi
# Mounts are in a namespace of this process, so they end with it.
if [[ -z ${MOUNTS_ARE_PRIVATE:-} ]]; then
    MOUNTS_ARE_PRIVATE=1 exec unshare --mount --propagation private "${BASH_SOURCE[0]}" "$@"
fi

version=$1
shift
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
root=${XDG_CACHE_HOME:-$HOME/.cache}/rightseat/unstable
venv=/opt/python$version
unit_tests=(-n 2 --dist loadfile -m "not clients and not servers and not whole and not serial and not backends")

main() {
    if [[ ! -e $root/.made ]]; then
        rm -rf "$root"
        debootstrap --variant=minbase unstable "$root" "${PYTHON_TESTS_MIRROR:-$(find_mirror)}"
        touch "$root/.made"
    fi
    copy_configuration
    mount_folders
    if [[ ! -x $root/usr/bin/python$version ]]; then
        inside apt-get update -qq -o Acquire::Check-Valid-Until=false # a mirror may be some weeks behind
        inside apt-get install -qq --yes --no-install-recommends ca-certificates curl git openssl postgresql-client \
            redis-server "python$version" "python$version-venv" >/dev/null
    fi
    copy_certificates # ca-certificates writes its own
    install_project
    inside "$venv/bin/python" --version
    if (($# == 0)); then
        set -- "${unit_tests[@]}"
    fi
    inside nice -n 5 "$venv/bin/python" -m pytest -p no:cacheprovider "$@"
}

# Print where apt fetches Debian's own packages.
find_mirror() {
    # shellcheck disable=SC2016  # apt replaces these
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' | grep -m 1 '/debian/$'
}

# inside COMMAND...: run it in the chroot, in the project, with the environment of this shell.
inside() {
    DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 VIRTUAL_ENV=$venv PATH=$venv/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        chroot "$root" sh -c 'cd "$0" && exec "$@"' "$project" "$@"
}

copy_configuration() {
    cp /etc/resolv.conf /etc/hosts "$root/etc/"
    local file
    for file in /etc/pip.conf "$HOME/.config/pip/pip.conf" "$HOME/.pip/pip.conf"; do
        if [[ -e $file ]]; then
            mkdir -p "$root/$(dirname "$file")"
            cp "$file" "$root/$file"
        fi
    done
}

copy_certificates() {
    cp -L "${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}" "$root/etc/ssl/certs/ca-certificates.crt"
}

# The project, what programs expect, and the folders from which pip is configured to install.
mount_folders() {
    local folder
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount --rbind /sys "$root/sys"
    for folder in "$project" $(python3 -m pip config list 2>/dev/null | grep -oP "(?:'| |file://)\K/[^ ']+"); do
        folder=${folder%/simple} # an index has its files beside it
        if [[ -d $folder ]]; then
            mkdir -p "$root/$folder"
            mount --bind "$folder" "$root/$folder"
        fi
    done
}

# Install what is pinned, unless it is installed already, and the project.
install_project() {
    local pip=("$venv/bin/python" -m pip install -qq --disable-pip-version-check --no-compile --no-deps)
    if ! (cd "$project" && sha256sum --status --check "$root$venv/installed" 2>/dev/null); then
        inside "python$version" -m venv --clear "$venv"
        inside "${pip[@]}" --require-hashes -r requirements/base.txt -r requirements/dev.txt
        (cd "$project" && sha256sum requirements/{base,dev}.txt) >"$root$venv/installed"
    fi
    inside "${pip[@]}" --no-build-isolation --editable .
}

main "$@"
