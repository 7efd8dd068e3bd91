"""Files that anybody may have written: what is too large, too deep or no text is refused, with the file and a remedy.

Memory and time are bounded by construction: each file is small, and what it would become is not.
"""

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from replaywright.cli import output
from replaywright.cli.commands import app
from replaywright.cli.evidence.evidence import KeptArtifact
from replaywright.cli.skills.elements import read_skills
from replaywright.domain.batch.row_files import read_rows
from replaywright.domain.common import elsewhere
from replaywright.domain.common.lists import list_of
from replaywright.domain.skill.skill_files import skills_in
from replaywright.domain.task.tasks import Task, parse_task
from replaywright.domain.trace.audit import audit
from replaywright.errors import InputInvalid, SecretMissing
from replaywright.overrides import read_rules
from replaywright.policy_files import read_policy
from replaywright.vault.sources import source_of
from replaywright.yaml_files import parse_yaml, read_bytes

TASK = 'task: visit\nurl: "https://shop.example/"\nsteps: [{action: goto, url: /}]\n'
LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30)
)
MERGES = "a0: &a0 {k: v}\n" + "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 30))
BOMBS = {
    "aliases": (LAUGHS, "more than 500,000 values, with those that aliases repeat"),
    "merge keys": (MERGES, "more than 500,000 values, with those that aliases repeat"),
    "itself": ("a: &a [*a]\n", "the alias 'a' stands in what it means"),
    "itself by merging": ("a: &a {<<: *a}\n", "the alias 'a' stands in what it means"),
    "an alias in an unknown place": (
        f"{LAUGHS}verify: [{{custom: looks, arguments: {{all: *a29}}}}]\n",
        "more than 500,000 values",
    ),
    "depth": ("[" * 5_000, "nested too deeply"),
    "depth by aliases": (
        "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 200)),
        "nested too deeply",
    ),
    "a number in base sixty": (f"a: {'1:' * 5_000}1\n", "a number of 10001 characters"),
    "a fraction in base sixty": (f"a: {'1:' * 200}1.5\n", "a number of 403 characters"),
    "a tag that has no value": ("a: !!bool perhaps\n", "the tag 'tag:yaml.org,2002:bool'"),
    "a tag that runs something": ('a: !!python/object/apply:os.system ["true"]\n', "python/object/apply:os.system"),
    "half of a character": ('a: "\\ud800"\n', "a: half of a character"),
    "NUL": ('a: {b: ["\\0"]}\n', r"a.b[0]: a NUL character"),
    "a long key twice": ("? " + "k" * 900 + "\n: 1\n? " + "k" * 900 + "\n: 2\n", "is here twice"),
}
JSON_BOMBS = {
    "depth": ('{"task": ' + "[" * 100_000, "nested too deeply: more than 100"),
    "closed depth": ('{"task": ' + "[" * 150 + "]" * 150 + "}", "nested too deeply: more than 100"),
    "a long number": ('{"task": ' + "9" * 5_000 + "}", "a number of 5000 digits"),
    "half of a character": ('{"goal": "\\ud800"}', "goal: half of a character"),
    "NUL in a name": ('{"a\\u0000": 1}', "a NUL character"),
    "twice": ('{"' + "k" * 10_000 + '": 1, "' + "k" * 10_000 + '": 2}', "is here twice"),
}


def task(**parameters: str) -> Task:
    return parse_task(
        {
            "task": "visit",
            "url": "https://shop.example/",
            "parameters": {name: {"type": kind} for name, kind in parameters.items()},
            "steps": [{"action": "goto", "url": "/"}],
        },
        "here",
    )


