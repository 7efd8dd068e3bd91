"""One step in the browser: find the element, act once, see what came of it."""
