"""Questions of runs to people, and commands of people to runs."""
