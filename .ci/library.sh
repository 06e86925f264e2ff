# What .ci/run and .ci/nightly share: the environment, steps, and what is repeated, skipped or printed at the end.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CI=true NO_MKDOCS_2_WARNING=1
unset PYTHONDONTWRITEBYTECODE # hundreds of processes import the same modules
export PATH="$PWD/.venv/bin:$PATH"
scratch=$(mktemp -d)
current=start
idle_budget_s=300 # for all waiting until the machine is idle
max_repeated=10   # tests and scenarios, in one run
trap finish EXIT

# step NAME COMMAND...: run it and say how long it took; a failure ends everything.
step() {
    current=$1
    shift
    local from=$SECONDS cpu
    cpu=$(read_cpu_s)
    echo "== $current"
    "$@"
    echo "-- $current: $((SECONDS - from)) s, $(($(read_cpu_s) - cpu)) s of processor time"
}

# The processor time of the whole machine since it started, in seconds; 0 where Linux does not say it.
read_cpu_s() {
    awk -v tick="$(getconf CLK_TCK)" '/^cpu / { print int(($2 + $3 + $4 + $7 + $8) / tick) }' /proc/stat 2>/dev/null || echo 0
}

finish() {
    local status=$?
    if ((status)); then
        echo "== FAILED: $current (exit $status) after $SECONDS s"
        print_outcome
    fi
    kill $(jobs -p) 2>/dev/null || true
    rm -rf "$scratch"
}

# The last lines: what pytest and the suites said at their ends, what was repeated, what was skipped.
print_outcome() {
    cat "$scratch/closing-lines" 2>/dev/null || true
    sed 's/^/repeated alone, enter it in tests\/flaky.toml: /' "$scratch/repeated" 2>/dev/null || true
    if [[ -s $scratch/skipped ]]; then
        echo "not everything ran: $(sort -u "$scratch/skipped" | paste -sd ';' | sed 's/;/; /g')"
    fi
}

# beside NAME COMMAND...: start it at a lower priority, beside what comes next. `await NAME` waits for it.
beside() {
    local name=$1
    shift
    (
        renice -n 10 $BASHPID >/dev/null
        from=$SECONDS status=0
        "$@" || status=$?
        echo "-- beside other steps: $((SECONDS - from)) s"
        exit $status
    ) >"$scratch/$name.beside" 2>&1 &
    printf -v "pid_of_$name" %s $!
}

await() {
    local status=0 pid=pid_of_$1
    wait "${!pid}" || status=$?
    cat "$scratch/$1.beside"
    return $status
}

# closing_with PATTERN COMMAND...: run it, and keep the last line that matches, for the end of this log.
closing_with() {
    local pattern=$1 status=0
    shift
    "$@" 2>&1 | tee "$scratch/output" || status=$?
    grep -E "$pattern" "$scratch/output" | tail -n 1 >>"$scratch/closing-lines" || true
    return $status
}

