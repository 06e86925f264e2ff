"""Where threads are kept."""
