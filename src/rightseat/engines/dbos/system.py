"""DBOS itself. There is one in a process, which is DBOS's own rule.

Every process is an executor with a name of its own. All have the same version: what a run needs of an earlier release
are its ask and the names of its steps, so a rolling deploy strands none.
"""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from dbos import DBOS, DBOSClient, DBOSConfig, Serializer, SetWorkflowID
from dbos._core import WorkflowHandleAsyncTask
from dbos._dbos import _get_dbos_instance
from dbos._sys_db import SystemDatabase
from sqlalchemy import event, inspect

from rightseat.core.errors import ConfigError, Misuse
from rightseat.erasure import Eraser, clean_file, erase_now, overwrite_deleted
from rightseat.parts import private_file, private_folder

QUEUE = "rightseat"
"""Where runs wait that somebody has to go on with. All listen to it."""
POLL = 0.5  # seconds between two looks at the queue
POOL = 10  # connections
THREADS = 32  # more would only wait for a connection, and hundreds of them do where hundreds of runs are taken over
NAME = "rightseat.run"
VERSION = "1"
LIVE = ("PENDING", "ENQUEUED")
ENDED = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
BATCH = 500
"""Runs that are deleted in one transaction."""
SETTLING_S = 60.0
"""How old a run has to be before anybody asks whether it still goes on."""

logging.getLogger("dbos").setLevel(logging.WARNING)


class Known(NamedTuple):
    """What DBOS knows of a run: its status, and how often it died since it finished a step."""

    status: str
    deaths: int


