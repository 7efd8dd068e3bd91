"""Runs, skills and questions as tools of agents: a server of the Model Context Protocol.

It does what commands do, by the same functions, and keeps nothing: a run is in Temporal, and is found again by its id.
Only `server` and `listening` know the protocol's library.
"""
