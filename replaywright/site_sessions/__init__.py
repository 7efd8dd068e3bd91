"""Site sessions outside of the domain: their file, and cookies from elsewhere."""
