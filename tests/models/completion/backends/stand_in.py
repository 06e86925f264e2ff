"""Stands in for llama-server where the program itself is not what is tested: its arguments, its endpoints, no model.

It answers `/completion` with how many characters of the prompt it knew already, as llama-server does with tokens, and
keeps what it was told to save. What stands in a file `answer` beside its model is its answer, in a file `template` its
chat template. A
file `slow` in the folder of its model keeps it loading, `broken` ends it at once.
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

arguments = sys.argv[1:]


def said(name: str) -> str:
    return arguments[arguments.index(name) + 1]


folder = Path(said("-m")).parent
slots = [""] * int(said("-np"))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        if (folder / "slow").exists():
            return self.reply({"error": {"code": 503, "message": "Loading model"}}, 503)
        if self.path == "/props":
            template = (folder / "template").read_text() if (folder / "template").exists() else "x"
            props = {"model_alias": "stand-in", "chat_template": template, "total_slots": len(slots)}
            props |= {"arguments": arguments, "key": os.environ.get("LLAMA_API_KEY")}
            return self.reply(props)
        return self.reply({"status": "ok"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        address = urlsplit(self.path)
        if address.path == "/tokenize":
            return self.reply({"tokens": []})
        if address.path == "/v1/embeddings":
            return self.embed(body["input"])
        if address.path == "/completion":
            return self.complete(body)
        number, file = int(address.path.rpartition("/")[2]), Path(said("--slot-save-path")) / body["filename"]
        if address.query == "action=save":
            file.write_text(slots[number])
            return self.reply({"n_saved": len(slots[number])})
        slots[number] = file.read_text()
        return self.reply({"n_restored": len(slots[number])})

    def embed(self, texts: list[str]) -> None:
        """A vector of a text has its length, and the number of texts in the request."""
        if "--embeddings" not in arguments:
            return self.reply({"error": {"code": 501, "message": "This server does not support embeddings."}}, 501)
        size = int(said("-ub"))
        if any(len(text) > size for text in texts):
            message = f"input ({max(map(len, texts))} tokens) is too large to process. increase the physical batch size"
            return self.reply({"error": {"code": 500, "message": message}}, 500)
        data = [{"index": at, "embedding": [len(text), len(texts), 0.5]} for at, text in enumerate(texts)]
        return self.reply({"data": data, "usage": {"prompt_tokens": sum(map(len, texts))}})

    def complete(self, body: dict[str, Any]) -> None:
        number, prompt = body.get("id_slot", 0), body["prompt"]
        known = next((n for n, pair in enumerate(zip(slots[number], prompt, strict=False)) if pair[0] != pair[1]), None)
        known = min(len(slots[number]), len(prompt)) if known is None else known
        slots[number] = prompt + "!"
        last = {"stop": True, "stop_type": "eos", "tokens_evaluated": len(prompt), "timings": {"cache_n": known}}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        answer = (folder / "answer").read_text() if (folder / "answer").exists() else "!"
        for event in ({"content": answer, "stop": False}, last):
            self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")
        self.close_connection = True

    def reply(self, body: object, status: int = 200) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


sys.stderr.write("the stand-in begins\n")
if (folder / "broken").exists():
    sys.stderr.write("it is broken\n")
    sys.exit(3)
ThreadingHTTPServer(("127.0.0.1", int(said("--port"))), Handler).serve_forever()