class System:
    def __init__(self, where: str | Path, schema: str = "dbos") -> None:
        self._where = where
        self._schema = schema
        self._executor = secrets.token_hex(8)
        self._eraser: Eraser | None = None
        self.is_shared = isinstance(where, str)
        """Can other processes go on with what this one leaves?"""

    @property
    def _url(self) -> str:
        if isinstance(self._where, Path):
            return f"sqlite:///{self._where}"
        return f"postgresql://{self._where.partition('://')[2]}"

    async def launch(self, run: Callable[[str], Awaitable[None]]) -> None:
        """From now on `run` may be called, on this event loop, with what another process started or left."""
        if isinstance(self._where, Path):
            private_folder(self._where.parent)
            private_file(self._where)
            await asyncio.to_thread(clean_file, self._where)
        _Current.take(run)
        DBOS(config=self._config())
        DBOS.listen_queues([QUEUE])
        try:
            DBOS.launch()
            await DBOS.register_queue_async(QUEUE, polling_interval_sec=POLL, on_conflict="always_update")
        except Exception as error:
            await self.shut_down()
            raise ConfigError(f"The engine `dbos` cannot begin: {error}") from error
        if isinstance(self._where, Path):
            overwrite_in(_get_dbos_instance()._sys_db)
            self._eraser = Eraser(self._where)

    async def shut_down(self) -> None:
        await asyncio.to_thread(DBOS.destroy)
        # DBOS made its own threads those of the loop, and has ended them; others still need some.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(thread_name_prefix="asyncio"))
        _Current.run = None
        if self._eraser is not None:
            await self._eraser.close()
            self._eraser = None

    def _config(self) -> DBOSConfig:
        return {
            "name": "rightseat",
            "system_database_url": self._url,
            "sys_db_pool_size": POOL,
            "max_executor_threads": THREADS,
            "dbos_system_schema": self._schema,
            "executor_id": self._executor,
            "application_version": VERSION,
            "serializer": Json(),
            "log_level": "WARNING",
            "use_listen_notify": False,
        }

    async def start(self, run_id: str, ask: str) -> bool:
        """Whether it runs here. If not, another process has begun it before."""
        with SetWorkflowID(run_id):
            handle = await DBOS.start_workflow_async(workflow, ask)
        return isinstance(handle, WorkflowHandleAsyncTask)

    async def known(self, run_ids: Sequence[str]) -> dict[str, Known]:
        found = await DBOS.list_workflows_async(workflow_ids=list(run_ids), load_input=False, load_output=False)
        return {one.workflow_id: Known(one.status, (one.attributes or {}).get("deaths", 0)) for one in found}

    async def finished(self, run_id: str) -> Collection[str]:
        """The names of the steps of a run that are kept."""
        return {step["function_name"] for step in await DBOS.list_workflow_steps_async(run_id, load_output=False)}

    async def note_deaths(self, run_id: str, number: int) -> None:
        await DBOS.update_workflow_attributes_async(run_id, {"deaths": number})

    async def enqueue(self, run_ids: list[str]) -> None:
        """Whoever had them cannot finish a step of them any more; whoever sees one first goes on with it."""
        if run_ids:
            await DBOS.resume_workflows_async(run_ids, queue_name=QUEUE)

    async def cancel(self, run_id: str) -> None:
        await DBOS.cancel_workflow_async(run_id)

    async def cancel_elsewhere(self, run_id: str) -> bool:
        """False if nobody else has it; if we have, it is over, and is being noted as such."""
        status = await DBOS.get_workflow_status_async(run_id)
        if (
            status is None
            or status.status not in LIVE
            or (status.status, status.executor_id) == ("PENDING", self._executor)
        ):
            return False
        await self.cancel(run_id)
        return True

    async def cancelled(self, run_ids: Sequence[str]) -> Sequence[str]:
        """Those of them that somebody has cancelled."""
        found = await DBOS.list_workflows_async(
            workflow_ids=list(run_ids), status="CANCELLED", load_input=False, load_output=False
        )
        return [one.workflow_id for one in found]

    async def ours(self) -> Collection[str]:
        """Those that this process should be executing."""
        found = await DBOS.list_workflows_async(
            executor_id=self._executor, status="PENDING", load_input=False, load_output=False
        )
        return [one.workflow_id for one in found]

    async def elsewhere(self) -> Sequence[str]:
        """Runs that DBOS has as executed by another process, the oldest first."""
        found = await DBOS.list_workflows_async(
            status="PENDING", end_time=seconds_ago(SETTLING_S), limit=BATCH, load_input=False, load_output=False
        )
        return [one.workflow_id for one in found if one.executor_id != self._executor]

    async def delete_ended(self, retention_seconds: float) -> None:
        """Delete runs that ended before then. Several processes may do so at once."""
        while True:
            found = await DBOS.list_workflows_async(
                status=ENDED,
                completed_before=seconds_ago(retention_seconds),
                limit=BATCH,
                load_input=False,
                load_output=False,
            )
            await DBOS.delete_workflows_async(sorted(one.workflow_id for one in found))
            if len(found) < BATCH:
                return

    async def delete(self, run_ids: Sequence[str]) -> None:
        """Cancelled first: from then on, a process that executes one can keep no more of its steps."""
        for start in range(0, len(run_ids), BATCH):
            batch = sorted(run_ids[start : start + BATCH])
            if _Current.run is not None:
                await DBOS.cancel_workflows_async(batch)
                await DBOS.delete_workflows_async(batch)
            else:
                await asyncio.to_thread(self._delete_from_outside, batch)
        if self._eraser is not None:
            self._eraser.request()
        elif isinstance(self._where, Path):
            await erase_now(self._where)

    def _delete_from_outside(self, run_ids: list[str]) -> None:
        if isinstance(self._where, Path) and not self._where.exists():
            return
        client = self._client()
        try:
            if not inspect(client._sys_db.engine).has_table("workflow_status", schema=self._table_schema):
                return  # no server has used it yet
            overwrite_in(client._sys_db)
            client.cancel_workflows(run_ids)
            client.delete_workflows(run_ids)
        finally:
            client.destroy()

    async def hand_over(self, run_ids: Sequence[str]) -> None:
        """After the shutdown: we ourselves do not listen to the queue any more."""
        await asyncio.to_thread(self._hand_over, list(run_ids))

    def _hand_over(self, run_ids: list[str]) -> None:
        client = self._client()
        try:
            client.resume_workflows(run_ids, queue_name=QUEUE)
        finally:
            client.destroy()

    def _client(self) -> DBOSClient:
        return DBOSClient(
            system_database_url=self._url,
            dbos_system_schema=self._schema,
            serializer=Json(),
            application_name="rightseat",
        )

    @property
    def _table_schema(self) -> str | None:
        return self._schema if self.is_shared else None


def overwrite_in(database: SystemDatabase) -> None:
    """Have the connections to a SQLite file overwrite what they delete."""
    if database.engine.dialect.name == "sqlite":
        event.listen(database.engine, "connect", lambda connection, _: overwrite_deleted(connection))
        database.engine.dispose()  # those that are open; new ones are made as they are needed


def seconds_ago(seconds: float) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat()


class _Current:
    """What a workflow does. DBOS finds workflows by their names, so it is one for the process."""

    run: Callable[[str], Awaitable[None]] | None = None

    @classmethod
    def take(cls, run: Callable[[str], Awaitable[None]]) -> None:
        if cls.run is not None:
            raise Misuse("There is one engine `dbos` in a process, and one is open already.")
        cls.run = run


@DBOS.workflow(name=NAME, max_recovery_attempts=None)
async def workflow(ask: str) -> None:
    if _Current.run is None:
        raise asyncio.CancelledError  # it stays as it is, for another
    await _Current.run(ask)


class Json(Serializer):
    """What DBOS keeps is JSON: to read it back can run nothing."""

    def serialize(self, data: Any) -> str:
        return msgspec.json.encode(str(data) if isinstance(data, BaseException) else data).decode()

    def deserialize(self, serialized_data: str) -> Any:
        return msgspec.json.decode(serialized_data)

    def name(self) -> str:
        return "rightseat_json"
