from pathlib import Path

from rightseat.core.ask import Ask
from rightseat.core.engine import Perform, Resumed
from rightseat.core.messages import user
from rightseat.core.run.observers import TakeoverOutcome
from rightseat.core.run.recovery import Recovery
from rightseat.engines.local import LocalEngine
from rightseat.logs.memory import MemoryLog
from rightseat.stores.databases import connect
from rightseat.stores.sql import SqlThreads


class Resuming(LocalEngine):
    """An engine that goes on with every durable run."""

    supports_durable = True

    async def start(self, ask: Ask, perform: Perform) -> bool:
        raise NotImplementedError

    async def resume(self, asks: object) -> Resumed:
        return Resumed({"durable"})


async def test_each_run_of_a_dead_process_counts_as_one_takeover(tmp_path: Path) -> None:
    counted: list[TakeoverOutcome] = []
    async with SqlThreads(connect(tmp_path / "rightseat.db")) as dying:
        for run in ("durable", "plain", "plain too"):
            await dying.claim(Ask(messages=(user("Hi"),), thread_id=run, run_id=run, durable=run == "durable"))
    async with SqlThreads(connect(tmp_path / "rightseat.db")) as threads:
        recovery = Recovery(MemoryLog(), threads, Resuming(), count_takeover=counted.append)
        await recovery.recover_orphans()
        await recovery.recover_orphans()

    assert counted == ["resumed", "cut_off", "cut_off"]
