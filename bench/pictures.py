"""Secrets that pages draw: what a reader of another make finds in pictures after they were hidden.

    make bench-pictures                              # 200 pictures, of seeds that the rules were not fitted to
    make bench-pictures ARGS="--pictures 24 --seed 0"   # seeds below 1000 are for fitting

Chromium draws each page: a value on a canvas, in an image, as SVG text, in a closed shadow root or a frame, turned,
with other text over it, or broken over lines; 11 to 24 px, light or dark. Tesseract judges at twice the size; a value
is legible where it finds it, or six tenths of its letters in a row. Pages without one show what is hidden by chance.
"""

import argparse
import asyncio
import importlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.chromium import launched
from bench.environments import environment, site_packages
from replaywright.errors import PictureUnread
from replaywright.vault.environment import EnvironmentSecrets

PICTURES, CONTROLS, SEED = 200, 20, 1_000
WIDTH, HEIGHT = 800, 500
LEGIBLE = 0.6
"""Share of a value's letters in a row from which on it counts as read."""
WITHIN_S = 60.0
_SAME = str.maketrans("0o1l|i5s8b", "ooiiiissbb")
_FONTS = ("DejaVu Sans", "DejaVu Serif", "DejaVu Sans Mono", "sans-serif", "serif")
_COLOURS = (("#ffffff", "#111111"), ("#f4efe4", "#333333"), ("#15181d", "#e8e8e8"), ("#123456", "#f0e040"))
_FILLER = (
    "Order of the day, nothing is missing",
    "Deliver to the second floor",
    "Invoice of October, paid",
    "Three boxes, two of them open",
    "Ask at the counter for the key",
    "Total weight 12.5 kg",
)


@dataclass(frozen=True)
class Scene:
    """A page to be drawn."""

    kind: str
    value: str
    html: str


@dataclass(frozen=True)
class Judged:
    """One picture before and after."""

    kind: str
    before: bool
    after: bool
    painted: float
    seconds: float
    is_kept: bool


def _password(chance: random.Random) -> str:
    letters = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789-_.!"
    return "".join(chance.choice(letters) for _ in range(chance.randint(10, 16)))


def _token(chance: random.Random) -> str:
    return f"sk_{chance.getrandbits(120):030x}"


def _iban(chance: random.Random) -> str:
    digits = "".join(chance.choice("0123456789") for _ in range(20))
    return " ".join(f"DE{digits}"[at : at + 4] for at in range(0, 22, 4))


def _mail(chance: random.Random) -> str:
    return f"{_name(chance).replace(' ', '.').lower()}{chance.randint(1, 99)}@post.example"


def _name(chance: random.Random) -> str:
    first = chance.choice(("Wilhelmine", "Thaddeus", "Rosalinde", "Casimir"))
    last = chance.choice(("Vandermeer", "Quisling", "Oberholzer", "Zabriskie"))
    return f"{first} {last}"


def _number(chance: random.Random) -> str:
    return "".join(chance.choice("123456789") for _ in range(chance.randint(8, 12)))


_VALUES: tuple[Callable[[random.Random], str], ...] = (_password, _token, _iban, _mail, _name, _number)


def _texts(chance: random.Random, value: str, *, broken: bool = False, over: bool = False) -> list[dict[str, Any]]:
    """Where each text of a picture stands."""
    size, top = chance.randint(11, 24), chance.randint(40, 120)
    step = max(26, size * 2)
    shown = [*chance.sample(_FILLER, 3)]
    half = len(value) // 2
    middle = ([value[:half], value[half:]] if broken else [value]) if value else []
    lines = [*shown[:1], *middle, *shown[1:]]
    texts = [{"text": text, "x": 40, "y": top + at * step, "size": size} for at, text in enumerate(lines)]
    if over and value:
        texts.append({"text": "DRAFT", "x": 60, "y": top + step + 2, "size": size + 4, "faint": True})
    return texts


_DRAW = """
const draw = (canvas, told) => {
  const pen = canvas.getContext("2d");
  canvas.width = 720; canvas.height = 420;
  pen.fillStyle = told.back; pen.fillRect(0, 0, 720, 420);
  for (const one of told.texts) {
    pen.globalAlpha = one.faint ? 0.3 : 1;
    pen.fillStyle = told.ink; pen.font = `${one.size}px "${told.font}"`; pen.fillText(one.text, one.x, one.y);
  }
};
"""


