"""One small application for each framework, run by the Python of that framework's own environment."""
