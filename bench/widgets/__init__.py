"""Widgets of component frameworks that nobody here wrote, and what their servers receive when our actions work them."""
