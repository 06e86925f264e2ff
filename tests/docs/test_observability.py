"""docs/how-to/observability.md says what is so."""

import re
from pathlib import Path

from rightseat import config
from rightseat.telemetry.metrics import Metrics

PAGE = (Path(__file__).parent.parent.parent / "docs" / "how-to" / "observability.md").read_text()


def test_the_configuration_is_right() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    read = config.parse(text, environ={})

    assert read.telemetry.log_format == "json"
    assert [face.type for face in read.faces] == ["copilotkit", "metrics"]


def test_every_metric_is_there() -> None:
    shown = Metrics().text().decode()
    cells = " ".join(re.findall(r"^\| ([^|]*) \|", PAGE, re.MULTILINE))
    named = set(re.findall(r"`((?:rightseat|http_server|db_client|process)_[a-z_]+?)(?:_total|_seconds)?`", cells))

    assert named
    assert all(name in shown for name in named)
