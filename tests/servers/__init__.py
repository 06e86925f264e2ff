"""Agents built elsewhere, as real servers: each is a program of its own, with packages of its own."""
