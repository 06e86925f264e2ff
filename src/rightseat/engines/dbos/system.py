"""Launches, queries and shuts down DBOS by its documented interface. DBOS allows one instance per process.

Every process is an executor with a random name. All have the same version: a run needs only its ask and the names of
its steps from an earlier release, so a rolling deploy strands none.
"""

import asyncio
import logging
import secrets
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from dbos import DBOS, DBOSClient, DBOSConfig, Serializer, SetWorkflowID
from dbos import error as dbos_errors
from sqlalchemy import Engine, create_engine, inspect

from rightseat.core.errors import ConfigError, NotConfigured
from rightseat.engines.dbos.pooler import CONNECT_ARGS, build_engine, has_pooler, hold_launch_lock
from rightseat.erasure import Eraser, clean_file, erase_now, overwrite_deleted
from rightseat.parts import private_file, private_folder
from rightseat.postgres.addresses import write_for_sqlalchemy

QUEUE = "rightseat"
"""The queue of runs to resume. All processes listen to it."""
QUEUE_POLL_INTERVAL_S = 1.0
UNUSED_POLL_INTERVAL_S = 60.0
"""Of what this engine does not use: schedules of workflows."""
POOL_SIZE = 10
IDLE_TRANSACTION_TIMEOUT_S = 5.0
"""After which PostgreSQL ends a transaction of a process that was suspended inside it, or others would wait for it."""
MAX_THREADS = 32  # more would only wait for a connection, when hundreds of runs are resumed at once
WORKFLOW_NAME = "rightseat.run"
VERSION = "1"
ACTIVE_STATUSES = ("PENDING", "ENQUEUED")
ENDED_STATUSES = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
FILE_TIMEOUT_S = 30.0  # for a lock of another process that writes to the file
BATCH_RUNS = 500
"""How many runs are deleted in one transaction."""
MIN_STALE_AGE_S = 60.0
"""How old a run must be before it is checked for whether it still runs."""

logging.getLogger("dbos").setLevel(logging.WARNING)


class WorkflowInfo(NamedTuple):
    """The status of a workflow, and how often its process died since it finished a step."""

    status: str
    deaths: int


