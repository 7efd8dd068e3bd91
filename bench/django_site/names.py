"""Who and what is in the site's database from the start."""

SUPERUSER = "admin"

PEOPLE = [
    "Ada Lovelace",
    "Alan Turing",
    "Barbara Liskov",
    "Dennis Ritchie",
    "Donald Knuth",
    "Edsger Dijkstra",
    "Frances Allen",
    "Grace Hopper",
    "John McCarthy",
    "Katherine Johnson",
    "Margaret Hamilton",
    "Tony Hoare",
]
"""Users named like `ada.lovelace`; every third is staff."""

GROUPS = {"Editors": "change", "Readers": "view", "Moderators": "delete"}
"""Groups, with the action that the names of their permissions begin with."""