def refused(*arguments: str) -> str:
    """The one line on standard error of a command that must end with 2; it is never longer than a person reads."""
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 2, (result.stdout, result.stderr, result.exception)
    [line] = result.stderr.splitlines()
    assert len(line) < 3_000
    return line


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("TEMPORAL_ADDRESS", "REPLAYWRIGHT_TEMPORAL_ADDRESS", "REPLAYWRIGHT_REDIS_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("REPLAYWRIGHT_HOME", str(tmp_path / "home"))


READERS: dict[str, Callable[[str], object]] = {
    "policy": read_policy,
    "override rules": read_rules,
    "skills": lambda path: read_skills([path]),
}
COMMANDS = {"task": ("run",), "values": ("run", "-", "--params"), "skill": ("skills", "import")}


@pytest.mark.parametrize(
    ("command", "bomb"),
    # Values are texts: nothing of theirs is reckoned.
    [(each, bomb) for each in COMMANDS for bomb in BOMBS if each != "values" or "base sixty" not in bomb],
)
def test_a_yaml_bomb_is_refused_by_every_command_that_reads_one(command: str, bomb: str, tmp_path: Path) -> None:
    text, why = BOMBS[bomb]
    file = tmp_path / "bomb.yaml"
    file.write_text(text)
    result = CliRunner().invoke(app, [*COMMANDS[command], str(file)], input=TASK)

    assert result.exit_code == 2, (result.stdout, result.stderr, result.exception)
    [line] = result.stderr.splitlines()
    assert line.startswith(str(file))
    assert why in line
    assert len(line) < 3_000


@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.parametrize("reader", READERS)
def test_a_yaml_bomb_is_refused_by_every_reader(reader: str, bomb: str, tmp_path: Path) -> None:
    text, why = BOMBS[bomb]
    file = tmp_path / "bomb.yaml"
    file.write_text(text)

    with pytest.raises(InputInvalid) as caught:
        READERS[reader](str(file))

    assert str(caught.value).startswith(str(file))
    assert why in str(caught.value)


@pytest.mark.parametrize("bomb", JSON_BOMBS)
@pytest.mark.parametrize("command", [("run",), ("skills", "import"), ("check",)], ids=" ".join)
def test_a_json_bomb_is_refused_with_its_file(command: tuple[str, ...], bomb: str, tmp_path: Path) -> None:
    text, why = JSON_BOMBS[bomb]
    file = tmp_path / "bomb.json"
    file.write_text(text)

    line = refused(*command, str(file))

    assert str(file) in line
    assert why in line


def test_aliases_that_repeat_a_little_are_read() -> None:
    data = parse_yaml("a: &a {b: [1, 2]}\nc: *a\nd: {<<: *a, e: 3}\n", "here")

    assert data == {"a": {"b": [1, 2]}, "c": {"b": [1, 2]}, "d": {"b": [1, 2], "e": 3}}


def test_what_aliases_repeat_is_counted_before_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replaywright.yaml_loaders.NODES_LIMIT", 20)

    assert parse_yaml("a: &a [1, 2]\nb: [*a, *a]\n", "here") == {"a": [1, 2], "b": [[1, 2], [1, 2]]}
    with pytest.raises(InputInvalid, match=r"here:3:9: not YAML: more than 20 values"):
        parse_yaml("a: &a [1, 2]\nb: &b [*a, *a]\nc: [*b, *b]\n", "here")


def test_a_value_that_is_given_twice_in_a_file_of_values_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("a: 1\na: 2\n")

    with pytest.raises(InputInvalid, match="'a' is here twice"):
        parse_yaml(file.read_text(), str(file), as_texts=True)


@given(st.text(st.sampled_from(list("ab:-,?[]{}&*!|>'\"%@`#<=\\ \n\t0123456789._~xeE\x00\x85\ud800")), max_size=80))
def test_odd_text_is_read_or_refused_and_never_an_accident(text: str) -> None:
    for as_texts in (False, True):
        try:
            parse_yaml(text, "here", as_texts=as_texts)
        except InputInvalid as exc:
            said = str(exc)
        else:
            said = "here it is"
        assert said.startswith("here")


def test_no_more_than_the_limit_is_read_of_a_file_without_an_end() -> None:
    with pytest.raises(InputInvalid, match=r"/dev/zero: it has more than 1,000 bytes.*take out"):
        read_bytes("/dev/zero", "/dev/zero", 1_000)


@pytest.mark.parametrize(
    ("command", "limit"),
    [
        (("record", "--from"), "67,108,864"),
        (("skills", "import"), "8,388,608"),
        (("batch", "task.yaml", "--csv"), "67,108,864"),
        (("run", "task.yaml", "--params"), "8,388,608"),
        (("admin", "policy", "check", "task.yaml", "--policy"), "8,388,608"),
    ],
    ids=lambda words: words if isinstance(words, str) else " ".join(words),
)
def test_every_command_stops_reading_at_its_limit(
    command: tuple[str, ...], limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "task.yaml").write_text(TASK)

    assert f"it has more than {limit} bytes" in refused(*command, "/dev/zero")


def test_a_trace_is_read_up_to_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replaywright.cli.evidence.trace.TRACE_LIMIT", 1_000)

    for command in ("verify", "replay"):
        assert "it has more than 1,000 bytes" in refused("admin", "trace", command, "/dev/zero")


def packed(name: str) -> bytes:
    if name == "gzip":
        return gzip.compress(bytes(10 * elsewhere.MB))
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../../task.yaml", bytes(10 * elsewhere.MB))
    return held.getvalue()


@pytest.mark.parametrize("form", ["gzip", "zip"])
@pytest.mark.parametrize(
    "command", [("run",), ("record", "--from"), ("skills", "import"), ("batch", "task.yaml", "--csv")], ids=" ".join
)
def test_nothing_that_is_packed_is_unpacked(
    command: tuple[str, ...], form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "task.yaml").write_text(TASK)
    file = tmp_path / "packed.yaml"
    file.write_bytes(packed(form))

    line = refused(*command, str(file))

    assert str(file) in line
    assert "UTF-8" in line or "NUL" in line
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "home") == ["packed.yaml", "task.yaml"]


