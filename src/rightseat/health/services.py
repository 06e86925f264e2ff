"""PostgreSQL and Redis respond."""

import shlex
from collections.abc import Iterator
from functools import partial

from rightseat.health.context import CheckContext
from rightseat.health.finding import Check, CheckOutcome, Fix
from rightseat.health.readiness import Dependency, cause_of, dependencies_of
from rightseat.installation import install_command

SERVICES = {"redis": "Redis", "rediss": "Redis", "unix": "Redis", "postgresql": "PostgreSQL", "postgres": "PostgreSQL"}


def check_services(context: CheckContext) -> Iterator[Check]:
    for dependency in dependencies_of(context.config) if context.config else ():
        service = SERVICES[dependency.address.partition(":")[0].partition("+")[0]]
        yield Check(
            service.lower(), dependency.name, f"{service} responds", partial(judge_service, dependency, service)
        )


async def judge_service(dependency: Dependency, service: str) -> CheckOutcome:
    try:
        await dependency.probe.check()
    except ModuleNotFoundError as error:
        extra = "redis" if service == "Redis" else "postgres"
        fix = Fix("Install the package.", install_command(extra))
        return CheckOutcome("error", f"{service} needs the package {error.name!r}, which is not installed.", fix)
    except Exception as error:  # drivers raise errors of their own
        return explain(error, dependency, service)
    finally:
        await dependency.probe.close()
    return CheckOutcome("ok", f"{service} at {dependency.address} responds.")


def explain(error: Exception, dependency: Dependency, service: str) -> CheckOutcome:
    cause, text = cause_of(error), " ".join(str(error).split())
    reason = f"{cause}: {text}" if cause == type(error).__name__ and text else cause
    address = dependency.address
    command = (
        f"redis-cli -u {address} ping" if service == "Redis" else f"psql {shlex.quote(dependency.login)} -c 'SELECT 1'"
    )
    fix = Fix(f"Start {service}, or correct `{dependency.name}.url`: the command tries the same address.", command)
    return CheckOutcome("error", f"Cannot use {service} at {address}: {reason}.", fix)
