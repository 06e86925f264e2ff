"""Every error that rightseat raises on purpose.

    RightseatError
    ├── BadRequest                     400  the request is malformed
    ├── NotConfigured                  400  the server is not configured for the request
    ├── HostNotAllowed                 421  the `Host` header names a host that this server does not serve
    ├── HeadersTooLarge                431  the request headers exceed their limit
    ├── UrlTooLong                     414  the path and the query exceed their limit
    ├── OriginNotAllowed               403  the page's origin may not call this server
    ├── Unauthenticated                401  the credential is missing or invalid
    │   ├── InsufficientScope          403  the credential is valid, but not for this face or agent
    │   ├── IssuerUnavailable          503  the signing keys of the token's issuer cannot be fetched
    │   ├── KeysUnconfirmed            503  the store of API keys has not been reached for too long
    │   ├── SessionsUnconfirmed        503  the store of signed-out sessions has not been reached for too long
    │   └── TooManyAttempts            429  this client address sent too many wrong keys
    ├── LimitExceeded                  429  a configured limit refuses the ask for now
    │   ├── ConcurrencyLimitExceeded   429  the maximum of concurrent runs is reached
    │   ├── RateLimitExceeded          429  the requests or tokens of a window of at most an hour are used
    │   ├── QueueFull                  429  as many requests wait for the limit as may
    │   ├── QueueTimeout               429  the request waited for the limit as long as it may
    │   ├── BudgetExceeded             429  the requests, tokens or cost of a longer window are used
    │   └── RequestTooLarge            413  one request may need more than the whole limit
    ├── QuotaExceeded                  413  what the user stores without runs would be larger than the quota
    ├── AgentNotFound                  404  no agent has this name
    ├── RunNotFound                    404  the run does not exist, or its log has expired
    ├── RunExists                      409  a run with this id was already started
    ├── ThreadBusy                     409  another run of the thread is in progress
    ├── ThreadNotFound                 404  the thread does not exist, or belongs to another user
    ├── StaleWriter                    409  another process owns the run now
    ├── SlotLost                       503  the run's slot was given back before the run was stored
    ├── ShuttingDown                   503  this server is shutting down
    ├── LogWriteFailed                 500  events cannot be stored: the log server is down
    ├── StorageFull                    507  nothing can be stored: the disk is full, or fails
    ├── LogUnreachable                 503  the log server does not respond
    ├── StoreUnreachable               503  the database of threads does not respond
    ├── LogDataLost                    500  stored events of a run in progress were lost
    ├── LogTruncated                   410  a reader's position in a log was lost; it can resume at a later one
    ├── UnreadableEvent                500  a log holds an event that this version does not know
    ├── UnreadableFile                 422  a file or table is broken, encrypted, too large or too slow to read
    ├── BadQuery                       400  the SQL is invalid, does more than read, or takes too long
    ├── AddressForbidden               403  outbound requests to this address are not allowed
    ├── FetchFailed                    502  an outbound request failed: no response, a broken one, too large, too slow
    ├── GuardDenied                    403  a guard denied a question, a response or a tool call
    ├── GuardFailed                    503  a guard failed, so its content is not let through
    ├── McpAppForbidden                403  the page of an MCP App requests something that it may not use
    ├── HeaderHookFailed               500  the operator's header hook failed
    ├── MaxTurnsExceeded               500  the run reached its maximum of model calls
    ├── ResponseTooLong                502  a model response exceeds its limit
    ├── TooManyToolCalls               502  a model response has too many tool calls
    ├── InternalError                  500  an unexpected error; the server's log has the details
    ├── ModelError                     502  the model provider failed
    │   ├── ModelRefusedKey            502  it rejected the API key
    │   ├── ModelRefused               502  it rejected the request (4xx)
    │   │   └── ContextTooLong         502  the conversation exceeds the model's context window
    │   ├── SchemaNotSupported         400  no grammar can enforce the schema of a tool or a response
    │   ├── ModelBusy                  429  it is rate limited or overloaded
    │   ├── ModelLoading               503  the model is being loaded; the message has the progress
    │   ├── BadTemplate                502  its chat template is invalid, or does not terminate
    │   └── ModelUnreachable           502  no response, a broken one, or 5xx
    │       └── ModelTimeout           504  no content for too long, or a response that takes too long
    ├── AgentError                     502  a remote agent failed
    │   ├── AgentRefused               502  its server rejected the request (4xx)
    │   │   └── AgentEndpointNotFound  502  its server has nothing at the address (404)
    │   └── AgentUnreachable           502  no response, a broken one, or 5xx
    │       └── AgentTimeout           504  no event for too long
    └── ConfigError                    500  the configuration is invalid

`code` is for programs and never changes. The message is for people: it names the cause and the cure, and may be sent to
the client. Details that only the operator should see go to the server's log.
"""

