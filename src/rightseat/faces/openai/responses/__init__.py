"""The Responses API: runs agents and models, and keeps their responses for the clients that continue them."""
