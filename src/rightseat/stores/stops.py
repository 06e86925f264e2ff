"""Requests to cancel runs that other processes execute, in the SQL database of the threads (`operations.stops`)."""

from collections.abc import Collection, Sequence

from rightseat.stores import process_queries
from rightseat.stores.store_database import StoreDatabase


class SqlStops:
    """`executed` are the runs of this process."""

    def __init__(self, database: StoreDatabase, executed: Collection[str]) -> None:
        self._database = database
        self._executed = executed

    async def request(self, run_id: str) -> bool:
        if "\0" in run_id:
            return False
        return await self._database.write(process_queries.request_stop, run_id, self._database.process_id)

    async def find_requested(self) -> Sequence[str]:
        if not self._executed:
            return ()
        found = await self._database.poll(process_queries.REQUESTED_STOPS, {"own_process": self._database.process_id})
        return [run_id for (run_id,) in found]
