"""Values that every room uses: records, texts, templates, addresses, lists. It imports nothing of the domain."""
