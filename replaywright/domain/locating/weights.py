WEIGHTS: dict[str, float] = {}
