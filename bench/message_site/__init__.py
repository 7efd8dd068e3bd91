"""A site on which messages are sent, the ways in which its pages misbehave, and the log that its judge reads."""
