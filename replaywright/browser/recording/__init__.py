"""Watching a person: what they do in a browser, told by a script beside the page agent and by the browser itself."""
