"""Builds what operators see and do across users, and what the runtime reports to it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from rightseat.config import Config
from rightseat.core.errors import ConfigError
from rightseat.core.log import Log
from rightseat.core.runtime import Runtime
from rightseat.limits.prices import Prices
from rightseat.operations.activity import Activity
from rightseat.operations.audit import AuditTrail
from rightseat.operations.evals import Evals, SharedModels
from rightseat.operations.prompt_recorder import PromptRecording
from rightseat.operations.run_recorder import RunRecorder
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


def build_evals(config: Config, store: Store, log: Log, models: SharedModels) -> Callable[[], Evals | None]:
    """Imported with the first request: it needs this package, is large, and few servers pin runs."""

    @cache
    def evals() -> Evals | None:
        found: Evals | None = import_module("rightseat.evals.server").build(config, store, log, models)
        return found

    return evals


def build_recorder(config: Config, store: Store) -> RunRecorder | None:
    """What records transient runs, and keeps their recordings. Raises `ConfigError` if there is no place for them."""
    if store.recordings is not None:
        return RunRecorder(store.recordings, config.evals.record_days)
    if config.evals.record == "all":
        raise ConfigError(
            "This store of threads has no recordings: `evals: {record: all}` needs `threads: {type: sql}`."
        )
    return None


def build_prompt_recording(config: Config, store: Store) -> PromptRecording | None:
    """Raises `ConfigError` if there is no place for what models are sent."""
    if not config.evals.record_prompts:
        return None
    if store.model_calls is None:
        raise ConfigError(
            "This store of threads records no prompts: `evals: {record_prompts: true}` needs `threads: {type: sql}`."
        )
    has_all = config.evals.record == "all"
    return PromptRecording(store.model_calls, config.evals.record_days, includes_transient=has_all)


def build_operations(
    runtime: Runtime,
    store: Store,
    sources: OperationSources,
    workbenches: Sequence[PluginWorkbench],
    prices: Prices,
    prompts: PromptRecording | None = None,
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
        memories=store.memories,
        annotations=store.annotations,
        model_calls=store.model_calls,
        records_prompts=prompts is not None,
        is_alone=store.threads.reap_every is None,
    )