class DbosSystem:
    def __init__(self, where: str | Path, schema: str = "dbos") -> None:
        self._where = where
        self._schema = schema
        self._executor = secrets.token_hex(8)
        self._eraser: Eraser | None = None
        self._has_pooler = False
        self.is_shared = isinstance(where, str)
        """Whether other processes can resume the runs of this one."""

    @property
    def _url(self) -> str:
        if isinstance(self._where, Path):
            return f"sqlite:///{self._where}"
        return write_for_sqlalchemy(self._where, "the engine")

    async def launch(self, run: Callable[[str], Awaitable[None]]) -> None:
        """From now on `run` may be called, on this event loop, also for runs that another process has started."""
        if isinstance(self._where, Path):
            private_folder(self._where.parent)
            private_file(self._where)
            await asyncio.to_thread(clean_file, self._where)
        else:
            self._has_pooler = await asyncio.to_thread(has_pooler, self._where)
        _ActiveEngine.take(run)
        DBOS(config=self._config())
        DBOS.listen_queues([QUEUE])
        try:
            async with self._launch_lock():
                DBOS.launch()
            await DBOS.register_queue_async(
                QUEUE, polling_interval_sec=QUEUE_POLL_INTERVAL_S, on_conflict="always_update"
            )
        except Exception as error:
            await self.shut_down()
            raise ConfigError(f"The engine `dbos` cannot start: {error}") from error
        if isinstance(self._where, Path):
            self._eraser = Eraser(self._where)

    @asynccontextmanager
    async def _launch_lock(self) -> AsyncIterator[None]:
        if isinstance(self._where, Path) or not self._has_pooler:
            yield
            return
        lock = hold_launch_lock(self._where)
        await asyncio.to_thread(lock.__enter__)
        try:
            yield
        finally:
            await asyncio.to_thread(lock.__exit__, None, None, None)

    async def shut_down(self) -> None:
        await asyncio.to_thread(DBOS.destroy)
        # DBOS replaced the default executor of the loop and has shut it down; other code still needs one.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(thread_name_prefix="asyncio"))
        _ActiveEngine.run = None
        if self._eraser is not None:
            await self._eraser.close()
            self._eraser = None

    def _config(self) -> DBOSConfig:
        config: DBOSConfig = {
            "name": "rightseat",
            "system_database_url": self._url,
            "sys_db_pool_size": POOL_SIZE,
            "sys_db_idle_transaction_timeout_sec": IDLE_TRANSACTION_TIMEOUT_S,
            "max_executor_threads": MAX_THREADS,
            "dbos_system_schema": self._schema,
            "executor_id": self._executor,
            "application_version": VERSION,
            "serializer": JsonSerializer(),
            "log_level": "WARNING",
            "use_listen_notify": False,
            "scheduler_polling_interval_sec": UNUSED_POLL_INTERVAL_S,
        }
        if isinstance(self._where, Path):
            config["db_engine_kwargs"] = {"connect_args": {"factory": OverwritingConnection}}
        elif self._has_pooler:
            config["db_engine_kwargs"] = {"connect_args": dict(CONNECT_ARGS)}
            config["sys_db_idle_transaction_timeout_sec"] = 0.0  # it would be set for other clients too
        return config

    async def start(self, run_id: str, ask: str) -> bool:
        """Return whether it runs here. If not, another process has started it before."""
        try:
            with SetWorkflowID(run_id, workflow_id_reuse_policy="reject"):
                await DBOS.start_workflow_async(workflow, ask)
        except dbos_errors.DBOSWorkflowIDInUseError:
            return False
        return True

    async def find_workflows(self, run_ids: Sequence[str]) -> dict[str, WorkflowInfo]:
        found = await DBOS.list_workflows_async(workflow_ids=list(run_ids), load_input=False, load_output=False)
        return {one.workflow_id: WorkflowInfo(one.status, (one.attributes or {}).get("deaths", 0)) for one in found}

    async def list_finished_steps(self, run_id: str) -> Collection[str]:
        """The names of the stored steps of a run."""
        return {step["function_name"] for step in await DBOS.list_workflow_steps_async(run_id, load_output=False)}

    async def set_deaths(self, run_id: str, number: int) -> None:
        await DBOS.update_workflow_attributes_async(run_id, {"deaths": number})

    async def enqueue(self, run_ids: list[str]) -> None:
        """Fences the previous owner; the first worker to dequeue the run resumes it."""
        if run_ids:
            await DBOS.resume_workflows_async(run_ids, queue_name=QUEUE)

    async def cancel(self, run_id: str) -> None:
        await DBOS.cancel_workflow_async(run_id)

    async def cancel_elsewhere(self, run_id: str) -> bool:
        """Return False if no other process executes it; if this one does, its end is being written."""
        status = await DBOS.get_workflow_status_async(run_id)
        if (
            status is None
            or status.status not in ACTIVE_STATUSES
            or (status.status, status.executor_id) == ("PENDING", self._executor)
        ):
            return False
        await self.cancel(run_id)
        return True

    async def find_cancelled(self, run_ids: Sequence[str]) -> Sequence[str]:
        """Those of these runs that were cancelled."""
        found = await DBOS.list_workflows_async(
            workflow_ids=list(run_ids), status="CANCELLED", load_input=False, load_output=False
        )
        return [one.workflow_id for one in found]

    async def list_own(self) -> Collection[str]:
        """The runs that this process should be executing."""
        found = await DBOS.list_workflows_async(
            status="PENDING", executor_id=self._executor, load_input=False, load_output=False
        )
        return [one.workflow_id for one in found]

    async def list_elsewhere(self) -> Sequence[str]:
        """Runs that another process executes according to DBOS, the oldest first."""
        found = await DBOS.list_workflows_async(
            status="PENDING",
            end_time=seconds_ago(MIN_STALE_AGE_S),
            limit=BATCH_RUNS,
            load_input=False,
            load_output=False,
        )
        return [one.workflow_id for one in found if one.executor_id != self._executor]

    async def delete_ended(self, retention_seconds: float) -> None:
        """Delete runs that ended so long ago. Several processes may do so at once."""
        while True:
            found = await DBOS.list_workflows_async(
                status=ENDED_STATUSES,
                completed_before=seconds_ago(retention_seconds),
                limit=BATCH_RUNS,
                load_input=False,
                load_output=False,
            )
            if found:
                await DBOS.delete_workflows_async(sorted(one.workflow_id for one in found))
            if len(found) < BATCH_RUNS:
                return

    async def delete(self, run_ids: Sequence[str]) -> None:
        """Cancels first: from then on a process that executes one can store no more steps."""
        for start in range(0, len(run_ids), BATCH_RUNS):
            batch = sorted(run_ids[start : start + BATCH_RUNS])
            if _ActiveEngine.run is not None:
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
        engine = self._create_engine()
        try:
            if not inspect(engine).has_table("workflow_status", schema=self._table_schema):
                return  # no server has used it yet
            client = self._client(engine)
            try:
                client.cancel_workflows(run_ids)
                client.delete_workflows(run_ids)
            finally:
                client.destroy()
        finally:
            engine.dispose()

    def _create_engine(self) -> Engine:
        if isinstance(self._where, Path):
            # Begins each transaction that writes with a lock, as DBOS's own connections do.
            options = {"factory": OverwritingConnection, "isolation_level": "IMMEDIATE", "timeout": FILE_TIMEOUT_S}
            return create_engine(self._url, connect_args=options)
        return build_engine(self._url)

    async def hand_over(self, run_ids: Sequence[str]) -> None:
        """Called after the shutdown, when this process does not listen to the queue any more."""
        await asyncio.to_thread(self._hand_over, list(run_ids))

    def _hand_over(self, run_ids: list[str]) -> None:
        engine = self._create_engine()
        try:
            client = self._client(engine)
            try:
                for run_id in run_ids:
                    with suppress(dbos_errors.DBOSNonExistentWorkflowError):  # its thread was deleted meanwhile
                        client.resume_workflow(run_id, queue_name=QUEUE)
            finally:
                client.destroy()
        finally:
            engine.dispose()

    def _client(self, engine: Engine) -> DBOSClient:
        return DBOSClient(
            system_database_url=self._url,
            system_database_engine=engine,
            dbos_system_schema=self._schema,
            serializer=JsonSerializer(),
            application_name="rightseat",
        )

    @property
    def _table_schema(self) -> str | None:
        return None if isinstance(self._where, Path) else self._schema


class OverwritingConnection(sqlite3.Connection):
    """A connection to a file that overwrites the rows it deletes."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        overwrite_deleted(self)


def seconds_ago(seconds: float) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat()


class _ActiveEngine:
    """The function that executes workflows. DBOS finds workflows by name, so there is one per process."""

    run: Callable[[str], Awaitable[None]] | None = None

    @classmethod
    def take(cls, run: Callable[[str], Awaitable[None]]) -> None:
        if cls.run is not None:
            raise NotConfigured("Only one engine `dbos` can be open in a process, and one is open already.")
        cls.run = run


@DBOS.workflow(name=WORKFLOW_NAME, max_recovery_attempts=None)
async def workflow(ask: str) -> None:
    if _ActiveEngine.run is None:
        raise asyncio.CancelledError  # it stays pending, for another process
    await _ActiveEngine.run(ask)


class JsonSerializer(Serializer):
    """DBOS stores JSON instead of pickles, so that reading it back cannot execute code."""

    def serialize(self, data: Any) -> str:
        return msgspec.json.encode(str(data) if isinstance(data, BaseException) else data).decode()

    def deserialize(self, serialized_data: str) -> Any:
        return msgspec.json.decode(serialized_data)

    def name(self) -> str:
        return "rightseat_json"
