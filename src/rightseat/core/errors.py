"""Every error that rightseat raises on purpose.

    RightseatError
    ├── BadAsk                400  what the client sent cannot be understood
    ├── Misuse                400  the server is not set up for what is asked
    ├── WrongHost             421  the request names a host that this server does not answer for
    ├── HeadTooLarge          431  the headers of a request are too long together
    ├── TargetTooLong         414  the path and the query of a request are
    ├── ForeignPage           403  a web page of an origin that may not call
    ├── Refused               401  no credential, or a wrong one
    │   ├── OutOfScope             … 403: a right one, for another face or another agent
    │   └── Unverifiable           … 503: the keys of the token's issuer cannot be had
    ├── LimitExceeded         429  a limit of the operator's does not let the ask begin now
    │   └── ConcurrencyLimitExceeded  … the user has as many runs at once as allowed
    ├── AgentNotFound         404
    ├── RunNotFound           404
    ├── RunExists             409  a run with this id has been started already
    ├── ThreadBusy            409  the thread has a run already
    ├── ThreadNotFound        404  there is none, or it is somebody else's
    ├── StaleWriter           409  another process owns this run now
    ├── Leaving               503  this server is being stopped
    ├── LogUnwritable         500  what is said cannot be kept: the disk is full, or the log's server stays away
    ├── LogUnreachable        503  the log's server does not answer
    ├── StoreUnreachable      503  the database of threads does not answer
    ├── LogLost               500  what was kept of a run that is being written is gone
    ├── EntriesGone           410  a reader's place in a log is gone; it can go on from another
    ├── UnreadableEvent       500  a log holds what this version does not know
    ├── Unreadable            422  a file or a table that cannot be read: broken, locked, too big, too slow
    ├── BadQuery              400  SQL that is wrong, does more than read, or takes too long
    ├── AddressForbidden      403  an address that this server does not visit
    ├── FetchFailed           502  an address that gives nothing: no answer, a broken one, too big, too slow
    ├── Denied                403  a guard does not let it be asked, said or done
    ├── GuardFailed           503  a guard cannot judge, so nothing passes it
    ├── AppRefused            403  the page of an MCP App asks for what it may not have
    ├── HeaderHookFailed      500  the operator's function for the headers of a request failed
    ├── TooManyRounds         500  model and tools went round in circles
    ├── AnswerTooLong         502  a model does not stop talking
    ├── TooManyCalls          502  a model calls more tools in one answer than anyone could want
    ├── InternalError         500  our own fault; the log has more
    ├── ModelError            502  the model's server failed us
    │   ├── ModelRefusedKey        … it does not accept our key
    │   ├── ModelRefused           … it does not accept our request (4xx)
    │   │   └── PromptTooLong      … because it is longer than the model can read
    │   ├── Unenforceable          … 400: a tool or an answer's schema that no grammar can hold the model to
    │   ├── ModelBusy              … 429: it has too much to do right now
    │   ├── ModelLoading           … 503: it is being loaded, and says how far it is
    │   ├── BadTemplate            … its chat template is wrong, or does not come to an end
    │   └── ModelUnreachable       … no answer, a broken one, or 5xx
    │       └── ModelTimeout       … 504: silent for too long, or an answer that takes too long
    ├── AgentError            502  an agent that is elsewhere failed us
    │   ├── AgentRefused           … its server does not accept our request (4xx)
    │   │   └── NothingThere       … because there is nothing at the address (404)
    │   └── AgentUnreachable       … no answer, a broken one, or 5xx
    │       └── AgentTimeout       … 504: silent for too long
    └── ConfigError           500  the configuration file is wrong

`code` is for programs and never changes. The message is for people: it says what is wrong and what would be right,
and it may be shown to whoever asked. What only the operator should see goes into the server's log instead.
"""

from collections.abc import Iterable
from typing import ClassVar


