"""Processes that the suite starts and ends: the server under judgement, or the peer in its place."""

import tempfile
from pathlib import Path

from tests.acceptance._lib import processes
from tests.acceptance._lib.processes import ANSWERED, FLEET, free_port, inherit_without, serve

SUITE = "anthropic"


class Server(processes.Server):
    """One server with a folder of its own; `kill` and `start` again keep port and folder."""

    def __init__(self, command, env: dict, folder: Path, probe: str = "/", dropped: tuple = ()):
        home = Path(tempfile.mkdtemp(dir=folder))
        self.state = home / "state"
        self.state.mkdir()
        port = free_port()
        whole = {**inherit_without(*dropped), **env, "RS_STATE_DIR": str(self.state)}
        super().__init__(command(port), port, whole, home / "server.log", probe=probe, statuses=ANSWERED)
        self.start(within=120)


def project(folder: Path, upstream: str) -> Server:
    """With RS_DATABASE_URL and RS_REDIS_URL the server has its threads in PostgreSQL and its log in Redis."""
    return Server(lambda port: serve(SUITE, port), {"RS_UPSTREAM_OPENAI": upstream}, folder)


def litellm(folder: Path, upstream: str, program: Path) -> Server:
    """The peer: LiteLLM's proxy over the same fake, without a database. `key-alice` is its only key."""
    lines = ["model_list:"]
    for name in ("default", "helper", "lasting", "upstream", "claude-*", "agent"):
        lines += [f'  - model_name: "{name}"', "    litellm_params:", "      model: hosted_vllm/fake-model", f"      api_base: {upstream}", "      api_key: sk-fake"]
    lines += ["litellm_settings:", "  num_retries: 0", "  telemetry: false", "  drop_params: true", "router_settings:", "  disable_cooldowns: true", "  num_retries: 0", "general_settings:", "  master_key: key-alice"]
    config = folder / "litellm.yaml"
    config.write_text("\n".join(lines) + "\n")
    env = {"LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False", "NO_PROXY": "127.0.0.1", "PYTHONDONTWRITEBYTECODE": "1"}
    return Server(lambda port: [str(program), "--config", str(config), "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"], env, folder, "/health/liveliness", FLEET)
