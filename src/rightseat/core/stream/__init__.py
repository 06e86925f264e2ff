"""The event stream of a run: framing, encoding, compaction and reduction to messages."""