class RightseatError(Exception):
    code: str = "error"
    status: ClassVar[int] = 500
    upstream_text: str = ""
    """The part of the message that an upstream wrote. It may repeat what a person asked."""

    @property
    def message(self) -> str:
        return str(self)

    @property
    def log_message(self) -> str:
        """The message as the log has it at its usual level: without `upstream_text`."""
        return str(self).replace(self.upstream_text, "…") if self.upstream_text else str(self)


class BadAsk(RightseatError):
    code = "bad_ask"
    status = 400


class Misuse(RightseatError):
    code = "misuse"
    status = 400


class WrongHost(RightseatError):
    code = "wrong_host"
    status = 421


class HeadTooLarge(RightseatError):
    code = "head_too_large"
    status = 431

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"The request head has {size:,} bytes; at most {limit:,} are accepted.")


class TargetTooLong(RightseatError):
    code = "target_too_long"
    status = 414

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"The path and the query have {size:,} bytes; at most {limit:,} are accepted.")


class ForeignPage(RightseatError):
    code = "foreign_page"
    status = 403


class Refused(RightseatError):
    code = "refused"
    status = 401


class OutOfScope(Refused):
    code = "out_of_scope"
    status = 403


class Unverifiable(Refused):
    code = "unverifiable"
    status = 503


class LimitExceeded(RightseatError):
    code = "limit_exceeded"
    status = 429
    retry_after: ClassVar[int] = 1
    """In how many seconds it may be worth to ask again."""


class ConcurrencyLimitExceeded(LimitExceeded):
    code = "concurrency_limit_exceeded"

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"The limit of {limit:,} concurrent runs per user is reached. Wait until one of your runs ends, or stop "
            "one. The operator sets it with `server.max_concurrent_runs_per_user`."
        )


class AgentNotFound(RightseatError):
    code = "agent_not_found"
    status = 404

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(f"No agent named {name!r}. Configured: {', '.join(sorted(known)) or 'none'}.")
        self.name = name


class RunNotFound(RightseatError):
    code = "run_not_found"
    status = 404

    def __init__(self, run_id: str) -> None:
        super().__init__(f"No run {run_id!r}: it never was, or it ended too long ago to be followed.")


class RunExists(RightseatError):
    code = "run_exists"
    status = 409

    def __init__(self, run_id: str) -> None:
        super().__init__(f"Run {run_id!r} has been started already. Follow it, or ask under a new id.")


class ThreadBusy(RightseatError):
    code = "thread_busy"
    status = 409

    def __init__(self, thread_id: str, run_id: str) -> None:
        super().__init__(f"The thread {thread_id!r} has a run already. Wait for its end, or stop it.")
        self.run_id = run_id


class ThreadNotFound(RightseatError):
    code = "thread_not_found"
    status = 404

    def __init__(self, thread_id: str) -> None:
        super().__init__(f"No thread {thread_id!r}.")


class StaleWriter(RightseatError):
    code = "stale_writer"
    status = 409

    def __init__(self, run_id: str, epoch: int, current: int) -> None:
        super().__init__(f"Run {run_id!r} is written under epoch {current} now; epoch {epoch} may not write any more.")


class Leaving(RightseatError):
    code = "leaving"
    status = 503

    def __init__(self) -> None:
        super().__init__("This server is being stopped. Ask again: another one answers, or this one in a moment.")


class LogUnwritable(RightseatError):
    code = "log_unwritable"

    def __init__(self, problem: str) -> None:
        super().__init__(f"The answer was ended, because the server cannot keep it: {problem}.")


class LogUnreachable(RightseatError):
    code = "log_unreachable"
    status = 503

    def __init__(self, problem: str) -> None:
        super().__init__(f"What the server keeps of its answers cannot be reached now: {problem}. Try again soon.")


class StoreUnreachable(RightseatError):
    """Whether what was asked has been done is not known. What the database says of it is for the server's log."""

    code = "store_unreachable"
    status = 503

    def __init__(self) -> None:
        super().__init__("The database with this server's threads cannot be reached now. Try again soon.")


