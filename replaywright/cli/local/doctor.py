"""`replaywright doctor`: is everything there that a run needs?"""

import typer
from rich.text import Text

from replaywright.cli import output
from replaywright.cli.app import app
from replaywright.cli.command import Exit
from replaywright.cli.options import Json
from replaywright.settings import load_settings
from replaywright.stack.doctor import Diagnosis, PartHealth, diagnose
from replaywright.stack.starting import wait_for_start

_STYLES = {PartHealth.OK: "green", PartHealth.WARNING: "yellow", PartHealth.FAILED: "red"}


@app.command()
async def doctor(
    json: Json = False,
) -> None:
    """Check every part that a run needs, and print a remedy for each missing one.

    Nothing is started, installed or changed. Exit status 1 if a required part is missing.

    Example: `replaywright doctor`
    """
    settings = load_settings()
    wait_for_start(settings.home, output.print_progress)
    findings = await diagnose(settings)
    healthy = all(finding.health is not PartHealth.FAILED for finding in findings)
    if json:
        output.print_json({"healthy": healthy, "findings": [finding.model_dump(mode="json") for finding in findings]})
    else:
        _print(findings)
    raise typer.Exit(Exit.DONE if healthy else Exit.FAILED)


def _print(findings: tuple[Diagnosis, ...]) -> None:
    rows = []
    for finding in findings:
        answers = {True: "yes", False: "no", None: ""}[finding.reachable]
        health = Text(finding.health.value, style=_STYLES[finding.health])
        rows.append((finding.component, health, finding.version, finding.found, answers))
    output.print_table(("part", "health", "version", "found", "answers"), rows)
    for finding in findings:
        if finding.advice:
            output.print_line(f"{finding.component}: {finding.advice}", style=_STYLES[finding.health])
            for attempt in finding.attempts:
                output.print_line(f"  tried {attempt.strip()}", style="dim")
