"""A process that `up` keeps, in which the commands are imported: it forks one that carries out a command at once."""
