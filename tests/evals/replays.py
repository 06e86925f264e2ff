"""Replays cases as `eval run` does, with the models and strangers of this folder."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from rightseat import config
from rightseat.config import Config
from rightseat.evals.attempts import Attempt
from rightseat.evals.cases import Case
from rightseat.evals.eval_meter import EvalMeter, EvalMetering
from rightseat.evals.replay_runtime import open_replay_runtime
from rightseat.evals.replayed_case import ReplayedCase

MODEL = {"type": "tests.evals.directed_model"}


def tell(say: str = "Done.", **told: object) -> str:
    return json.dumps({"say": say, **told})


def parse(agents: Mapping[str, Any], **sections: Any) -> Config:
    return config.parse(yaml.safe_dump({"models": {"m": MODEL}, "agents": dict(agents), **sections}), environ={})


def loop(**options: Any) -> dict[str, Any]:
    return {"type": "loop", "model": "m", **options}


async def replay(found: Config, missing: Any = "fail", folder: Path = Path(), **case: Any) -> Attempt:
    async with open_replay_runtime(found) as opened:
        parsed = Case.model_validate({"name": "c", "missing": missing, **case})
        policy = parsed.missing
        assert policy is not None
        meter = EvalMeter(EvalMetering(), "default")
        return await ReplayedCase(opened.runtime, meter, "default", parsed, policy, folder).run(1)


def served(attempt: Attempt) -> Sequence[tuple[str, str]]:
    return [(call.name, call.served) for call in attempt.tool_calls]
