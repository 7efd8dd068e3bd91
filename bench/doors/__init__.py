"""Every door of a running stack, knocked at by those who have no business there."""
