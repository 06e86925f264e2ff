"""Which web pages may call, and with what."""

from dataclasses import dataclass

THIS_MACHINE = r"https?://(localhost|127\.0\.0\.1)(:\d+)?"


@dataclass(frozen=True, slots=True)
class Pages:
    """Pages that one face lets in, beside those of the server: it knows where its clients live.

    `this_machine` lets in those of the machine that the browser is on. Such pages may send any header, because users
    give them headers of their own, and read those in `exposed`; never with cookies.
    """

    origins: tuple[str, ...] = ()
    this_machine: bool = False
    exposed: tuple[str, ...] = ()
