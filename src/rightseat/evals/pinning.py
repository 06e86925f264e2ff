"""Pins runs and threads as cases: the rules of the configuration, and the file that a case is appended to."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rightseat.app.builder import redactor_of
from rightseat.app.part_registry import PartRegistry
from rightseat.config import Config
from rightseat.core.errors import BadRequest, ConfigError
from rightseat.core.log import KeepsJudgedRuns, Log
from rightseat.evals.dataset import append_case, list_datasets, read_dataset
from rightseat.evals.recording import PinnedCase, PinOptions, build_case
from rightseat.evals.redaction import Redaction
from rightseat.evals.sources import PinnedTurns, Sources, find_conversation
from rightseat.guards.personal_data import PersonalData
from rightseat.guards.scanner import FindsSpans
from rightseat.operations.audit import format_audit_time
from rightseat.stores.files import MemoryArtifacts


class ConsentRequired(BadRequest):
    code = "consent_required"


@dataclass(frozen=True, slots=True)
class Pinner:
    """`finders` are the guards that say where they find what they deny, and `other_guards` the types of those that do
    not. `log` is one that deletes ended runs by itself."""

    config: Config
    sources: Sources
    finders: Sequence[FindsSpans]
    other_guards: Sequence[str]
    log: KeepsJudgedRuns | None = None

    async def build(self, id: str, options: PinOptions, *, keeps: bool = True) -> PinnedCase:
        """The case of a run or a thread; nothing is written. With `keeps`, the retention of its recording is extended.
        Raises `NotRecorded` and `ConsentRequired`."""
        if self.config.evals.consent == "required" and not (options.consent or "").strip():
            raise ConsentRequired(
                "This server pins runs only with consent (`evals.consent: required`). State who agreed, or why no "
                "consent is needed, with --consent, or under *Consent* in the console."
            )
        conversation = await find_conversation(self.sources, id)
        finders = () if options.keeps_personal_data else (PersonalData(), *self.finders)
        agent = conversation.turns[0].runs[0].agent
        options = replace(options, judge=choose_judge(self.config, agent))
        redaction = Redaction(finders, redactor_of(self.config))
        pinned = await asyncio.to_thread(build_case, conversation, options, redaction)
        if keeps:
            await self._keep(conversation)
        if self.other_guards and not options.keeps_personal_data:
            names = ", ".join(map(repr, self.other_guards))
            note = f"The guards {names} do not say where they find what they deny, so nothing is redacted by them."
            pinned = replace(pinned, notes=[*pinned.notes, f"{note} Read the case before you commit it."])
        return pinned

    async def _keep(self, conversation: PinnedTurns) -> None:
        until = format_audit_time(datetime.now(UTC) + timedelta(days=self.config.evals.record_days))
        for run in (run.run for turn in conversation.turns for run in turn.runs):
            await self.sources.recordings.keep(run, until)
            if self.log is not None:
                await self.log.keep_judged(run)

    def append(self, dataset: str, pinned: PinnedCase, *, is_named: bool) -> tuple[Path, PinnedCase]:
        """Write the case. One that was not named gets a name that the dataset does not have."""
        folder = self.config.evals_folder
        if not is_named and dataset in list_datasets(folder):
            names = {case.name for case in read_dataset(folder, dataset).dataset.cases}
            pinned = replace(pinned, case=pinned.case.model_copy(update={"name": find_free(pinned.case.name, names)}))
        return append_case(folder, dataset, pinned.case, pinned.files), pinned


def find_free(name: str, names: set[str]) -> str:
    numbered = (f"{name}-{number}" for number in range(2, len(names) + 3))
    return name if name not in names else next(other for other in numbered if other not in names)


def choose_judge(config: Config, agent: str) -> str:
    """The model named `judge`, else another model than that of the agent, else that one."""
    part = config.agents.get(agent)
    own = str(getattr(part.options, "model", "")) if part else ""
    others = [name for name in config.models if name != own]
    return "judge" if "judge" in config.models else next(iter([*others, own, "default"]))


def build_pinner(config: Config, sources: Sources, log: Log) -> Pinner:
    """A guard that needs a model does not say where it finds what it denies."""
    registry, finders, others = PartRegistry({}, (), MemoryArtifacts()), list[FindsSpans](), list[str]()
    for part in config.guards:
        try:
            guard = part.module.build(part.options, registry)
        except ConfigError:
            guard = None
        if isinstance(guard, FindsSpans):
            finders.append(guard)
        else:
            others.append(part.type)
    keeper = log if isinstance(log, KeepsJudgedRuns) else None
    return Pinner(config, sources, finders, list(dict.fromkeys(others)), keeper)
