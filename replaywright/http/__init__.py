"""Requests to sites without a browser, over HTTP/1.1, under the same network policy as those of browsers."""
