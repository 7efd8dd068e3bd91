"""Prometheus' own tool for rules: the one on PATH, else that of Debian's package, unpacked into `.environments`."""

import shutil
import subprocess
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parents[1] / ".environments" / "promtool"
_LIMIT_S = 120


class PromtoolMissing(Exception):
    """There is none here, and none can be had; the message says why."""


def promtool(folder: Path = FOLDER) -> Path:
    """The program. Nothing is installed: the package is only downloaded and unpacked, which needs no root.

    Raises:
        PromtoolMissing: there is none on PATH, and this machine has no Debian packages, or could not get this one.
    """
    if on_path := shutil.which("promtool"):
        return Path(on_path)
    program = folder / "usr" / "bin" / "promtool"
    if program.exists():
        return program
    for tool in ("apt-get", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise PromtoolMissing(f"no promtool on PATH, and without {tool} none can be had")
    folder.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="promtool-") as draft:
        place = Path(draft)
        place.chmod(0o755)  # apt-get gives up root's rights before it writes
        _run(["apt-get", "--quiet", "--quiet", "download", "prometheus"], place)
        packages = list(place.glob("prometheus_*.deb"))
        if not packages:
            raise PromtoolMissing("no promtool on PATH, and the package prometheus was not found")
        _run(["dpkg-deb", "--extract", str(packages[0]), "unpacked"], place)
        try:
            (place / "unpacked").replace(folder)
        except OSError:
            if not program.exists():  # another process was not faster either
                raise
    return program


def _run(command: list[str], place: Path) -> None:
    try:
        run = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        raise PromtoolMissing(f"no promtool on PATH, and `{' '.join(command)}` took too long") from None
    if run.returncode:
        why = (run.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise PromtoolMissing(f"no promtool on PATH, and `{' '.join(command)}` failed: {why}")
