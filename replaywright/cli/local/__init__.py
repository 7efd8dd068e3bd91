"""Programs of this machine: the stack, the doctor, the demonstration and the dashboard."""
