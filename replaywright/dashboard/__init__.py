"""The dashboard: runs, skills, inbox and cache as pages of a server on loopback. It reads, and changes nothing."""
