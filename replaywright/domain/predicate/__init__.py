"""Predicates: conditions as data, their evaluation, and the time they are given. Above `page`."""
