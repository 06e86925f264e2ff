"""Code for the clients of each face: one module for each, found by its name."""
