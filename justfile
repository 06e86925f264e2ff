# The workshop. `just` alone lists the recipes.

python := env("PYTHON", "python3")
bin := justfile_directory() / ".venv" / "bin"
export NO_MKDOCS_2_WARNING := "1"
export PATH := bin + ":" + env("PATH")

# List the recipes
default:
    @just --list --unsorted

# Make .venv and install everything that is pinned
setup:
    {{ python }} -m venv .venv
    {{ bin }}/python -m pip install -qq --disable-pip-version-check --no-deps --require-hashes -r requirements/uv.txt
    {{ install }} --require-hashes -r requirements/base.txt -r requirements/dev.txt -r requirements/docs.txt
    {{ install }} --no-build-isolation --editable .

# Say whether the code is fit to commit: lint, format, layers, types, tests of what changed; `just check all`: all fast tests
check *ARGS:
    {{ bin }}/python -m tests.gate.check {{ ARGS }}

# Lint, and look at the format
lint:
    ruff check
    ruff format --check

# Check types, tests included
types:
    {{ bin }}/python -m tests.gate.types

# Check which way imports point
layers:
    lint-imports --no-logo

# Repair what ruff can repair
fix:
    ruff check --fix
    ruff format

# Run tests; arguments go to pytest
test *ARGS:
    pytest {{ ARGS }}

# Install the CPU build of vLLM once (2.5 GB, Linux on x86-64) and test our backend with it; arguments go to pytest
vllm *ARGS:
    {{ bin }}/python -m tests.servers.installing vllm
    pytest -m servers tests/models/completion {{ ARGS }}

# Run the gate as it must pass before a change lands, or some of its parts: just gate lint types openbb
gate *PARTS:
    .ci/run {{ PARTS }}

# Run what takes longer than the gate may, or some of its parts: just nightly speed scale
nightly *PARTS:
    .ci/nightly {{ PARTS }}

# Judge a running server with real clients: just acceptance copilotkit-graphql
acceptance SUITE *ARGS:
    tests/acceptance/{{ SUITE }}/run {{ ARGS }}

# Feed spoilt input to everything that reads what others send: just fuzz 30, or just fuzz 5 sql templates
fuzz MINUTES *ARGS:
    {{ bin }}/python -m tests.fuzz --minutes {{ MINUTES }} {{ ARGS }}

# Start a server; arguments go to `rightseat serve`
serve *ARGS:
    rightseat serve {{ ARGS }}

# Check the web console and build it into src/rightseat/console; needs node 20
console:
    cd console && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && npm run check && npm run build

# Take the pictures of the console in docs/images with Chromium; `just pictures FOLDER --review` takes every screen
pictures *ARGS:
    {{ bin }}/python -m tests.docs.pictures {{ ARGS }}

# Write every file that is made from the code: references, schemas, the operator API and the types of the console
generate:
    {{ bin }}/python -m tests.docs.generated

# Build the documentation into site/
docs:
    mkdocs build --strict

# Make the files of a release in a clean clone, and its commit and tag: just release 1.2.3, with --dry-run without these two
release VERSION *ARGS:
    {{ bin }}/python -m tests.release {{ VERSION }} {{ ARGS }}

# Pin the requirements anew; `just lock --upgrade` takes the newest versions
lock *ARGS:
    {{ compile }} {{ ARGS }} pyproject.toml --constraint requirements/constraints.in --output-file requirements/base.txt
    {{ compile }} {{ ARGS }} requirements/dev.in --output-file requirements/dev.txt
    {{ compile }} {{ ARGS }} requirements/docs.in --output-file requirements/docs.txt
    {{ compile }} {{ ARGS }} requirements/build.in --output-file requirements/build.txt
    {{ compile }} {{ ARGS }} requirements/release.in --output-file requirements/release.txt
    {{ compile }} {{ ARGS }} requirements/uv.in --output-file requirements/uv.txt
    for file in requirements/servers/*.in; do {{ compile }} {{ ARGS }} $file --output-file ${file%.in}.txt; done
    {{ compile }} {{ ARGS }} pyproject.toml --extra local --extra live --extra openbb --extra redis --extra postgres --extra dbos --extra plugins --extra mysql --extra png --extra mcp --extra telemetry --extra bedrock --extra azure --extra vertex --extra oidc --constraint requirements/dev.txt --output-file requirements/fleet.txt

# Pin the packages of vLLM anew. UV_FIND_LINKS or UV_EXTRA_INDEX_URL must name a place that has torch's CPU build
lock-vllm *ARGS:
    uv pip compile --quiet --python-version 3.11 --python-platform x86_64-manylinux_2_28 --generate-hashes --no-emit-index-url --no-emit-find-links --custom-compile-command 'just lock-vllm' {{ unused_by_vllm }} {{ ARGS }} requirements/vllm.in --output-file requirements/vllm.txt

# vLLM names these, and runs without them: they do not fit torch's CPU build, or have no use on a CPU
unused_by_vllm := "--no-emit-package torchvision --no-emit-package torchaudio --no-emit-package torchcodec --no-emit-package triton"
install := "uv pip install --quiet --python .venv/bin/python --no-deps"
compile := "uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --custom-compile-command 'just lock'"
