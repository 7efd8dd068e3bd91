"""Canaries over the redesigns of the park: do they see a break before a run in earnest meets it, and change nothing?

Each task is learned in an application's first edition. A canary of its skill, made and triggered by the command line,
runs there, where nothing has changed, and in each other edition before the run in earnest does. The applications' own
stores are compared before and after each canary.
"""

import argparse
import asyncio
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from bench.endings import ending_of
from bench.miniwob import End
from bench.park.app import App, Edition, Site
from bench.park.apps import APPS
from bench.park.job import Job, Seen
from bench.park.place import Place
from bench.park.runs import RUN_LIMIT_S, Kind, lab
from bench.park.runs import Lab as Park
from bench.team.part import AtLeast, Figures, Tell, Wanted
from demo.stage import PASSWORD_SECRET
from replaywright.cli.runs.follow import Ending, follow, handle_of
from replaywright.cli.runs.starting import Order
from replaywright.cli.servers.store import open_store
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.run.scope import Heal, Mode
from replaywright.domain.skill.skills import Skill, SkillStatus
from replaywright.errors import StackFailed

WANTED: Mapping[str, Wanted] = {
    "canary_caught": AtLeast(0.95),
    **dict.fromkeys(("canary_false_alarms", "canary_commits", "canary_unsuspected"), 0),
}
_UNSTEADY = (
    ".config.users.json",  # what Node-RED's editor keeps of everybody who opens it
    "*/$__StoryList.tid",  # which notes are open in TiddlyWiki
    "*.jupyterlab-workspace",  # what is open in JupyterLab
    "sess_*",  # sessions of PHP: each visit to Adminer has one
    "*.lock",
    "*.log",
    "*-wal",
    "*-shm",
    "*.pid",
    "*.pyc",
    ".cache/*",
    "*/.cache/*",
    "*:django_session",
    "*.fossil:accesslog",
    "*.fossil:config",  # secrets of its sign-in; what a task changes there, its judge tells
)
"""Files and tables that servers write when somebody merely opens a page or signs in, as canaries do."""
_SIGNED_IN = frozenset({"last_login", "cookie", "cexpire", "ipaddr"})
"""Columns that a sign-in writes (Django's, Fossil's)."""


def add_options(group: argparse._ArgumentGroup) -> None:
    """Add the options of this part."""
    group.add_argument("--apps", default="", help="applications of the park, with commas (default: all with editions)")
    group.add_argument("--only", default="", help="their tasks with this in their name")


@dataclass
class _Count:
    """What was seen so far."""

    pairs: int = 0
    """In which the run in earnest healed or stopped."""
    caught: int = 0
    unchanged: int = 0
    false_alarms: int = 0
    commits: int = 0
    unsuspected: int = 0
    """Canaries that failed, and whose skill was not suspect then."""
    unlearned: int = 0
    redesigns: int = 0

    def figures(self) -> Figures:
        return {
            "canary_redesigns": self.redesigns,
            "canary_pairs": self.pairs,
            "canary_caught": round(self.caught / self.pairs, 4) if self.pairs else 1.0,
            "canary_unchanged": self.unchanged,
            "canary_false_alarms": self.false_alarms,
            "canary_commits": self.commits,
            "canary_unsuspected": self.unsuspected,
            "canary_unlearned": self.unlearned,
        }


async def measured_by(given: argparse.Namespace, tell: Tell) -> Figures:
    """Take the tasks of the applications through their editions; return the figures.

    Raises:
        StackFailed: there is no such application, or a part of the stack did not come up.
    """
    chosen = given.apps.split(",") if given.apps else [app.name for app in APPS if len(app.editions) > 1]
    if unknown := sorted(set(chosen) - {app.name for app in APPS}):
        raise StackFailed(f"--apps: no application is named {unknown[0]!r}; there are {[app.name for app in APPS]}")
    count = _Count()
    async with lab() as park:
        for app in (app for app in APPS if app.name in chosen):
            async with app.site() as site:
                for job in (job for job in app.jobs if given.only in job.name):
                    await _Task(park, app, site, job, count=count, tell=tell).taken()
    return count.figures()


