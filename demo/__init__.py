"""The site, the task and the model stand-in that the README's first command runs."""
