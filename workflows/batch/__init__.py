"""The workflow of a batch."""
