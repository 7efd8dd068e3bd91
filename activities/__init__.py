"""The only code that a workflow calls and that touches the world: classes that receive ports."""
