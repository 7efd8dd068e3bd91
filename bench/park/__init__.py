"""Real applications that nobody here wrote, installed and pinned on first use."""
