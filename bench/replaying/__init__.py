"""A replay beside plain Playwright and beside other tools: one flow, one site, one run, interleaved."""
