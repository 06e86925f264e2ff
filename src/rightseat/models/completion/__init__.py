"""Any model behind a raw completion endpoint."""
