"""Serves CopilotKit clients since 1.50: AG-UI over REST and server-sent events, or in an envelope at a single URL.

app            requests → operations, and errors → responses
routing        the path of a request, or its envelope → one operation
runs           run, connect, stop, suggest; resume at any event
threads        threads and open interrupts: list, read, rename, archive, delete, answer
transcription  speech to text
"""
