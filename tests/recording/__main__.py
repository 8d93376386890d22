"""Command line of the recording; see the package."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from tests.recording.items import items

DIGESTS = Path(__file__).with_name("digests.json")


def digest(text: str) -> str:
    """Return the digest of an answer."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def main(arguments: list[str]) -> int:
    """Run the command; return the exit status."""
    action, part = arguments[0], arguments[-1] if len(arguments) > (2 if arguments[0] == "write" else 1) else ""
    if action == "write":
        for name, text in items(part):
            path = Path(arguments[1]).absolute() / f"{name[:180]}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", errors="surrogatepass")
        return 0
    created = {name: digest(text) for name, text in items(part)}
    stored = json.loads(DIGESTS.read_text(encoding="utf-8"))
    known = {name: each for name, each in stored.items() if name.startswith(part)}
    if action == "digest":
        others = {name: each for name, each in stored.items() if name not in known}
        DIGESTS.write_text(json.dumps(others | created, indent=0, sort_keys=True) + "\n", encoding="utf-8")
        return 0
    different = sorted(name for name in created.keys() | known.keys() if created.get(name) != known.get(name))
    print("".join(f"{name}\n" for name in different) + f"{len(created) - len(different)} of {len(created)} answers are as recorded")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
