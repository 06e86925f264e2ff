"""Prometheus, which scrapes the metrics."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from rightseat.faces.operator.snippet import YOUR_KEY, Snippet, SnippetTarget, build_curl_get

NAME = "Prometheus"

SCRAPE = """\
scrape_configs:
  - job_name: rightseat
    scheme: {scheme}
    metrics_path: {path}
    static_configs:
      - targets: ["{host}"]
"""
KEY = f"""\
    authorization:
      credentials: {YOUR_KEY}
"""


def build_snippets(target: SnippetTarget) -> Sequence[Snippet]:
    parts = urlsplit(target.url)
    scrape = SCRAPE.format(scheme=parts.scheme, path=parts.path or "/", host=parts.netloc)
    curl = build_curl_get(target, "curl", "", target.bearer)
    return curl, Snippet("prometheus.yml", "yaml", scrape + (KEY if target.requires_key else ""), curl.request)
