"""Values of secrets: where they come from, and keeping them out of everything else."""
