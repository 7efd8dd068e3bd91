"""Pages that act late, again or by themselves, and what a run says of them: see `docs/internals/truth.md`."""