class LogLost(RightseatError):
    """`seq` is the number of the last entry that was kept, and may have been seen: a new log begins behind it."""

    code = "log_lost"

    def __init__(self, run_id: str, seq: int) -> None:
        super().__init__(f"The answer was ended, because the server lost what it had kept of run {run_id!r}.")
        self.run_id = run_id
        self.seq = seq


class EntriesGone(RightseatError):
    """Who follows from `resume` on misses nothing after it; what was before it has to come from elsewhere."""

    code = "entries_gone"
    status = 410

    def __init__(self, run_id: str, resume: str) -> None:
        super().__init__(f"Entries of run {run_id!r} were lost. What is left begins after {resume!r}.")
        self.run_id = run_id
        self.resume = resume


class UnreadableEvent(RightseatError):
    code = "unreadable_event"

    def __init__(self, problem: str) -> None:
        super().__init__(f"The log holds an event that this version cannot read: {problem}")


class Unreadable(RightseatError):
    code = "unreadable"
    status = 422


class BadQuery(RightseatError):
    code = "bad_query"
    status = 400


class AddressForbidden(RightseatError):
    code = "address_forbidden"
    status = 403


class FetchFailed(RightseatError):
    code = "fetch_failed"
    status = 502


class Denied(RightseatError):
    """The message is the guard's reason, and may be shown to whoever asked."""

    code = "denied"
    status = 403

    def __init__(self, reason: str, guard: str = "") -> None:
        super().__init__(reason)
        self.guard = guard


class GuardFailed(RightseatError):
    code = "guard_failed"
    status = 503


class AppRefused(RightseatError):
    """The page of an MCP App asks for a server or a tool that it may not use."""

    code = "mcp_app_refused"
    status = 403


class HeaderHookFailed(RightseatError):
    code = "header_hook_failed"


class TooManyRounds(RightseatError):
    code = "too_many_rounds"

    def __init__(self, rounds: int) -> None:
        super().__init__(
            f"The model called tools in {rounds} answers one after another and never came to an end. "
            "Raise `rounds` of the agent if that many are needed."
        )


class AnswerTooLong(RightseatError):
    code = "answer_too_long"
    status = 502

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"The model's answer went on beyond {limit:,} characters, and was ended there. "
            "If answers are meant to be that long, raise `answer_limit` of the agent, if it is a `loop`."
        )


class TooManyCalls(RightseatError):
    code = "too_many_calls"
    status = 502

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"The model called more than {limit:,} tools in one answer. The answer was ended, and none of them was run."
        )


class InternalError(RightseatError):
    code = "internal_error"

    def __init__(self, run_id: str) -> None:
        super().__init__(f"Something went wrong inside the server. Its log has more about {run_id}.")


class ModelError(RightseatError):
    code = "model_error"
    status = 502
    retry_after: float | None = None
    """In how many seconds the model's server wants to be asked again, where it said so."""


class ModelRefusedKey(ModelError):
    code = "model_refused_key"


class ModelRefused(ModelError):
    code = "model_refused"

    def __init__(self, message: str, upstream_status: int) -> None:
        super().__init__(message)
        self.upstream_status = upstream_status


class PromptTooLong(ModelRefused):
    code = "context_too_long"


class Unenforceable(ModelError):
    code = "unenforceable"
    status = 400


class ModelBusy(ModelError):
    code = "model_busy"
    status = 429


class ModelLoading(ModelError):
    code = "model_loading"
    status = 503


class BadTemplate(ModelError):
    code = "bad_template"


class ModelUnreachable(ModelError):
    code = "model_unreachable"


class ModelTimeout(ModelUnreachable):
    code = "model_timeout"
    status = 504


class AgentError(RightseatError):
    code = "agent_error"
    status = 502


class AgentRefused(AgentError):
    code = "agent_refused"


class NothingThere(AgentRefused):
    code = "nothing_there"


class AgentUnreachable(AgentError):
    code = "agent_unreachable"


class AgentTimeout(AgentUnreachable):
    code = "agent_timeout"
    status = 504


class ConfigError(RightseatError):
    code = "config_error"
