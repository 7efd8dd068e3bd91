"""Pure data and pure functions: no I/O, no clock, no library that has either. Its rooms stand on each other."""