class _Task:
    """One task, its skill and its canary."""

    def __init__(self, park: Park, app: App, site: Site, job: Job, *, count: _Count, tell: Tell) -> None:
        self._park, self._app, self._site, self._job = park, app, site, job
        self._count, self._say = count, tell
        self._task = job.task(app.name)
        self._schedule = f"canary-{self._task.task}"

    async def taken(self) -> None:
        """Learn it, and take it to the other editions."""
        count, first = self._count, self._app.editions[0]
        await self._park.forget()
        learned = await self._park.run(self._app, self._site, self._job, first, Kind.LEARN)
        if learned.end is not End.DONE:
            count.unlearned += 1
            self._tell(first, f"not learned: {learned.end} {learned.why}")
            return
        count.unchanged += 1
        said = await self._canary(first, is_new=True)
        count.false_alarms += bool(said)
        self._tell(first, f"unchanged: {said or 'nothing said'}")
        for edition in self._app.editions[1:]:
            if edition.name not in self._job.other_flow:
                await self._redesigned(edition)

    async def _redesigned(self, edition: Edition) -> None:
        said = await self._canary(edition)
        earnest = await self._in_earnest(edition)
        self._count.redesigns += 1
        heals = earnest.result.totals.heals
        is_break = earnest.status != "done" or heals > 0
        if is_break:
            self._count.pairs += 1
            self._count.caught += bool(said)
        met = f"{heals} heals" if earnest.status == "done" else f"{earnest.status}: {earnest.result.message[:200]}"
        verdict = ("CAUGHT" if said else "MISSED") if is_break else "no break" if not said else "no break, but said"
        self._tell(edition, f"{verdict}; canary: {said or 'nothing'}; in earnest: {met}")

    async def _in_earnest(self, edition: Edition) -> Ending:
        """Replay the task without a model; what it heals is for this run alone, as the next edition starts anew."""
        place = await self._served(edition)
        values = {"site": place.url, **self._job.values}
        order = Order(self._task, values, new_run_id(self._task, values), mode=Mode.REPLAY, heal=Heal.PROPOSE)
        return await ending_of(order, self._park.stage, RUN_LIMIT_S)

    async def _canary(self, edition: Edition, *, is_new: bool = False) -> str:
        """Have the canary run once on a fresh server; return what it says against the page, empty for nothing."""
        place = await self._served(edition)
        skill = Skill(name=self._task.task, task=self._task, status=SkillStatus.ACTIVE)
        async with open_store(self._park.stage.place.settings) as store:
            await store.knowledge.skills.save(store.tenant, skill, who="the measurement")
            if is_new:
                values = {"site": place.url, **self._job.values}
                given = [f"--param={name}={value}" for name, value in values.items()]
                every = ("--every", "300d", "--canary", "--hold", "--rehearse")
                await self._commanded("create", self._schedule, f"skill:{skill.name}", *every, *given)
            before = await self._stored(place)
            run_id = (await self._commanded("trigger", self._schedule))["runId"]
            ending = await follow(
                handle_of(self._park.stage.place.client, run_id), show=lambda _p, _n: None, until_waiting=True
            )
            if changed := sorted(dict(before.items() ^ (await self._stored(place)).items())):
                self._count.commits += 1
                self._tell(edition, f"CHANGED by the canary: {', '.join(changed)[:600]}")
            now = await store.knowledge.skills.record(store.tenant, skill.name)
        for warning in ending.result.warnings:
            self._tell(edition, warning[:300])
        if ending.status == "done":
            return f"{ending.result.totals.heals} changed" if ending.result.totals.heals else ""
        if now is None or now.skill.status is not SkillStatus.SUSPECT:
            self._count.unsuspected += 1
            self._tell(edition, f"UNSUSPECTED after {ending.status} {ending.result.reason}")
        return f"{ending.status}, {ending.result.reason}: {ending.result.message[:200]}"

    async def _served(self, edition: Edition) -> Place:
        place = await self._site.begin(edition)
        self._park.stage.allow(place.url)
        if self._job.signs_in:
            self._park.stage.bind(PASSWORD_SECRET, place.url)
        return place

    async def _stored(self, place: Place) -> Mapping[str, str]:
        """Return what the application stores: digests of its files and tables, and its judge's word on the task."""
        seen = Seen(place, self._job.values, defaultdict(str), defaultdict(bytes))
        word = await asyncio.to_thread(self._job.judge, seen)
        return {**await asyncio.to_thread(stored, place.folder), "(judge)": word}

    async def _commanded(self, *words: str) -> Mapping[str, str]:
        """Run `replaywright schedule`; return what it prints.

        Raises:
            StackFailed: it fails.
        """
        command = [sys.executable, "-m", "replaywright", "schedule", *words, "--json"]
        environment = os.environ | self._park.stage.stack.environment()
        done = await asyncio.to_thread(
            subprocess.run, command, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise StackFailed(f"schedule {words[0]}: {done.stderr}")
        answer: Mapping[str, str] = json.loads(done.stdout)
        return answer

    def _tell(self, edition: Edition, text: str) -> None:
        self._say(f"{self._app.name} {edition.name} {self._job.name}: {text}")


def stored(folder: Path) -> dict[str, str]:
    """Return digests of the files below a folder, of SQLite databases by table."""
    found: dict[str, str] = {}
    for path in sorted(each for each in folder.rglob("*") if each.is_file() and not each.is_symlink()):
        name = str(path.relative_to(folder))
        if _is_unsteady(name):
            continue
        data = path.read_bytes()
        if data.startswith(b"SQLite format 3"):
            tables = {f"{name}:{table}": digest for table, digest in _tables(path).items()}
            found |= {table: digest for table, digest in tables.items() if not _is_unsteady(table)}
        else:
            found[name] = hashlib.sha256(data).hexdigest()
    return found


def _is_unsteady(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in _UNSTEADY)


def _tables(path: Path) -> dict[str, str]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: _digest(database, name) for name in names}


def _digest(database: sqlite3.Connection, table: str) -> str:
    quoted = table.replace('"', '""')
    found = database.execute(f'SELECT * FROM "{quoted}"')  # noqa: S608  its own name
    kept = [at for at, column in enumerate(found.description) if column[0] not in _SIGNED_IN]
    rows = sorted(repr([row[at] for at in kept]) for row in found)
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()
