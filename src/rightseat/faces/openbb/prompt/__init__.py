"""What the model reads of a request of OpenBB Workspace: history, files, data and context."""
