"""A fleet in one thread, under a clock that is moved by hand: every schedule of faults can be played again by its seed.

Real are `core.runtime`, `core.loop.agent_loop`, `core.run.replay`, `logs.shared.log` with all behind it, the commands
of `logs.redis`, and `stores.sql` with its queries. Played are what they talk to: Redis (`streams`), the database's
process with its clock and its leases (`database`), an engine that keeps steps (`engine`), the network (`network`),
the model and the shop (`outside`), and those who ask and follow (`clients`).
"""
