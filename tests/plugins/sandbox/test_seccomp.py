"""The filter's program, run by a small interpreter: so that of another architecture can be judged here too."""

import pytest

from rightseat.plugins.sandbox.worker import seccomp
from rightseat.plugins.sandbox.worker.seccomp import ALLOW, ALLOWED, KILL, REFUSE, UNKNOWN

OWN = 4321  # process id
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
MACHINES = pytest.mark.parametrize("machine", ARCHITECTURES)


def judge(machine: str, number: int, *arguments: int, architecture: int | None = None) -> int:
    words = {0: number, 4: ARCHITECTURES[machine] if architecture is None else architecture}
    for place, value in enumerate((*arguments, 0, 0, 0, 0, 0, 0)[:6]):
        words |= {16 + 8 * place: value & 0xFFFFFFFF, 20 + 8 * place: value >> 32 & 0xFFFFFFFF}
    program, at, held = seccomp.write_program(machine, OWN), 0, 0
    while True:
        code, if_true, if_false, value = program[at]
        match code:
            case seccomp.LOAD:
                held, step = words[value], 0
            case seccomp.IF_EQUAL:
                step = if_true if held == value else if_false
            case seccomp.IF_AT_LEAST:
                step = if_true if held >= value else if_false
            case seccomp.IF_BIT:
                step = if_true if held & value else if_false
            case seccomp.RETURN:
                return value
        at += 1 + step


def number(machine: str, numbers: tuple[int, int]) -> int:
    return numbers[machine == "aarch64"]


@MACHINES
def test_every_system_call_is_refused_unless_listed(machine: str) -> None:
    listed = {numbers[machine == "aarch64"] for numbers in ALLOWED.values()}

    for one in range(600):
        verdict = judge(machine, one, 99, 99, 99, 99, 99)
        assert (verdict == ALLOW) == (one in listed), one
        assert one in listed or verdict == (UNKNOWN if one >= 424 else REFUSE), one


@MACHINES
@pytest.mark.parametrize(
    ("numbers", "good", "bad"),
    [
        ((56, 220), (0x3D0F00,), (17,)),  # clone: a thread, a process
        ((53, 199), (1, 1), (2, 1)),  # socketpair: AF_UNIX, AF_INET
        ((44, 206), (3, 0, 1, 0, 0, 0), (3, 0, 1, 0, 1 << 40, 16)),  # sendto: without and with an address
        ((44, 206), (3, 0, 1, 0, 0, 0), (3, 0, 1, 0, 8, 16)),
        ((72, 25), (3, 4, 0), (3, 8, 1)),  # fcntl: F_SETFL, F_SETOWN
        ((16, 29), (3, 0x5421), (3, 0x8901)),  # ioctl: FIONBIO, FIOSETOWN
        ((157, 167), (15,), (1,)),  # prctl: PR_SET_NAME, PR_SET_PDEATHSIG
        ((302, 261), (0, 7), (OWN, 7)),  # prlimit64: itself, a process by its id
        ((234, 131), (OWN, OWN, 6), (1, 1, 6)),  # tgkill: itself, another process
    ],
)
def test_some_system_calls_are_allowed_with_certain_arguments(
    machine: str, numbers: tuple[int, int], good: tuple[int, ...], bad: tuple[int, ...]
) -> None:
    call = number(machine, numbers)

    assert (judge(machine, call, *good), judge(machine, call, *bad)) == (ALLOW, REFUSE)


@MACHINES
def test_system_calls_of_another_architecture_kill_the_process(machine: str) -> None:
    assert judge(machine, 0, architecture=0x40000003) == KILL


def test_system_calls_of_the_x32_abi_are_not_allowed() -> None:
    assert judge("x86_64", 0x40000000 + 1) == UNKNOWN
