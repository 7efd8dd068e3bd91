"""The commit gate and the proxy: what leaves the browser, what is held, and the black box of what has left."""
