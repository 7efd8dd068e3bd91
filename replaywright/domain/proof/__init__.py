"""Proof of a step: predicates that came true, witnesses, probes and reconciliation. Above `locating`."""
