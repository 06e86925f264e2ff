"""How a run ended, as its client is told."""

import asyncio
import logging

from rightseat.core.ask import Ask
from rightseat.core.cancelling import is_cancelled
from rightseat.core.errors import InternalError, RightseatError
from rightseat.core.events import RunFailed, RunFinished

logger = logging.getLogger(__name__)

Last = RunFinished | RunFailed


def read_failure(ask: Ask, error: BaseException) -> Last:
    """What the client is told. An error of ours it may see; any other goes to the server's log alone."""
    if is_cancelled():
        if not isinstance(error, asyncio.CancelledError):
            logger.warning("run %s failed while it was cancelled", ask.run_id, exc_info=error)
        return RunFinished("cancelled")
    if isinstance(error, RightseatError):
        logger.warning("run %s failed: %s: %s", ask.run_id, error.code, error.log_message)
        return RunFailed(error.code, error.message)
    logger.error("run %s failed", ask.run_id, exc_info=error)
    return RunFailed(InternalError.code, InternalError(ask.run_id).message)
