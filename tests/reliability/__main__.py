"""Runner: ``python -m tests.reliability --minutes N [--resume] [NAME...]`` prints a table; 1 if something did not hold.

``--page`` runs nothing: it writes the table of the last runs into the documentation, and beside the campaigns what other machines continue.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence

import msgspec

from tests.cluster.programs import MissingError
from tests.reliability import (
    churn,
    documents,
    editors,
    equality,
    expressions,
    guided,
    live,
    load,
    mutants,
    page,
    reviews,
    reviews_tls,
    schedulers,
    tally,
    watch,
    worlds,
)
from tests.reliability.campaign import Campaign

CAMPAIGNS: dict[str, Campaign] = {
    each.name: each
    for each in (
        churn.CAMPAIGN,
        reviews.CAMPAIGN,
        reviews_tls.CAMPAIGN,
        *documents.CAMPAIGNS,
        *live.CAMPAIGNS,
        editors.CAMPAIGN,
        *load.CAMPAIGNS,
        watch.CAMPAIGN,
        expressions.CAMPAIGN,
        guided.CAMPAIGN,
        equality.CAMPAIGN,
        schedulers.CAMPAIGN,
        worlds.CAMPAIGN,
        mutants.CAMPAIGN,
    )
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run rounds of the campaigns in turn until the time is over; the last round is completed."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--resume", action="store_true", help="continue the counts and seeds of the last run, or of the page")
    parser.add_argument("--page", action="store_true", help=f"run nothing, but write what was tried so far into {page.FILE.name}")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(CAMPAIGNS))
    given = parser.parse_args(arguments)
    if not 0 < given.minutes < float("inf"):
        parser.error(f"--minutes must be a positive number, and is {given.minutes:g}")
    if unknown := set(given.names) - CAMPAIGNS.keys():
        parser.error(f"unknown campaign {', '.join(sorted(unknown))}; must be one of {', '.join(CAMPAIGNS)}")
    try:
        entries = tally.load() if given.resume or given.page else {}
    except msgspec.DecodeError as error:
        parser.error(f"{tally.FILE} is not a tally: {error}; remove it, or leave out --resume")
    if given.page:
        try:
            page.renew(CAMPAIGNS, entries)
        except MissingError as error:
            parser.error(f"the version of Kubernetes is not known: {error}")
        return 0
    # SIGTERM also stops all processes started here.
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        missing = _run(_chosen(given.names), entries, 60 * given.minutes)
    finally:
        signal.signal(signal.SIGTERM, before)
    print("\n".join(tally.table(CAMPAIGNS, entries)))
    for name, entry in entries.items():
        for seed, failure in entry.failures:
            print(f"error: {name}, seed {seed}: {failure}", file=sys.stderr)
    for name, why in missing.items():
        print(f"not run: {name}: {why}", file=sys.stderr)
    return 1 if missing or any(entry.failures for entry in entries.values()) else 0


def _chosen(names: Sequence[str]) -> list[Campaign]:
    """Return the campaigns that are named; without names all of which a round is short."""
    return [CAMPAIGNS[name] for name in names] or [each for each in CAMPAIGNS.values() if not each.only_named]


def _run(campaigns: Sequence[Campaign], entries: dict[str, tally.Entry], seconds: float) -> dict[str, str]:
    """Add rounds to *entries*, one of each campaign in turn; return the campaigns that could not run, with the reason.

    A campaign that has reached its goal has no turn while another has not.
    """
    missing: dict[str, str] = {}
    end = time.monotonic() + seconds
    while left := [each for each in campaigns if each.name not in missing]:
        for campaign in [each for each in left if _tried(each, entries) < each.goal] or left:
            began = time.monotonic()
            if began >= end:
                return missing
            try:
                done = campaign.run(entries.get(campaign.name, tally.Entry()).seed)
            except MissingError as error:
                missing[campaign.name] = str(error)
                continue
            entry = entries.setdefault(campaign.name, tally.Entry())
            entry.add(done, time.monotonic() - began)
            tally.save(entries)
            print(
                f"{campaign.name}: seed {entry.seed - 1}, {entry.tried:,} tried, {len(entry.failures)} failed", file=sys.stderr, flush=True
            )
    return missing


def _tried(campaign: Campaign, entries: dict[str, tally.Entry]) -> int:
    return entries[campaign.name].tried if campaign.name in entries else 0


if __name__ == "__main__":
    sys.exit(main())
