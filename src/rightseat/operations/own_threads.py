"""Searches the threads of one user: for faces that show users nothing of others."""

from rightseat.core.ask import Principal
from rightseat.operations.records import Page, RecordReader, Records, ThreadQuery, ThreadRow


class OwnThreads:
    def __init__(self, records: Records) -> None:
        self._records = records

    async def search(
        self,
        principal: Principal,
        words: str,
        *,
        agent: str | None = None,
        archived: bool | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Page[ThreadRow]:
        """The principal's threads with these words in their names or messages.

        A page may have fewer threads than `limit`, and still a next page: the search has a time limit.
        """
        query = ThreadQuery(
            reader=RecordReader(principal.id, principal.agents),
            user=principal.id,
            agent=agent,
            archived=archived,
            words=words,
            after=after,
            limit=limit,
        )
        return await self._records.threads(query)
