"""The peer, which is judged in the place of the project's server."""

from pathlib import Path

from tests.acceptance._lib.processes import FLEET
from tests.acceptance._lib.protocol_suite import SuiteServer


def litellm(folder: Path, upstream: str, program: Path) -> SuiteServer:
    """LiteLLM's proxy over the same fake, without a database. `key-alice` is its only key."""
    lines = ["model_list:"]
    for name in ("default", "helper", "lasting", "upstream", "claude-*", "agent"):
        lines += [f'  - model_name: "{name}"', "    litellm_params:", "      model: hosted_vllm/fake-model", f"      api_base: {upstream}", "      api_key: sk-fake"]
    lines += ["litellm_settings:", "  num_retries: 0", "  telemetry: false", "  drop_params: true", "router_settings:", "  disable_cooldowns: true", "  num_retries: 0", "general_settings:", "  master_key: key-alice"]
    config = folder / "litellm.yaml"
    config.write_text("\n".join(lines) + "\n")
    env = {"LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False", "NO_PROXY": "127.0.0.1", "PYTHONDONTWRITEBYTECODE": "1"}
    return SuiteServer(lambda port: [str(program), "--config", str(config), "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"], env, folder, "/health/liveliness", FLEET)
