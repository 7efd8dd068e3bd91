"""Browser sessions: identity, network policy and guard. Above `common`."""
