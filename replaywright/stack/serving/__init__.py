"""What a worker does beside its activities: it checks starts and updates, and tells of neighbours that have died."""
