"""What a page can reach that it must not: every channel of a browser, and addresses made to be read in two ways."""
