"""Command line of the recording; see the package."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from tests.recording import differences, recorded_texts
from tests.recording.items import items


def write(folder: Path, part: str = "") -> int:
    """Write each answer to a file below *folder*."""
    for name, text in items(part):
        path = folder / f"{name[:180]}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
    return 0


def record(part: str = "") -> int:
    """Record the answers as they are now."""
    recorded_texts.write_texts(dict(items(part)), part)
    return 0


def check(part: str = "") -> int:
    """Print how the answers differ from the recorded ones; return 1 if they do."""
    known, created = recorded_texts.read_texts(part), dict(items(part))
    changed = sorted(name for name in created.keys() | known.keys() if created.get(name) != known.get(name))
    _print_differences(changed, known, created)
    print(f"{len(created.keys() - {*changed})} of {len(created)} answers are as recorded")
    return int(bool(changed))


def _print_differences(changed: list[str], known: Mapping[str, str], created: Mapping[str, str]) -> None:
    most = differences.MOST_LINES if len(changed) > 1 else sys.maxsize
    for name in changed:
        for line in differences.difference(name, known.get(name), created.get(name), most=most):
            print(line.encode("utf-8", "backslashreplace").decode())


def main(arguments: list[str]) -> int:
    """Run the command; return the exit status."""
    action, *rest = arguments
    if action == "write":
        return write(Path(rest[0]).absolute(), *rest[1:])
    return {"record": record, "check": check}[action](*rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
