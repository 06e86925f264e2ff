"""Every scenario by its name, in the order in which they are played."""

from scenarios import alerts, chart, disk, engine, logs, metrics, outages, poolers, proxies, readiness

from tests.acceptance._lib.scenarios import Scenario

SCENARIOS = {
    name: Scenario(name, play.__doc__ or "", play, module.__name__.rpartition(".")[2])
    for module in (outages, poolers, readiness, proxies, disk, logs, metrics, alerts, chart, engine)
    for name, play in module.SCENARIOS.items()
}
