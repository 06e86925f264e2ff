"""The run: what is asked, what happens, and what is kept of it. Imports nothing of rightseat outside this folder."""
