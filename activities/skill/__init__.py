"""Skills in activities: recalled, held against their start page, learned and judged."""
