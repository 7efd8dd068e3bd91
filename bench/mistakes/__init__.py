"""Mistakes of a first hour, each made at a running stack as a person makes it, and then mended as the message says."""
