"""What the server tells about itself: traces, metrics and log lines."""