def scene(kind: str, chance: random.Random, value: str) -> Scene:
    """Return a page of this kind, which shows the value if there is one."""
    back, ink = chance.choice(_COLOURS)
    texts = _texts(chance, value, broken=kind == "broken", over=kind == "over")
    told = json.dumps({"texts": texts, "back": back, "ink": ink, "font": chance.choice(_FONTS)}).replace("<", "\\u003c")
    turn = chance.uniform(-5, 5) if kind == "turned" else 0
    canvas = f"<canvas id=c style='transform: rotate({turn:.2f}deg)'></canvas>"
    script = f"{_DRAW} const told = {told};"
    match kind:
        case "image":
            body = f"<img id=i><script>{script} const c = document.createElement('canvas'); draw(c, told);"
            body += "document.getElementById('i').src = c.toDataURL();</script>"
        case "svg" | "shadow":
            body = f"<div id=d></div><script>{script} {_IN_TREE[kind]}</script>"
        case "frame":
            inner = f"<body style='margin:0;background:{back}'>{canvas}<script>{script} draw(c, told);</script>"
            body = f'<iframe width=740 height=440 srcdoc="{escape(inner)}"></iframe>'
        case _:
            body = f"{canvas}<script>{script} draw(document.getElementById('c'), told);</script>"
    return Scene(kind, value, f"<!doctype html><meta charset=utf-8><body style='background:{back}'>{body}")


_IN_TREE = {
    "svg": """
const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
svg.setAttribute("width", 720); svg.setAttribute("height", 420);
for (const one of told.texts) {
  const text = document.createElementNS("http://www.w3.org/2000/svg", "text");
  text.textContent = one.text;
  for (const [name, value] of Object.entries({x: one.x, y: one.y, fill: told.ink, "font-size": one.size,
    "font-family": told.font})) text.setAttribute(name, value);
  svg.append(text);
}
document.getElementById("d").append(svg);
""",
    "shadow": """
const root = document.getElementById("d").attachShadow({mode: "closed"});
for (const one of told.texts) {
  const line = document.createElement("p");
  line.textContent = one.text;
  line.style.cssText = `color: ${told.ink}; font: ${one.size}px "${told.font}"; margin: 8px 40px`;
  root.append(line);
}
""",
}
KINDS = ("canvas", "image", "svg", "shadow", "frame", "turned", "over", "broken")


async def drawn(scenes: Sequence[Scene]) -> list[bytes]:
    """Return what Chromium shows of each page, as PNG."""
    pictures: list[bytes] = []
    async with launched() as browser:
        page = await browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        for one in scenes:
            await page.goto("about:blank")  # the scripts of one page are not those of the next
            await page.set_content(one.html)
            await page.evaluate("new Promise(then => requestAnimationFrame(() => requestAnimationFrame(then)))")
            pictures.append(await page.screenshot())
            if faults:
                raise RuntimeError(f"{one.kind}: the page was not drawn: {faults[0]}")
    return pictures


class Judge:
    """Tesseract, at twice the size of a picture."""

    def __init__(self) -> None:
        folder = environment("tesseract").resolve()
        self._program = str(folder / "usr" / "bin" / "tesseract")
        self._environ = os.environ | {
            "LD_LIBRARY_PATH": str(folder / "usr" / "lib" / "x86_64-linux-gnu"),
            "TESSDATA_PREFIX": str(folder / "usr" / "share" / "tesseract-ocr" / "5" / "tessdata"),
            "OMP_THREAD_LIMIT": "1",
        }

    def reads(self, data: bytes, value: str) -> bool:
        """Tell if the value, or most of it in a row, is read in the picture: as it is, or with its colours reversed."""
        cv2 = importlib.import_module("cv2")
        numpy = importlib.import_module("numpy")
        picture = cv2.imdecode(numpy.frombuffer(data, numpy.uint8), cv2.IMREAD_GRAYSCALE)
        picture = cv2.resize(picture, None, fx=2, fy=2, interpolation=cv2.INTER_CUBIC)
        return any(_is_legible(self._text(cv2, one), value) for one in (picture, 255 - picture))

    def _text(self, cv2: Any, picture: Any) -> str:
        with tempfile.NamedTemporaryFile(suffix=".png") as file:
            file.write(cv2.imencode(".png", picture)[1].tobytes())
            file.flush()
            command = [self._program, file.name, "stdout", "--psm", "11"]
            done = subprocess.run(command, env=self._environ, capture_output=True, text=True, check=True)
        return done.stdout


