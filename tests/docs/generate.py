"""`make docs`: write the reference pages that are made of the code."""

from pathlib import Path

from tests.docs.pages import PAGES

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Write what differs, and say so."""
    for name, page in PAGES.items():
        path, text = ROOT / name, page()
        if not path.is_file() or path.read_text("utf-8") != text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
            print(f"written: {name}")


if __name__ == "__main__":
    main()