from collections.abc import Iterable
from typing import ClassVar, TypeVar

E = TypeVar("E", bound="RightseatError")


class RightseatError(Exception):
    code: str = "error"
    status: ClassVar[int] = 500
    upstream_text: str = ""
    """The part of the message that an upstream wrote. It may quote the user's messages."""
    operator_text: str = ""
    """What only the operator should know, such as an address: log lines have it."""

    @property
    def message(self) -> str:
        return str(self)

    @property
    def log_message(self) -> str:
        """For log lines at the usual level: without `upstream_text`, with `operator_text`."""
        text = str(self).replace(self.upstream_text, "…") if self.upstream_text else str(self)
        return f"{text} ({self.operator_text})" if self.operator_text else text


class BadRequest(RightseatError):
    code = "bad_request"
    status = 400


class NotConfigured(RightseatError):
    code = "not_configured"
    status = 400


class HostNotAllowed(RightseatError):
    code = "host_not_allowed"
    status = 421


class HeadersTooLarge(RightseatError):
    code = "headers_too_large"
    status = 431

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"The request headers have {size:,} bytes; the limit is {limit:,}.")


class UrlTooLong(RightseatError):
    code = "url_too_long"
    status = 414

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"The URL has {size:,} bytes; the limit is {limit:,}.")


class OriginNotAllowed(RightseatError):
    code = "origin_not_allowed"
    status = 403


class Unauthenticated(RightseatError):
    code = "unauthenticated"
    status = 401


class InsufficientScope(Unauthenticated):
    code = "insufficient_scope"
    status = 403


class IssuerUnavailable(Unauthenticated):
    code = "issuer_unavailable"
    status = 503


class KeysUnconfirmed(Unauthenticated):
    code = "keys_unconfirmed"
    status = 503


class SessionsUnconfirmed(Unauthenticated):
    code = "sessions_unconfirmed"
    status = 503


class TooManyAttempts(Unauthenticated):
    code = "too_many_attempts"
    status = 429

    def __init__(self, retry_after: int) -> None:
        """`retry_after` is in seconds."""
        super().__init__(f"Too many wrong keys or sign-ins came from your address. Try again in {retry_after} s.")
        self.retry_after = retry_after


class LimitExceeded(RightseatError):
    """`limit` is the name of the configured limit; empty for one of the server."""

    code = "limit_exceeded"
    status = 429
    retry_after: int = 1
    """Seconds after which a retry may succeed."""
    counted: str = "requests"
    """`requests` or `tokens`."""

    def __init__(
        self, message: str, *, limit: str = "", retry_after: int | None = None, counted: str | None = None
    ) -> None:
        super().__init__(message)
        self.limit = limit
        self.retry_after = type(self).retry_after if retry_after is None else retry_after
        self.counted = type(self).counted if counted is None else counted


class ConcurrencyLimitExceeded(LimitExceeded):
    code = "concurrency_limit_exceeded"


class RateLimitExceeded(LimitExceeded):
    code = "rate_limit_exceeded"


class QueueFull(LimitExceeded):
    code = "queue_full"


