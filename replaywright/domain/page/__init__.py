"""A page as it is read: targets, snapshots, their text and their differences, and what was observed. Above `common`."""
