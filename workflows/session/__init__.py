"""The browser in the workflow: opened, recovered when it is lost, exchanged when it is old."""
