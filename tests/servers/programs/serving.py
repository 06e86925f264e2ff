"""What the programs here have in common: a server on a free port, and notes for the test that started it.

The notes are lines of JSON in the file that the environment names: the headers and bodies of requests, `left` where a
client went away, `closed` where an agent's answer was broken off, and `gone` where the slow model behind it was ended.
"""

import asyncio
import json
import os
import socket

import uvicorn


def serve(app):
    """Print the port, and serve until the process is ended."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        os.dup2(2, 1)  # what it says of itself goes to the log: nobody reads the pipe, and who writes into it waits
        server = uvicorn.Server(uvicorn.Config(noting(app), log_level="warning"))
        server.run(sockets=[listener])


def noting(app):
    async def noted(scope, receive, send):
        if scope["type"] != "http":
            return await app(scope, receive, send)
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}

        async def hear():
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body"):
                note({"path": scope["path"], "headers": headers, "body": message.get("body", b"").decode()})
            elif message["type"] == "http.disconnect":
                note("left")
            return message

        await app(scope, hear, send)

    return noted


async def until_closed(events):
    """The events of an agent, with a note where nobody wants the rest of them."""
    try:
        async for event in events:
            yield event
    except (asyncio.CancelledError, GeneratorExit):
        note("closed")
        raise


def note(value):
    with open(os.environ["NOTES"], "a") as file:
        file.write(json.dumps(value) + "\n")
