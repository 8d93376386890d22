"""Fragmentation for a person: the largest gang that fits in one domain, a line for each topology level."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from muster.render.phrases import counted
from muster.render.root_text import Paint
from scheduler_core.diagnosis.fragmentation import Fragment
from validators.reports.escape import printable


def lines(fragments: Sequence[Fragment], paint: Paint) -> Iterator[str]:
    """The section; nothing where there is no level or no pod to tell it of."""
    if not fragments:
        return
    yield paint.bold("The largest gang that fits in one domain, before anything is placed:")
    wide = max(len(each.key) for each in fragments)
    for pod, levels in itertools.groupby(fragments, key=lambda each: each.pod):
        told = [*levels]
        yield f"  pods as {printable(pod)} ({printable(told[0].shape)}): {told[0].total:,} in all, one by one"
        for each in told:
            where = f" in {printable(each.domain)}" if each.largest else ""
            yield f"    {printable(each.key).ljust(wide)}  {counted(each.largest, 'pod')}{where}"
    yield ""
