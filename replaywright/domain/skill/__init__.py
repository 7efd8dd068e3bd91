"""Skills and cache entries: learned steps, their files and their statistics. Above `policy`."""
