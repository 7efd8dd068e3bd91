"""Redis: ledger, action cache, trace and knowledge base. The only package that imports the Redis library."""
