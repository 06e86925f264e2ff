"""Small local API for trying the host_security plugin. Standard library only.

HOST_SECURITY_TOKEN=demo python server.py      # listens on 127.0.0.1:39181
"""

from __future__ import annotations

import json
import os
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

CVES = {
    "CVE-2024-1086": {
        "id": "CVE-2024-1086",
        "score": 7.8,
        "package": "kernel",
        "fixed_in": "5.10.0-182",
        "summary": "Use after free in netfilter nf_tables.",
    },
    "CVE-2024-3094": {
        "id": "CVE-2024-3094",
        "score": 10.0,
        "package": "xz",
        "fixed_in": "5.6.1-2",
        "summary": "Backdoor in the xz release tarballs.",
    },
    "CVE-2023-4911": {
        "id": "CVE-2023-4911",
        "score": 7.8,
        "package": "glibc",
        "fixed_in": "2.34-143",
        "summary": "Buffer overflow in the dynamic loader.",
    },
    "CVE-2023-5678": {
        "id": "CVE-2023-5678",
        "score": 5.3,
        "package": "openssl",
        "fixed_in": None,
        "summary": "Slow checking of long DH keys.",
    },
}
HOSTS = {"web-01": list(CVES), "db-01": ["CVE-2023-5678"], "edge-02": []}
TOKEN = os.environ.get("HOST_SECURITY_TOKEN", "demo")


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        return

    def reply(self, status: int, body: object) -> None:
        raw = json.dumps(body, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def allowed(self) -> bool:
        if self.headers.get("Authorization") == f"Bearer {TOKEN}":
            return True
        self.reply(401, {"detail": "missing or wrong token"})
        return False

    def do_GET(self) -> None:
        if not self.allowed():
            return
        url = urlsplit(self.path)
        if m := re.fullmatch(r"/api/hosts/([^/]+)/cves", url.path):
            host = unquote(m[1])
            if host not in HOSTS:
                return self.reply(404, {"detail": f"no such host: {host}"})
            floor = float(parse_qs(url.query).get("min_score", ["0"])[0])
            items = sorted((CVES[c] for c in HOSTS[host] if CVES[c]["score"] >= floor), key=lambda c: -c["score"])
            return self.reply(200, {"host_id": host, "total": len(items), "items": items})
        if (m := re.fullmatch(r"/api/cves/([^/]+)", url.path)) and m[1] in CVES:
            return self.reply(200, CVES[m[1]])
        self.reply(404, {"detail": "not found"})

    def do_POST(self) -> None:
        if not self.allowed():
            return
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if urlsplit(self.path).path == "/api/scans" and body.get("host_id") in HOSTS:
            return self.reply(
                200, {"task_id": f"scan-{body['host_id']}-1", "eta_seconds": 90 if body.get("depth") == "full" else 15}
            )
        self.reply(404, {"detail": "not found"})


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "39181"))), Handler).serve_forever()