def _is_legible(text: str, value: str) -> bool:
    there, sought = _plain(text), _plain(value)
    size = ceil(LEGIBLE * len(sought))
    return any(sought[at : at + size] in there for at in range(len(sought) - size + 1))


def _plain(text: str) -> str:
    return "".join(one for one in text.lower() if one.isalnum()).translate(_SAME)


def _painted(before: bytes, after: bytes) -> float:
    cv2, numpy = importlib.import_module("cv2"), importlib.import_module("numpy")
    one, other = (cv2.imdecode(numpy.frombuffer(data, numpy.uint8), cv2.IMREAD_COLOR) for data in (before, after))
    return float(numpy.any(one != other, axis=2).mean())


async def judged(judge: Judge, one: Scene, data: bytes, value: str) -> Judged:
    """Hide the value in the picture, and look for it."""
    secrets = EnvironmentSecrets({"REPLAYWRIGHT_SECRET_PLANTED": value})
    begun = time.perf_counter()
    try:
        after = await secrets.redact_picture(data, WITHIN_S)
    except PictureUnread:
        return Judged(one.kind, judge.reads(data, value), after=False, painted=0, seconds=WITHIN_S, is_kept=False)
    seconds = time.perf_counter() - begun
    before, still = await asyncio.gather(*(asyncio.to_thread(judge.reads, shown, value) for shown in (data, after)))
    return Judged(one.kind, before, still, _painted(data, after), seconds, is_kept=True)


async def measured(pictures: int, seed: int, kept: Path | None) -> tuple[list[Judged], list[Judged]]:
    """Return what became of the pictures with a value, and of those without."""
    scenes, values = [], []
    for number in range(pictures + CONTROLS):
        chance = random.Random(seed + number)
        value = _VALUES[number // len(KINDS) % len(_VALUES)](chance)
        values.append(value)
        scenes.append(scene(KINDS[number % len(KINDS)], chance, value if number < pictures else ""))
    shown = await drawn(scenes)
    judge, done = Judge(), []
    for number, (one, data, value) in enumerate(zip(scenes, shown, values, strict=True)):
        done.append(await judged(judge, one, data, value))
        if kept is not None and done[-1].after:
            (kept / f"{number}-{one.kind}.png").write_bytes(data)
            print(number, one.kind, one.value, file=sys.stderr)
    return done[:pictures], done[pictures:]


def _table(done: Sequence[Judged]) -> Table:
    by_kind: defaultdict[str, list[Judged]] = defaultdict(list)
    for one in done:
        by_kind[one.kind].append(one)
    table = Table("kind", "pictures", "legible before", "legible after", "painted, median", "seconds, median")
    for kind, ones in by_kind.items():
        counts = (len(ones), sum(one.before for one in ones), sum(one.after for one in ones))
        painted = statistics.median(one.painted for one in ones)
        seconds = statistics.median(one.seconds for one in ones)
        table.add_row(kind, *map(str, counts), f"{painted:.1%}", f"{seconds:.2f}")
    return table


def figures(done: Sequence[Judged], controls: Sequence[Judged]) -> dict[str, float]:
    """Return the last line."""
    return {
        "pictures": len(done),
        "not_kept": sum(not one.is_kept for one in done),
        "legible_before": sum(one.before for one in done),
        "legible_after": sum(one.after for one in done),
        "painted_share": round(statistics.median(one.painted for one in done), 4),
        "controls": len(controls),
        "false_painted": sum(one.painted > 0 for one in controls),
        "seconds_median": round(statistics.median(one.seconds for one in done), 2),
    }


def main(arguments: Sequence[str]) -> int:
    """Measure; 1 if a value can still be read, or was not legible in most pictures to begin with."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=int, default=PICTURES)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--keep", type=Path, help="folder for pictures that can still be read")
    options = parser.parse_args(arguments)
    sys.path.append(str(site_packages(environment("ocr"))))  # behind ours: only what is not there is taken from it
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/unit/test_vault_pictures.py"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(("", *sys.path))},
        check=False,
    )
    done, controls = asyncio.run(measured(options.pictures, options.seed, options.keep))
    Console().print(_table(done))
    told = figures(done, controls)
    print(json.dumps(told))
    is_fair = told["legible_before"] * 2 > told["pictures"]
    return int(tests.returncode != 0 or told["legible_after"] > 0 or not is_fair)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
