from rightseat.core.threads import Threads


async def expire(threads: Threads) -> list[str]:
    """Delete what has exceeded its retention. Returns the ids of the runs of deleted threads."""
    return [run_id async for run_ids in threads.expire() for run_id in run_ids]
