"""The keys of the section `evals`."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from rightseat.parts import BesidePath


class EvalOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    record: Literal["stored", "all"] = "stored"
    """The runs that can be pinned as cases. `all` also records transient runs: those of OpenBB Workspace, of OpenAI's
    chat completions and of plain chats in older CopilotKit clients, with all their texts."""
    record_prompts: bool = False
    """Also record what models are sent, call by call: instructions, messages, tools and parameters. Operators with the
    right to read see them at the run. Those of transient runs are recorded with `record: all`."""
    record_days: float = Field(default=14.0, gt=0)
    """Days after which the recording of a transient run is deleted, and what the models of a run were sent. A vote on
    the answer, or a case that is pinned from the run, starts them again."""
    consent: Literal["optional", "required"] = "optional"
    """`required`: a run is pinned only with a text that says who agreed, or why nobody has to."""
    folder: BesidePath | None = None
    """The folder of the datasets; a relative path is relative to this file. Left out: `evals` beside this file. A
    server that other machines can reach writes cases only if this is set, and otherwise offers them as a download."""