# run_tests MINUTE ARGUMENTS...: pytest; no test begins after that minute. Tests with limits of time can fail because
# other tests use the same processors. So tests that failed run again, alone, at most twice, when the machine is idle.
# Rewriting assertions costs each process 25 s; only a repetition, which explains a failure, needs it.
run_tests() {
    local status=0 failed until=$(($(date +%s) - SECONDS + $1 * 60))
    rm -rf "$scratch/costs"
    closing_with ' in [0-9.]+s' env TESTS_UNTIL=$until \
        pytest --assert=plain -p tests.measure.durations --costs="$scratch/costs" "${@:2}" || status=$?
    python -m tests.measure.durations "$scratch/costs"
    grep -o 'NOT LISTED in tests/skips.toml.*' "$scratch/output" >>"$scratch/unlisted" || true
    if grep -q 'no time is left for it' "$scratch/output"; then
        echo "$(grep -c 'no time is left for it' "$scratch/output") groups of tests (no time left)" >>"$scratch/skipped"
    fi
    for _ in 1 2; do
        ((status == 1)) || break
        mapfile -t failed < <(list_failed_tests)
        ((${#failed[@]})) || break # something else than a test failed the run: its output says what
        may_repeat "${failed[@]}" || break
        await_idle
        status=0
        closing_with ' in [0-9.]+s' pytest --last-failed --last-failed-no-failures none || status=$?
    done
    return $status
}

list_failed_tests() {
    python -c 'import json; print(*json.load(open(".pytest_cache/v/cache/lastfailed")), sep="\n")' 2>/dev/null | sed '/^$/d' || true
}

# Fail if something was skipped that tests/skips.toml does not name. A repetition of what failed does not show that.
refuse_unlisted_skips() {
    [[ ! -s $scratch/unlisted ]] || { sort -u "$scratch/unlisted" && return 1; }
}

# may_repeat NAME...: note that these are repeated, unless that would be too many in one run.
may_repeat() {
    local known
    known=$(sort -u <(printf '%s\n' "$@") <(cat "$scratch/repeated" 2>/dev/null || true))
    if (($(wc -l <<<"$known") > max_repeated)); then
        echo "not repeated: more than $max_repeated tests and scenarios have failed"
        return 1
    fi
    echo "$known" >"$scratch/repeated"
    printf 'repeated alone: %s\n' "$@"
}

# Wait until the machine runs a process within 50 ms for 5 s on end, while the budget for that lasts.
await_idle() {
    local from=$SECONDS
    python - $idle_budget_s <<'END'
import sys
import time

limit = float(sys.argv[1])
began = calm_since = time.monotonic()
longest = 0.0
while (now := time.monotonic()) - calm_since < 5 and now - began < limit:
    time.sleep(0.01)
    late = time.monotonic() - now - 0.01
    longest = max(longest, late)
    if late > 0.05:
        calm_since = time.monotonic()
print(f"waited {now - began:.0f} s for an idle machine; the longest delay of a process was {longest * 1000:.0f} ms")
END
    idle_budget_s=$((idle_budget_s - (SECONDS - from)))
}

# run_suite FORM SUITE SCENARIO...: its closing line, with its name, is kept for the end of this log. The file FORM beside
# the suite has options on its first line, and on each other line a scenario, which those that are named here replace.
# The variable `title` may say more than the name.
run_suite() {
    local form=tests/acceptance/$2/$1 suite=$2 status=0 options=() scenarios=("${@:3}") log=$scratch/$2.output
    if [[ -f $form ]]; then
        read -ra options <"$form" || true
        ((${#scenarios[@]})) || mapfile -t -s 1 scenarios <"$form"
    fi
    "tests/acceptance/$suite/run" "${options[@]}" "${scenarios[@]}" 2>&1 | tee "$log" || status=$?
    grep -E '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1 | sed "s/^/${title:-$suite}: /" >>"$scratch/closing-lines" || true
    python -m tests.gate.skips "$suite" "$log" >"$log.skips" || status=$?
    cat "$log.skips"
    grep '^NOT LISTED' "$log.skips" >>"$scratch/unlisted" || true
    sed -n 's/^skipped: //p' "$log.skips" >>"$scratch/skipped"
    return $status
}

# repeat FORM SUITE: the scenarios that failed, at most twice, when the machine is idle, for the same reason as tests.
repeat() {
    local failed
    for _ in 1 2; do
        mapfile -t failed < <(grep -oP '^FAIL +\K[^ :]+' "$scratch/$2.output" | sort -u)
        ((${#failed[@]})) || return 1 # the suite did not get as far as a scenario, or skipped one that it must not
        echo "== acceptance: $2"
        may_repeat "${failed[@]/#/$2/}" || return 1
        await_idle
        run_suite "$1" "$2" "${failed[@]}" && return
    done
    return 1
}

# The names of all acceptance suites.
list_suites() {
    local runner
    for runner in tests/acceptance/*/run; do
        basename "$(dirname "$runner")"
    done
}

make_environment() {
    "${PYTHON:-python3}" -m venv .venv
    .venv/bin/python -m pip install -qq --disable-pip-version-check --no-deps --require-hashes -r requirements/uv.txt
    local install=(.venv/bin/uv pip install --quiet --python .venv/bin/python --no-deps)
    "${install[@]}" --require-hashes -r requirements/base.txt -r requirements/dev.txt -r requirements/docs.txt
    "${install[@]}" --no-build-isolation --editable .
    .venv/bin/python --version
}

# Everything that is left out because a service is missing fails the gate, unless tests/skips.toml names it.
start_services() {
    if ! command -v pg_ctlcluster >/dev/null; then
        echo "PostgreSQL is not installed"
    elif pg_isready --quiet || pg_ctlcluster --skip-systemctl-redirect "$(ls /etc/postgresql)" main start; then
        echo "PostgreSQL is up"
    fi
    if ! command -v redis-server >/dev/null; then
        echo "Redis is not installed"
    elif redis-cli ping >/dev/null 2>&1 || redis-server --daemonize yes --bind 127.0.0.1 --port 6379 --save "" --appendonly no >/dev/null; then
        echo "Redis is up"
    fi
}

# A browser for pages, and the two proxies that the documentation shows. A test that misses one is skipped, which fails.
install_programs() {
    local missing=()
    if [[ -z ${CHROMIUM:-} ]] && ! command -v chromium chromium-browser google-chrome >/dev/null; then
        missing+=(chromium)
    fi
    command -v nginx >/dev/null || missing+=(nginx-light)
    command -v caddy >/dev/null || missing+=(caddy)
    ((${#missing[@]})) || return 0
    if ((EUID != 0)); then
        echo "These programs are missing: ${missing[*]}. Install them (Debian: apt-get install ${missing[*]})."
        return 1
    fi
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends "${missing[@]}" >/dev/null
}

# The servers of other projects that the tests talk to: minutes of downloading, while lint and types go on. Tests wait
# for the one that they need, or install it themselves and say what is wrong.
install_ahead() {
    python -m tests.servers.installing >/dev/null 2>&1 || true
}
