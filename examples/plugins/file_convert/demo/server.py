"""Small local conversion API with OAuth client credentials. Needs only the standard library.

FILE_CONVERT_SECRET=demo python server.py      # listens on 127.0.0.1:39183
"""

from __future__ import annotations

import base64
import csv
import email.parser
import email.policy
import io
import json
import os
import secrets
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

SECRET = os.environ.get("FILE_CONVERT_SECRET", "demo")
TOKENS: set[str] = set()


def rows_of(name: str, text: str) -> tuple[str, list[dict[str, str]]]:
    if name.endswith(".json"):
        data = json.loads(text)
        return "json", data if isinstance(data, list) else [data]
    if name.endswith(".csv"):
        return "csv", list(csv.DictReader(io.StringIO(text)))
    lines = [
        [c.strip() for c in ln.strip().strip("|").split("|")] for ln in text.splitlines() if ln.strip().startswith("|")
    ]
    return "md", [dict(zip(lines[0], ln, strict=False)) for ln in lines[2:]] if len(lines) > 2 else []


def render(rows: list[dict[str, str]], target: str) -> str:
    cols = list(rows[0]) if rows else []
    if target == "json":
        return json.dumps(rows, ensure_ascii=False, indent=2)
    if target == "csv":
        out = io.StringIO()
        w = csv.DictWriter(out, cols)
        w.writeheader()
        w.writerows(rows)
        return out.getvalue()
    head = ["| " + " | ".join(cols) + " |", "|" + " --- |" * len(cols)]
    return "\n".join(head + ["| " + " | ".join(str(r[c]) for c in cols) + " |" for r in rows])


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

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/oauth/token":
            form = {k: v[0] for k, v in parse_qs(raw.decode()).items()}
            given = form.get("client_secret")
            if self.headers.get("Authorization", "").startswith("Basic "):
                given = base64.b64decode(self.headers["Authorization"][6:]).decode().partition(":")[2]
            if form.get("grant_type") != "client_credentials" or given != SECRET:
                return self.reply(401, {"error": "invalid_client"})
            token = secrets.token_urlsafe(16)
            TOKENS.add(token)
            return self.reply(200, {"access_token": token, "token_type": "Bearer", "expires_in": 300})
        if self.headers.get("Authorization", "")[7:] not in TOKENS:
            return self.reply(401, {"detail": "bad token"})
        message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(
            b"Content-Type: " + self.headers["Content-Type"].encode() + b"\r\n\r\n" + raw
        )
        fields: dict[str, str] = {}
        files: list[tuple[str, str]] = []
        for part in message.iter_parts():
            body = part.get_payload(decode=True)
            if name := part.get_filename():
                files.append((name, body.decode("utf-8-sig")))
            else:
                fields[part.get_param("name", header="content-disposition")] = body.decode()
        if not files:
            return self.reply(422, {"detail": "no file"})
        try:
            parsed = [(name, *rows_of(name, text)) for name, text in files]
        except (ValueError, KeyError) as exc:
            return self.reply(415, {"detail": f"cannot read the file: {exc}"})
        if self.path == "/inspect":
            name, kind, rows = parsed[0]
            return self.reply(
                200, {"name": name, "kind": kind, "rows": len(rows), "columns": list(rows[0]) if rows else []}
            )
        if self.path == "/convert":
            target = fields.get("target", "md")
            return self.reply(
                200,
                {
                    "files": [
                        {"name": f"{n.rsplit('.', 1)[0]}.{target}", "content": render(r, target)} for n, _, r in parsed
                    ]
                },
            )
        self.reply(404, {"detail": "not found"})


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "39183"))), Handler).serve_forever()
