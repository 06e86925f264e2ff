"""Builds what operators see and do across users, and what the runtime reports to it."""

from collections.abc import Sequence
from dataclasses import dataclass

from rightseat.config import Config
from rightseat.core.runtime import Runtime
from rightseat.limits.prices import Prices
from rightseat.operations.activity import Activity
from rightseat.operations.audit import AuditTrail
from rightseat.operations.service import Operations
from rightseat.operations.store import Store
from rightseat.operations.transient_runs import TransientRuns
from rightseat.operations.workbench import PluginWorkbench
from rightseat.telemetry.recent import RecentMetrics


@dataclass(frozen=True, slots=True)
class OperationSources:
    """What is kept of the runs of this process, for operators. Without the face `operator`, nothing counts runs or
    remembers transient ones."""

    audit: AuditTrail
    activity: Activity
    recent: RecentMetrics | None
    transient_runs: TransientRuns | None


def build_sources(config: Config, store: Store) -> OperationSources:
    has_operators = any(face.type == "operator" for face in config.faces)
    return OperationSources(
        AuditTrail(store=store.audit),
        Activity(),
        RecentMetrics() if has_operators else None,
        TransientRuns() if has_operators else None,
    )


def build_operations(
    runtime: Runtime,
    store: Store,
    sources: OperationSources,
    workbenches: Sequence[PluginWorkbench],
    prices: Prices,
) -> Operations:
    return Operations(
        runtime,
        records=store.records,
        audit=sources.audit,
        activity=sources.activity,
        recent=sources.recent,
        transient_runs=sources.transient_runs,
        workbenches=workbenches,
        prices=prices,
        feedback=store.feedback,
        is_alone=store.threads.reap_every is None,
    )
