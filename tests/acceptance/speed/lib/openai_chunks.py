"""What floor.py and limit.py have in common: what they read of the model's chunks, and what they write."""

import os
from urllib.parse import urlsplit

import msgspec


class Delta(msgspec.Struct, gc=False):
    content: str | None = None


class Choice(msgspec.Struct, gc=False):
    delta: Delta
    finish_reason: str | None = None


class Chunk(msgspec.Struct, gc=False):
    choices: list[Choice] = []


class Ask(msgspec.Struct):
    messages: list[dict]


read_chunk = msgspec.json.Decoder(Chunk).decode
read_ask = msgspec.json.Decoder(Ask).decode
write = msgspec.json.Encoder().encode

BASE = urlsplit(os.environ["RS_UPSTREAM_OPENAI"])
BEFORE = b'data: {"id":"chatcmpl-floor","object":"chat.completion.chunk","created":1700000000,"model":"default","choices":[{"index":0,"delta":{"content":'
AFTER = b'},"finish_reason":null}]}\n\n'
END = (
    b'data: {"id":"chatcmpl-floor","object":"chat.completion.chunk","created":1700000000,"model":"default",'
    b'"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)
