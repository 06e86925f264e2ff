"""Small local weather API with made-up, repeatable data. Standard library only.

WEATHER_KEY=demo python server.py      # listens on 127.0.0.1:39182
"""

from __future__ import annotations

import datetime as dt
import json
import os
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

KEY = os.environ.get("WEATHER_KEY", "demo")
KINDS = ("sunny", "partly cloudy", "overcast", "light rain", "thunderstorms")


def day(city: str, date: dt.date) -> dict[str, object]:
    seed = zlib.crc32(f"{city}{date}".encode())
    low = 5 + seed % 20
    return {
        "date": date.isoformat(),
        "low": low,
        "high": low + 4 + seed % 7,
        "condition": KINDS[seed % 5],
        "rain_chance": seed % 101,
    }


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

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        q = {k: v[0] for k, v in parse_qs(url.query).items()}
        if q.get("key") != KEY:
            return self.reply(401, {"detail": "bad key"})
        city, today = q.get("city", ""), dt.date.today()
        if not city:
            return self.reply(422, {"detail": "city is required"})
        if url.path == "/v1/now":
            d = day(city, today)
            t = (d["low"] + d["high"]) / 2
            t = t * 9 / 5 + 32 if q.get("unit") == "f" else t
            return self.reply(
                200,
                {
                    "city": city,
                    "temperature": t,
                    "feels_like": None,
                    "condition": d["condition"],
                    "humidity": 40 + d["rain_chance"] // 2,
                },
            )
        if url.path == "/v1/forecast":
            n = int(q.get("days", "3"))
            return self.reply(200, {"city": city, "days": [day(city, today + dt.timedelta(i)) for i in range(n)]})
        self.reply(404, {"detail": "not found"})


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "39182"))), Handler).serve_forever()
