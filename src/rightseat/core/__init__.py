"""The core: asks, runs, events, logs and threads. It imports nothing of rightseat outside this folder."""
