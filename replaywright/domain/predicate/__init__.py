"""Predicates: conditions as data, their evaluation, and their patience. Above `page`."""
