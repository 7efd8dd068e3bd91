"""How far one machine carries: many runs, many workers, long runs, large caches; `python -m bench.scale`."""
