"""The page of the documentation that quotes the table, with date, machine and version of Kubernetes."""

from __future__ import annotations

import datetime as dt
import os
import platform
import re
from collections.abc import Mapping
from pathlib import Path

from tests.cluster.programs import find
from tests.reliability import tally
from tests.reliability.campaign import Campaign

FILE = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- Written by `python -m tests.reliability --page`. -->", "<!-- End. -->"
_PLACE = re.compile(rf"(?<={re.escape(BEGIN)}\n).*(?={re.escape(END)})", re.DOTALL)


def renew(campaigns: Mapping[str, Campaign], entries: Mapping[str, tally.Entry]) -> None:
    """Replace the table of the page by that of *entries*, and publish these; a campaign without one is shown as not run.  Raises MissingError."""
    table = tally.table(campaigns, {name: entries.get(name, tally.Entry()) for name in campaigns})
    when = f"{dt.datetime.now(dt.UTC):%Y-%m-%d}, on {machine()}; Python {platform.python_version()}, Kubernetes {find().version()}."
    written = "\n".join((when, "", *table, ""))
    FILE.write_text(_PLACE.sub(lambda _: written, FILE.read_text(encoding="utf-8")), encoding="utf-8")
    tally.publish(entries)


def machine() -> str:
    """Return processor, cores and memory of this machine, without its name."""
    model = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return f"{os.cpu_count()} cores of {model[1] if model else platform.machine()} with {memory:.0f} GiB of memory"
