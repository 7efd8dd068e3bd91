"""A skill as a test in TypeScript for Playwright's own runner."""

import re
from collections.abc import Mapping
from typing import Final

from replaywright.domain.skill.skills import Skill
from replaywright.export import code
from replaywright.export.code import Script
from replaywright.export.helpers import with_others
from replaywright.export.names import TYPESCRIPT_RESERVED, camel, environment_name, identifiers
from replaywright.export.quoting import comment_lines, plain, typescript_string
from replaywright.export.script import context_of, emulated, from_environment, required
from replaywright.export.typescript_code import TypeScriptCode
from replaywright.export.typescript_helpers import HELPERS

_WIDTH: Final = 100
_NODE: Final = {"createHmac": "import { createHmac } from 'node:crypto';", "path": "import path from 'node:path';"}


def typescript_test(skill: Skill, script: Script) -> str:
    """Write a file with one test; parameters come from the environment."""
    names = identifiers(script.parameters, camel, TYPESCRIPT_RESERVED)
    body = TypeScriptCode(names)
    body.write(script.statements)
    helpers = with_others(HELPERS, {*body.helpers, *(["parameter"] if names else [])})
    source = "\n".join(HELPERS[name] for name in helpers)
    types = sorted(set(re.findall(r"\b(?:Dialog|Download|Locator|Page|Response)\b", source)))
    imported = ", ".join(["expect as baseExpect", "test", *(f"type {one}" for one in types)])
    node = [line for word, line in _NODE.items() if re.search(rf"\b{word}\b", source)]
    moves = any(isinstance(one, code.CurrentTab | code.ClosePage) for one in code.all_of(script.statements))
    title, given = typescript_string(plain(skill.label or skill.name)), "page: firstPage" if moves else "page"
    lines = [
        *_header(skill, script),
        *node,
        f"import {{ {imported} }} from '@playwright/test';",
        "",
        "const expect = baseExpect.configure({ timeout: 10_000 });",
        "",
        *_use(skill),
        *(f"{HELPERS[name]}\n" for name in helpers),
        f"test({title}, async ({{ {given} }}) => {{",
        "  test.setTimeout(0); // every step has a limit of its own",
        *(["  let page = firstPage;"] if moves else []),
        *_given(skill, names),
        *(["  const result: Record<string, unknown> = {};"] if script.reads else []),
        *body.lines,
        *(["  console.log(JSON.stringify(result));"] if script.reads else []),
        "});",
    ]
    return "\n".join(lines) + "\n"


def _header(skill: Skill, script: Script) -> list[str]:
    """Write the header: purpose, origin, usage and gaps."""
    given = " ".join(f"{environment_name(skill.name, name)}=…" for name in required(skill, script))
    said = [
        skill.description or skill.label or skill.name,
        (
            f"From the skill {skill.name}, version {skill.version}, by `replaywright skills script`. "
            "It needs Playwright only:"
        ),
        "npm install @playwright/test && npx playwright install chromium",
        f"Run it with: {given} npx playwright test {skill.name}.spec.ts",
    ]
    if script.secrets:
        variables = ", ".join(f"REPLAYWRIGHT_SECRET_{name}" for name in script.secrets)
        said.append(f"Secrets come from the environment: {variables}.")
    said.append("CHROMIUM_PATH names another browser than Playwright's own.")
    if script.warnings:
        said.append("Not quite as in a replay:")
        said += [f"- {warning}" for warning in script.warnings]
    return [line for one in said for line in comment_lines(one, "//", _WIDTH - 3)] + [""]


def _use(skill: Skill) -> list[str]:
    locale, size = context_of(skill)
    lines = ["test.use({", "  actionTimeout: 10_000,"]
    lines.append("  launchOptions: process.env.CHROMIUM_PATH ? { executablePath: process.env.CHROMIUM_PATH } : {},")
    lines += [f"  locale: {typescript_string(locale)},"] if locale else []
    lines += [f"  viewport: {{ width: {size[0]}, height: {size[1]} }},"] if size else []
    for name, value in emulated(skill).items():
        lines.append(f"  {camel(name)}: {typescript_string(value)},")
    return [*lines, "});", ""]


def _given(skill: Skill, names: Mapping[str, str]) -> list[str]:
    lines = []
    for name, given in names.items():
        told = map(typescript_string, from_environment(skill, name))
        split = ".split(', ')" if skill.task.parameters[name].type == "list" else ""
        lines.append(f"  const {given} = parameter({', '.join(told)}){split};")
    return [*lines, ""] if lines else []
