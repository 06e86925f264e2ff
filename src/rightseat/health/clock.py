"""The clock of this machine agrees with that of a server it uses.

Tokens, leases and signed requests depend on it.
"""

import time
from collections.abc import AsyncIterator, Iterator
from email.utils import parsedate_to_datetime
from functools import partial

from rightseat.concurrency import aclosing
from rightseat.config import Config
from rightseat.core.errors import ConfigError
from rightseat.egress.client import Client
from rightseat.egress.network import NetworkOptions
from rightseat.egress.transport import TransportError
from rightseat.health.context import CheckContext
from rightseat.health.finding import Check, CheckOutcome, Fix
from rightseat.health.readiness import address_of, dependencies_of

MAX_SKEW_S = 30.0
REQUEST_TIMEOUT_S = 3.0


def check_clock(context: CheckContext) -> Iterator[Check]:
    if context.trial != "none":
        yield Check("clock", "clock", "The clock is right", partial(compare_clocks, context))


async def compare_clocks(context: CheckContext) -> CheckOutcome:
    async with aclosing(read_other_clocks(context)) as clocks:
        async for source, their_time in clocks:
            return judge_skew(time.time() - their_time, source)
    return CheckOutcome("skipped", "No server that this one uses has a clock to compare with.")


def judge_skew(skew: float, source: str) -> CheckOutcome:
    if abs(skew) <= MAX_SKEW_S:
        return CheckOutcome("ok", f"The clock differs from that of {source} by {abs(skew):.0f} s.")
    direction = "ahead of" if skew > 0 else "behind"
    text = f"The clock of this machine is {abs(skew):.0f} s {direction} that of {source}."
    fix = Fix(
        "Synchronise the clock (NTP): tokens and leases expire too early or too late.", "timedatectl set-ntp true"
    )
    return CheckOutcome("error", text, fix)


async def read_other_clocks(context: CheckContext) -> AsyncIterator[tuple[str, float]]:
    """The addresses and the times of the servers that respond: databases first, they are the most exact."""
    if context.config is None:
        return
    for dependency in dependencies_of(context.config):
        try:
            yield dependency.address, await dependency.probe.read_clock()
        except Exception:  # noqa: S112  # `check_services` reports it
            continue
        finally:
            await dependency.probe.close()
    for url, network in list_addresses(context.config):
        if (found := await read_date(url, network)) is not None:
            yield address_of(url), found


def list_addresses(config: Config) -> Iterator[tuple[str, NetworkOptions | None]]:
    if oidc := config.access.oidc:  # whose tokens depend on it
        yield oidc.issuer, oidc
    for part in config.models.values():
        if url := getattr(part.options, "base_url", None):
            yield url, part.options if isinstance(part.options, NetworkOptions) else None


async def read_date(url: str, network: NetworkOptions | None) -> float | None:
    """The `Date` of a response without a key, whatever its status."""
    try:
        client = Client(url, {}, timeout=REQUEST_TIMEOUT_S, connect_timeout=REQUEST_TIMEOUT_S, network=network)
    except (ConfigError, ValueError):
        return None
    try:
        async with client.request("HEAD", "", b"") as response:
            return parsedate_to_datetime(response.headers.get("date", "")).timestamp()
    except (TransportError, ValueError):
        return None
    finally:
        await client.aclose()
