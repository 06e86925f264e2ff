"""What the configuration may say of engines."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, SecretStr, Tag, model_validator
from pydantic_core import PydanticCustomError

from rightseat.core.deadlines import ANSWER_SECONDS, SILENCE_SECONDS
from rightseat.egress.network import NetworkOptions
from rightseat.egress.request import parse_base_url, write_headers
from rightseat.parts import BesidePath, StatePath

DEFAULT = "llama_cpp"


def _check_address(url: str) -> str:
    try:
        parse_base_url(url)
    except ValueError as error:
        raise PydanticCustomError("address", "{text}", {"text": str(error)}) from None
    return url.rstrip("/")


def _check_value(value: SecretStr) -> SecretStr:
    try:
        write_headers({"authorization": value.get_secret_value()})
    except ValueError:
        raise PydanticCustomError("header", "should be one line of plain characters") from None
    return value


Address = Annotated[str, AfterValidator(_check_address)]
Key = Annotated[SecretStr, AfterValidator(_check_value)]


class SessionOptions(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        validate_default=True,
        revalidate_instances="always",  # the default below knows no folder yet
    )
    folder: StatePath = Path("sessions")
    """Where they are saved. A relative path is one in the folder `server.state`."""
    number: int = Field(default=16, ge=0)
    """How many are saved at most; 0 saves none, and leaves the choice of slots to the engine."""
    megabytes: int = Field(default=4096, ge=1)
    """How large they may be, all together."""


SAID_ELSEWHERE = {
    "-m": "model",
    "--model": "model",
    "--host": "none: it listens on 127.0.0.1",
    "--port": "port",
    "-c": "context",
    "--ctx-size": "context",
    "-np": "slots",
    "--parallel": "slots",
    "--slot-save-path": "sessions.folder",
    "--api-key": "api_key",
}
"""Arguments of llama-server that options of ours stand for: said twice, what we think of the engine would be wrong."""

OF_OURS = {"arguments", "binary", "context", "port", "sessions", "slots", "threads"}


class LlamaCppOptions(NetworkOptions):
    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, protected_namespaces=(), validate_default=True
    )
    type: Literal["llama_cpp"] = "llama_cpp"
    url: Address | None = None
    """Where a llama-server runs already, for example `http://127.0.0.1:8080`. A path below it is kept."""
    model: BesidePath | None = None
    """A GGUF file, a relative path beside this one. We start llama-server with it and look after it, in place of
    `url`."""
    api_key: Key | None = None
    """Sent as `Authorization: Bearer …`, for a server that was started with `--api-key`; the one we start takes no
    other."""
    patience: float = Field(default=SILENCE_SECONDS, gt=0)
    """The longest silence of the model's server, in seconds, before an answer is ended with an error. Comments and
    chunks without content are silence."""
    answer_timeout: float = Field(default=ANSWER_SECONDS, gt=0)
    """The longest that one answer may take, in seconds, before it is ended with an error."""
    llguidance: bool = False
    """The engine was built with LLGuidance, and may be sent grammars for it. A build without it would end over one."""
    binary: Path | None = None
    """The llama-server to start. Left out: the one on the PATH, or of an installed package."""
    port: int = Field(default=0, ge=0, le=65535)
    """Where the one we start listens, on 127.0.0.1 alone; 0 takes a free port."""
    threads: int | None = Field(default=None, ge=1)
    """How many it may use. Left out: as many as it thinks right."""
    context: int = Field(default=8192, ge=256)
    """How many tokens a conversation may have."""
    slots: int = Field(default=2, ge=1, le=64)
    """How many conversations it works on side by side. Each takes memory for a whole context."""
    arguments: tuple[str, ...] = ()
    """More of llama-server's own, such as `["-ngl", "99"]`. What has an option here is said there."""
    sessions: SessionOptions = SessionOptions()
    """Conversations that are saved, so that the one we start need not read them again after a restart."""

    @property
    def place(self) -> str:
        """In a word or two, for the operator."""
        return f"at {self.url}" if self.url else f"with {self.model}"

    @model_validator(mode="after")
    def _one_engine(self) -> Self:
        if (self.url is None) == (self.model is None):
            text = "either `url`, of a llama-server that runs, or `model`, a GGUF file to start one with"
            raise PydanticCustomError("engine", "should have {text}", {"text": text})
        if self.url is not None and (idle := sorted(OF_OURS & self.model_fields_set)):
            text = f"{', '.join(idle)} beside `url`: it is for an engine that we start"
            raise PydanticCustomError("engine", "should not have {text}", {"text": text})
        if self.model is not None and (idle := sorted({"proxy", "tls"} & self.model_fields_set)):
            text = f"{', '.join(idle)} beside `model`: it is for an engine that runs already"
            raise PydanticCustomError("engine", "should not have {text}", {"text": text})
        for argument in self.arguments:
            if ours := SAID_ELSEWHERE.get(argument.partition("=")[0]):
                text = f"{argument.partition('=')[0]} in `arguments`: the option for that is {ours}"
                raise PydanticCustomError("engine", "should not have {text}", {"text": text})
        return self


class VllmOptions(NetworkOptions):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    type: Literal["vllm"]
    url: Address
    """Where vLLM answers, for example `http://127.0.0.1:8000`."""
    model: str
    """The name that vLLM serves the model by."""
    tokenizer: BesidePath | None = None
    """The model's folder, or its `tokenizer_config.json`: vLLM does not tell its chat template. Left out: plain
    text."""
    api_key: Key | None = None
    """Sent as `Authorization: Bearer …`, where vLLM wants one."""
    patience: float = Field(default=SILENCE_SECONDS, gt=0)
    """The longest silence of the model's server, in seconds, before an answer is ended with an error. Comments and
    chunks without content are silence."""
    answer_timeout: float = Field(default=ANSWER_SECONDS, gt=0)
    """The longest that one answer may take, in seconds, before it is ended with an error."""

    @property
    def place(self) -> str:
        """In a word or two, for the operator."""
        return f"at {self.url}"


def _type_of(value: Any) -> Any:
    return value.get("type", DEFAULT) if isinstance(value, dict) else getattr(value, "type", DEFAULT)


AnyOptions = LlamaCppOptions | VllmOptions

EngineOptions = Annotated[
    Annotated[LlamaCppOptions, Tag("llama_cpp")] | Annotated[VllmOptions, Tag("vllm")], Discriminator(_type_of)
]
