"""The one package that imports Playwright: attaching to browsers, acting in pages, reading them."""
