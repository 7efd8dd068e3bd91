"""Secrets: where they may be entered, their redaction, and the signatures of starts and records. Above `common`."""
