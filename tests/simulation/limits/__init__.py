"""Limits in the simulation: several processes, one database, bursts of asks, and faults, all from one seed.

Real are `limits` and its admission, `stores.sql` and `stores.limit_queries`. Simulated are the database's process
and clock, the network, the engine and the model providers.
"""
