"""Secrets: where they may be entered, their redaction, and signatures of starts and records. Above `common`."""
