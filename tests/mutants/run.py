"""`make mutants`: leave each guard out in a copy of the source, and see that the tests named for it fail.

The last line is a JSON object: {"mutants": n, "caught": n, "survived": [names], "timed_out": [names]}. Whether
tests that did not end in time notice a mutant is not known.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import ROOT, Mutant, copy_source, page

PAGE = ROOT / "docs" / "internals" / "mutants.md"
LIMIT_S = 300.0
"""A run of a mutant's tests that takes longer shows nothing."""
UNCHANGED_LIMIT_S = 1_200.0
"""The same for all tests together, without a mutant."""


@dataclass(frozen=True)
class Ran:
    """What pytest came to in a copy of the source."""

    passed: frozenset[str]
    """Tests of which every case passed."""
    failed: frozenset[str]
    """Tests of which an assertion or call failed; not those that could not be set up."""
    output: str
    timed_out: bool = False


Verdict = Literal["caught", "SURVIVED", "TIMED OUT"]


def run_tests(copy: Path, tests: Iterable[str], limit_s: float = LIMIT_S) -> Ran:
    """Run these tests in a copy of the source."""
    wanted = sorted(set(tests))
    report = copy / "report.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-m", "", f"--junitxml={report}"]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        ended = subprocess.run(
            [*command, *wanted],
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Ran(frozenset(), frozenset(), f"the tests did not end within {limit_s:g} s", timed_out=True)
    output = ended.stdout + ended.stderr
    if not report.exists():
        return Ran(frozenset(), frozenset(), output)
    cases: dict[str, list[str]] = {}
    for case in ET.parse(report).getroot().iter("testcase"):
        file = case.get("classname", "").replace(".", "/") + ".py"
        name = f"{file}::{case.get('name', '').partition('[')[0]}"
        found = {child.tag for child in case}
        cases.setdefault(name, []).append(
            "failed" if "failure" in found else "none" if found & {"error", "skipped"} else "passed"
        )
    failed = {name for name, ends in cases.items() if "failed" in ends}
    passed = {name for name, ends in cases.items() if set(ends) == {"passed"}}
    return Ran(frozenset(passed), frozenset(failed), output)


def tried(mutant: Mutant, folder: Path, limit_s: float = LIMIT_S) -> tuple[Verdict, str]:
    """Whether every test named for the mutant fails in a copy with it of `folder/source`; if not, why."""
    copy = folder / mutant.name.replace(" ", "-")
    copy_source(copy, folder / "source")
    try:
        mutant.apply(copy)
    except ValueError as exc:
        return "SURVIVED", str(exc)
    ran = run_tests(copy, mutant.caught_by, limit_s)
    if ran.timed_out:
        return "TIMED OUT", ran.output
    missing = [test for test in mutant.caught_by if test not in ran.failed]
    if not missing:
        return "caught", ""
    last = next((line for line in reversed(ran.output.splitlines()) if line.strip()), "")
    return "SURVIVED", f"did not fail: {', '.join(missing)} ({last})"


def figures(verdicts: Mapping[str, Verdict]) -> dict[str, object]:
    """What became of each mutant, as the last line has it."""
    of = {verdict: [name for name, its in verdicts.items() if its == verdict] for verdict in get_args(Verdict)}
    return {
        "mutants": len(verdicts),
        "caught": len(of["caught"]),
        "survived": of["SURVIVED"],
        "timed_out": of["TIMED OUT"],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the mutants; 1 unless every one is caught, and when a named test fails without any."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", metavar="TEXT", default="", help="only mutants with this in their name")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="at a time (default: %(default)s)")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)} and end")
    given = parser.parse_args(arguments)
    if given.write:
        PAGE.write_text(page(MUTANTS), "utf-8")
        return 0
    chosen = [mutant for mutant in MUTANTS if given.only in mutant.name]
    begun = time.monotonic()
    verdicts: dict[str, Verdict] = {}
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        folder = Path(name)
        copy_source(folder / "source")  # once: somebody may go on working in the checkout
        copy_source(folder / "unchanged", folder / "source")
        tests = {test for mutant in chosen for test in mutant.caught_by}
        unchanged = run_tests(folder / "unchanged", tests, UNCHANGED_LIMIT_S)
        if unsteady := tests - unchanged.passed:
            print(f"failed without a mutant, and are tried once more: {', '.join(sorted(unsteady))}", flush=True)
            unchanged = run_tests(folder / "unchanged", unsteady, UNCHANGED_LIMIT_S)
        if wrong := unsteady - unchanged.passed:
            print(unchanged.output)
            print(f"these do not pass without a mutant: {', '.join(sorted(wrong))}")
            print(json.dumps(figures(dict.fromkeys((mutant.name for mutant in chosen), "SURVIVED"))))
            return 1
        with ThreadPoolExecutor(given.jobs) as pool:
            for mutant, (verdict, why) in zip(
                chosen, pool.map(lambda mutant: tried(mutant, folder), chosen), strict=True
            ):
                print(f"{verdict:9}  {mutant.name:44}  {why or mutant.guard}", flush=True)
                verdicts[mutant.name] = verdict
    told = figures(verdicts)
    print(f"{told['caught']} of {len(chosen)} caught in {time.monotonic() - begun:.0f} s")
    print(json.dumps(told))
    return int(told["caught"] != len(chosen))


if __name__ == "__main__":
    sys.exit(main())
