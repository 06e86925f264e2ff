"""CopilotKit's clients since 1.50: AG-UI over REST and server-sent events, or in an envelope on one address.

serving       requests → operations, and whatever goes wrong → an answer
routing       the path of a request, or its envelope → one operation
running       run, connect, stop, suggest; coming back to any event
keeping       threads and open questions: list, read, rename, archive, delete, answer
transcribing  speech to text
"""
