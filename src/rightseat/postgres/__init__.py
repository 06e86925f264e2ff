"""What all users of PostgreSQL share: its addresses, and connections that work through a pooler."""
