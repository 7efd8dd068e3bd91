"""What runs on this machine: the stack, its doctor, the demonstration and the dashboard."""
