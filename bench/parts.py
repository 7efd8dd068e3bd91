"""The option of a long programme that runs one part of it: all parts together are the whole."""

import argparse
import re


def part_given(given: str) -> tuple[int, int]:
    """Read `2/4`.

    Raises:
        ArgumentTypeError: it is no part.
    """
    found = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", given)
    if found is None or (part := int(found[1])) > (parts := int(found[2])):
        raise argparse.ArgumentTypeError(f"{given!r} is no part; give such as 2/4")
    return part, parts
