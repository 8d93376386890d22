"""Published advisories about the locked Python packages: with a known vulnerability in one, nothing is released.

pip-audit asks OSV, an advisory service of all package indexes.  Where OSV is not reachable, nothing is known, and the release goes on.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from release.tree import MOST_SHOWN, RefusalError

LOCK = "requirements-ci.txt"
SERVICE = "https://api.osv.dev/v1/query"
REACH_SECONDS = 10.0
AUDIT_SECONDS = 600
_OTHER = {"package": {"name": "muster-scheduling", "ecosystem": "PyPI"}, "version": "0"}
"""A query that the service answers without a result."""


def problems(root: Path, accepted: Collection[str] = (), service: str = SERVICE) -> Iterator[str]:
    """Yield each advisory about a package of the lock in *root*, but for those whose id or alias is in *accepted*.

    If *service* cannot be reached, a line on standard error says so.

    Raises:
        RefusalError: pip-audit failed, or an id in *accepted* is not that of an advisory.

    """
    if reason := _unreachable(service):
        print(f"release: the packages of {LOCK} were not audited: {service} cannot be reached: {reason}", file=sys.stderr)
        return
    used = set[str]()
    for package in _audited(root / LOCK, service):
        for each in package.get("vulns", []):
            ids = {each["id"], *each["aliases"]}
            if known := ids & {*accepted}:
                used |= known
                continue
            fixed = ", ".join(each["fix_versions"]) or "no version"
            also = "".join(f", {alias}" for alias in sorted(each["aliases"]))
            yield f"{package['name']} {package['version']} has a known vulnerability: {each['id']}{also}; fixed in {fixed}: renew {LOCK}"
    if unused := sorted({*accepted} - used):
        raise RefusalError(f"no package of {LOCK} has the advisory {', '.join(unused)}: leave it out of --accept-advisory")


def _unreachable(service: str) -> str:
    """Return why the service does not answer; empty if it does."""
    request = urllib.request.Request(service, json.dumps(_OTHER).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=REACH_SECONDS) as response:
            json.load(response)
    except (OSError, ValueError) as error:
        return str(getattr(error, "reason", "") or error)
    return ""


def _audited(lock: Path, service: str) -> list[dict[str, Any]]:
    """Return the packages of the lock with their vulnerabilities, as pip-audit reports them.  Raises RefusalError."""
    options = ["--no-deps", "--disable-pip", "--progress-spinner=off", "--format=json", "--vulnerability-service=osv", "--strict"]
    command = [sys.executable, "-m", "pip_audit", *options, f"--osv-url={service}", f"--requirement={lock}"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=AUDIT_SECONDS)
    try:
        packages: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except ValueError:
        raise RefusalError(f"pip-audit failed: {(done.stdout + done.stderr)[-MOST_SHOWN:].strip()}") from None
    return packages
