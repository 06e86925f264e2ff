"""What agents remember about users: the notes in a prompt, the tools that save them, and when these ask a person."""
