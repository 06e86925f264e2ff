"""The board behind the page: its tools, and a model that plays by keywords."""
