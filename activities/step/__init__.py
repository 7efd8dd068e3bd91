"""Steps in activities: one browser action resolved, run, verified and recorded, and what it leaves."""
