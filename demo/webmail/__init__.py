"""A small webmail with several skins: the same site before and after its redesigns, and the judge of what was sent."""
