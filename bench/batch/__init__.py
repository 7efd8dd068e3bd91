"""How a batch goes, with real servers: rows a second, what they take, and that each is done once."""
