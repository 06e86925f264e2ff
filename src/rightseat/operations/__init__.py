"""What operators see and change across users: records, keys, the audit log, plugins. Runs need none of it."""
