"""The way out: connections that the server opens."""
