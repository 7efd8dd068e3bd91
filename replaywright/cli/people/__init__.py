"""What a run asks of a person, and what a person tells a run."""
