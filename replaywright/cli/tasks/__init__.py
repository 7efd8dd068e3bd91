"""Tasks as people write them: files, sentences and recordings."""