class QueueTimeout(LimitExceeded):
    code = "queue_timeout"


class BudgetExceeded(LimitExceeded):
    code = "budget_exceeded"


class RequestTooLarge(LimitExceeded):
    code = "request_too_large"
    status = 413
    counted = "tokens"


class QuotaExceeded(RightseatError):
    """What a user stores without runs is larger than the quota, with what would be added. All are bytes."""

    code = "quota_exceeded"
    status = 413

    def __init__(self, used: int, added: int, quota: int) -> None:
        stored, more, most = (f"{size / 2**20:,.2f} MB" for size in (used, added, quota))
        super().__init__(
            f"You store {stored} in conversations, and this request would add {more}. The quota of each user is "
            f"{most}. Delete conversations that you do not need. The operator of this server sets the quota with "
            "`conversation_quota_mb` of the face."
        )


class AgentNotFound(RightseatError):
    code = "agent_not_found"
    status = 404

    def __init__(self, name: str, names: Iterable[str]) -> None:
        super().__init__(f"No agent named {name!r}. Configured: {', '.join(sorted(names)) or 'none'}.")
        self.name = name


class RunNotFound(RightseatError):
    code = "run_not_found"
    status = 404

    def __init__(self, run_id: str) -> None:
        super().__init__(f"Run {run_id!r} not found: it does not exist, or its log has expired.")


class RunExists(RightseatError):
    code = "run_exists"
    status = 409

    def __init__(self, run_id: str) -> None:
        super().__init__(f"Run {run_id!r} was already started. Follow it, or use a new run id.")


class ThreadBusy(RightseatError):
    code = "thread_busy"
    status = 409

    def __init__(self, thread_id: str, run_id: str) -> None:
        super().__init__(f"Thread {thread_id!r} has a run in progress. Wait until it ends, or stop it.")
        self.run_id = run_id


class ThreadNotFound(RightseatError):
    code = "thread_not_found"
    status = 404

    def __init__(self, thread_id: str) -> None:
        super().__init__(f"Thread {thread_id!r} not found.")


class StaleWriter(RightseatError):
    code = "stale_writer"
    status = 409

    def __init__(self, run_id: str, epoch: int, current: int) -> None:
        super().__init__(f"Another process writes run {run_id!r} under epoch {current}; epoch {epoch} is fenced.")


class SlotLost(RightseatError):
    """Another process took this one for dead between the admission and the claim of the run."""

    code = "slot_lost"
    status = 503

    def __init__(self) -> None:
        super().__init__(
            "The run was not started: this server stood still or lost the database of threads for longer than its "
            "lease, so its slot went to other runs. Retry in a moment."
        )


class ShuttingDown(RightseatError):
    code = "shutting_down"
    status = 503

    def __init__(self) -> None:
        super().__init__("This server is shutting down. Retry in a moment.")


class LogWriteFailed(RightseatError):
    code = "log_write_failed"

    def __init__(self, problem: str) -> None:
        super().__init__("The run was stopped because its events cannot be stored. The server's log has the reason.")
        self.operator_text = problem.rstrip(".")


class StorageFull(RightseatError):
    code = "storage_full"
    status = 507

    def __init__(self) -> None:
        super().__init__(
            "This server cannot store anything: its disk is full, or fails. Stored conversations can still be read. "
            "The operator has to free some space."
        )


class LogUnreachable(RightseatError):
    code = "log_unreachable"
    status = 503

    def __init__(self, problem: str) -> None:
        super().__init__("The event log cannot be reached. Retry in a moment.")
        self.operator_text = problem.rstrip(".")


class StoreUnreachable(RightseatError):
    """Whether the operation took effect is unknown. The database's own error text goes to the server's log."""

    code = "store_unreachable"
    status = 503

    def __init__(self) -> None:
        super().__init__("The database of threads cannot be reached. Retry in a moment.")


