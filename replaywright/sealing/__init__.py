"""Encryption of what leaves this process: payloads for Temporal, and artifacts."""
