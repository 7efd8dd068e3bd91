"""Pages as read: targets, snapshots, their text and differences, and observations. Above `common`."""