class LogDataLost(RightseatError):
    """`seq` is the number of the last stored entry, which followers may have received: a new log begins after it."""

    code = "log_data_lost"

    def __init__(self, run_id: str, seq: int) -> None:
        super().__init__(f"Run {run_id!r} was stopped because its stored events were lost. Ask again.")
        self.run_id = run_id
        self.seq = seq


class LogTruncated(RightseatError):
    """A follower that resumes at `resume` misses no later entry. Earlier entries are no longer in the log."""

    code = "log_truncated"
    status = 410

    def __init__(self, run_id: str, resume: str) -> None:
        super().__init__(f"Entries of run {run_id!r} were lost. Resume after {resume!r}.")
        self.run_id = run_id
        self.resume = resume


class UnreadableEvent(RightseatError):
    code = "unreadable_event"

    def __init__(self, problem: str) -> None:
        super().__init__(f"The log holds an event that this version of rightseat cannot read: {problem}")


class UnreadableFile(RightseatError):
    code = "unreadable_file"
    status = 422


class BadQuery(RightseatError):
    code = "bad_query"
    status = 400


class AddressForbidden(RightseatError):
    """`blocked` is the `host:port` that the operator could allow; None if no setting allows the address."""

    code = "address_forbidden"
    status = 403

    def __init__(self, message: str, *, blocked: str | None = None) -> None:
        super().__init__(message)
        self.blocked = blocked


class FetchFailed(RightseatError):
    code = "fetch_failed"
    status = 502


class GuardDenied(RightseatError):
    """The message is the guard's reason, and may be sent to the client."""

    code = "guard_denied"
    status = 403

    def __init__(self, reason: str, guard: str = "") -> None:
        super().__init__(reason)
        self.guard = guard


class GuardFailed(RightseatError):
    code = "guard_failed"
    status = 503


class McpAppForbidden(RightseatError):
    """The page of an MCP App requests a server or a tool that it may not use."""

    code = "mcp_app_forbidden"
    status = 403


class HeaderHookFailed(RightseatError):
    code = "header_hook_failed"


class MaxTurnsExceeded(RightseatError):
    code = "max_turns_exceeded"

    def __init__(self, max_turns: int) -> None:
        super().__init__(
            f"The model called tools in {max_turns} consecutive responses without finishing. "
            "If the task needs more, raise `max_turns` of the agent."
        )


class ResponseTooLong(RightseatError):
    code = "response_too_long"
    status = 502

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"The model's response was cut off after {limit:,} characters. "
            "If responses may be longer, raise `max_response_chars` of the agent."
        )


class TooManyToolCalls(RightseatError):
    code = "too_many_tool_calls"
    status = 502

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"The model made more than {limit:,} tool calls in one response. It was cut off, and no tool was run."
        )


class InternalError(RightseatError):
    code = "internal_error"

    def __init__(self, run_id: str) -> None:
        super().__init__(f"Something went wrong on the server. Its log has the details under {run_id}.")


class ModelError(RightseatError):
    code = "model_error"
    status = 502
    retry_after: float | None = None
    """Seconds after which the provider accepts a retry, if it sent that."""


class ModelRefusedKey(ModelError):
    code = "model_refused_key"


class ModelRefused(ModelError):
    code = "model_refused"

    def __init__(self, message: str, upstream_status: int) -> None:
        super().__init__(message)
        self.upstream_status = upstream_status


class ContextTooLong(ModelRefused):
    code = "context_too_long"


class SchemaNotSupported(ModelError):
    code = "schema_not_supported"
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


class AgentEndpointNotFound(AgentRefused):
    code = "agent_endpoint_not_found"


class AgentUnreachable(AgentError):
    code = "agent_unreachable"


class AgentTimeout(AgentUnreachable):
    code = "agent_timeout"
    status = 504


class ConfigError(RightseatError):
    code = "config_error"


def tell_operator(error: E, text: str) -> E:
    """The error, with a text that log lines have and clients do not get."""
    error.operator_text = text
    return error
