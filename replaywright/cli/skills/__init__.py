"""Skills: listing, running, changing, exporting and importing them."""