@pytest.mark.parametrize(
    ("data", "said"),
    [(TASK.encode("utf-16"), "found UTF-16: save it as UTF-8"), (packed("gzip"), "found a packed file: unpack it")],
    ids=["UTF-16", "gzip"],
)
def test_what_a_file_is_instead_of_utf8_is_said(data: bytes, said: str, tmp_path: Path) -> None:
    file = tmp_path / "task.yaml"
    file.write_bytes(data)

    assert said in refused("run", str(file))


def test_a_trace_whose_line_is_too_deep_is_refused_and_not_a_crash(tmp_path: Path) -> None:
    deep = '{"kind": "export", "x": ' + "[" * 100_000
    file = tmp_path / "run.jsonl"
    file.write_text(deep + "\n")

    assert "nested too deeply" in audit(deep).findings[0].what
    assert f"{file}: line 1 cannot be read: nested too deeply" in refused("admin", "trace", "replay", str(file))


def test_a_list_in_a_cell_that_is_too_deep_is_refused_with_its_line() -> None:
    data = b"names\n" + b"[" * 100_000 + b"\n"

    with pytest.raises(InputInvalid, match=r"rows\.csv:2: column 'names'.*expected a list"):
        read_rows(data, "rows.csv", task(names="list"), {})
    with pytest.raises(ValueError, match="nested too deeply"):
        list_of("[" * 100_000)


def test_a_file_with_more_rows_than_a_batch_takes_is_refused_with_the_first_that_is_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("replaywright.domain.batch.row_files.MOST_ROWS", 3)

    assert len(read_rows(b"name\na\nb\nc\n", "rows.csv", task(name="text"), {})) == 3
    with pytest.raises(InputInvalid, match=r"rows\.csv:5: more than 3 rows; split the file"):
        read_rows(b"name\na\nb\nc\nd\n", "rows.csv", task(name="text"), {})
    with pytest.raises(InputInvalid, match=r"rows\.csv:5: more than 3 rows; split the file"):
        read_rows(b"name\n1,2\n1,2\n1,2\n1,2\n", "rows.csv", task(name="text"), {})


def test_a_secret_without_an_end_is_none() -> None:
    source = source_of("PASSWORD", {"REPLAYWRIGHT_SECRET_PASSWORD_FILE": "/dev/zero"}, None)

    with pytest.raises(SecretMissing, match="or has more than 65536 bytes"):
        source.read({})


