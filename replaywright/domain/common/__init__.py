"""Values that every room uses: records, texts, templates, addresses, lists. Imports nothing of the domain."""
