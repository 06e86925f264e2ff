"""The origins of web pages that may call one face, beside those that may call the whole server."""

from dataclasses import dataclass

LOCAL_ORIGIN_PATTERN = r"https?://(localhost|127\.0\.0\.1)(:\d+)?"


@dataclass(frozen=True, slots=True)
class AllowedOrigins:
    """`allow_local` allows pages of the machine that the browser runs on.

    Such pages may send any header, because users configure headers of their own, and may read `exposed_headers`. They
    never send cookies. `is_closed`: no page of another origin may call this face, whatever the server allows.
    """

    origins: tuple[str, ...] = ()
    allow_local: bool = False
    exposed_headers: tuple[str, ...] = ()
    is_closed: bool = False