def test_a_file_on_a_terminal_cannot_act_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a\t\x1b[2J\x9b31m\u202eb\r\n  c\n"
    for is_terminal, shown in ((True, "a\t�[2J�31m�b�\n  c\n"), (False, text)):
        held = io.StringIO(newline="")
        monkeypatch.setattr(held, "isatty", lambda is_terminal=is_terminal: is_terminal)
        monkeypatch.setattr("sys.stdout", held)
        output.print_file(text)

        assert held.getvalue() == shown


@pytest.mark.parametrize("kind", ["../../.ssh/authorized_keys", "/etc/passwd", "a\x00b", "\u202egnp", "x" * 5_000])
def test_an_artifact_is_saved_under_a_plain_name_whatever_its_record_says(kind: str) -> None:
    name = KeptArtifact(0, 1, 1, kind, "").name

    assert Path(name).name == name
    assert name.isprintable()
    assert not name.startswith((".", "-"))
    assert len(name) <= 120


# ------------------------------------------------------------------------------- what a hostile skill may name

HOSTILE: dict[str, tuple[dict[str, Any], str]] = {
    "a command for a secret": ({"secrets": ["$(id)"]}, "'$(id)' is no secret's name"),
    "a variable of a command": ({"secrets": [{"name": "P", "command": "id"}]}, "secrets[0]: should be a text"),
    "a command to be told": ({"notify": "id"}, "notify: unknown field"),
    "code": ({"verify": [{"custom": "__import__('os').system('id')"}]}, "custom"),
    "a script": ({"steps": [{"action": "evaluate", "script": "1"}]}, "unknown action 'evaluate'"),
    "a setting": ({"settings": {"upload_roots": "/"}}, "settings: unknown field"),
    "trust": ({"policy": {"learning": {"trust": ["*:*"]}}}, "policy.learning: unknown field"),
    "a folder outside": ({"policy": {"upload_roots": ["/srv/../etc"]}}, "'/srv/../etc' has '..' in it"),
    "a relative folder": ({"policy": {"upload_roots": ["~/.ssh"]}}, "policy.upload_roots[0]"),
    "a secret in an address": (
        {"secrets": ["P"], "url": "https://shop.example/{{secret:P}}"},
        "url uses a secret; secrets may only be entered into fields",
    ),
    "a secret that it does not declare": (
        {"steps": [{"action": "fill", "instruction": "the field", "value": "{{secret:P}}"}]},
        "uses undeclared secret 'P'",
    ),
    "a secret in a file's name": (
        {"secrets": ["P"], "steps": [{"action": "upload", "instruction": "the field", "files": ["/{{secret:P}}"]}]},
        "uses a secret outside the value",
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_skill_file_cannot_name_what_no_operator_granted(what: str, tmp_path: Path) -> None:
    changes, why = HOSTILE[what]
    written: dict[str, Any] = {
        "task": "visit",
        "url": "https://shop.example/",
        "steps": [{"action": "goto", "url": "/"}],
    } | changes
    file = tmp_path / "skills.json"
    file.write_text(json.dumps({"skills": [{"name": "visit", "task": written}]}))

    line = refused("skills", "import", str(file))

    assert line.startswith(f"{file}:1: skills[0].task")
    assert why in line


@pytest.mark.parametrize(
    "field", ["status", "signature", "origin", "version", "tenant", "grants", "secrets", "command"]
)
def test_a_skill_file_cannot_say_that_it_is_trusted(field: str) -> None:
    skill = {"name": "visit", "task": parse_yaml(TASK, "here"), field: "active"}

    with pytest.raises(InputInvalid, match=rf"skills\[0\]\.{field}: unknown field"):
        skills_in({"skills": [skill]}, "here")


@pytest.mark.parametrize("url", ["file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "chrome://settings"])
def test_a_skill_file_cannot_name_a_page_that_is_of_no_host(url: str, tmp_path: Path) -> None:
    file = tmp_path / "task.yaml"
    file.write_text(TASK.replace("https://shop.example/", url))

    result = CliRunner().invoke(app, ["run", str(file), "--mode", "replay"])

    assert result.exit_code == 5, result.stderr
    assert f"{url!r} cannot be opened: only http and https addresses are opened" in " ".join(result.stderr.split())
