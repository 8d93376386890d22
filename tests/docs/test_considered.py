"""The table of what ``muster fit`` considers names options that exist, and pages that describe each part."""

from __future__ import annotations

import re

import pytest

from expansion.managed_clusters import MANAGED_CLUSTERS
from muster.commands.fit.command import fit
from tests.docs.pages import DOCS

PARTS = {
    *("admission plugins", "autoscalers", "ClusterQueue quotas", "controllers", "devices", "LimitRanges", "other pods", "ResourceQuotas"),
    *("scheduler configuration", "shares of GPUs", "time", "validation", "versions", "volumes"),
}
PAGE = (DOCS / "fit.md").read_text(encoding="utf-8")


def rows(heading: str, columns: int) -> list[list[str]]:
    """Return the cells of each row of the first table below a heading of the page."""
    _, _, rest = PAGE.partition(f"\n{heading}\n")
    lines = [line for line in rest.partition("\n#")[0].splitlines() if line.startswith("|")]
    found = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]
    assert {columns} == {len(each) for each in found}
    return found


CONSIDERED = rows("## What is considered", 4)


def test_every_part_has_one_row() -> None:
    assert sorted(PARTS) == sorted(row[0] for row in CONSIDERED)


@pytest.mark.parametrize("row", CONSIDERED, ids=lambda row: row[0])
def test_a_row_says_what_is_and_what_is_not_considered_and_where_that_is_described(row: list[str]) -> None:
    _, considered, ignored, described = row
    assert considered != ignored
    links = re.findall(r"\[([^\]]+)\]\(([\w./-]*)(?:#([\w-]+))?\)", described)
    assert ", ".join(f"[{text}]({file}{f'#{anchor}' if anchor else ''})" for text, file, anchor in links) == described
    for text, file, anchor in links:
        headings = re.findall(r"^#+ (.+)$", (DOCS / (file or "fit.md")).read_text(encoding="utf-8"), re.MULTILINE)
        # A link has the words of the heading that it leads to.
        assert text in headings
        assert not anchor or anchor == re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def test_options_in_the_table_are_those_of_the_command() -> None:
    named = {option for row in CONSIDERED for cell in row for option in re.findall(r"`(--[\w-]+)", cell)}
    assert {"--admission-plugins", "--platform", "--kubernetes", "--no-pods"} < named
    assert named <= {option for parameter in fit.params for option in parameter.opts}


def test_platforms_are_those_of_the_option_with_their_plugins_and_sources() -> None:
    listed = {row[0].strip("`"): row[1:] for row in rows("### Managed clusters", 4)}
    assert [*listed] == [*MANAGED_CLUSTERS]
    for name, (plugins, source, date) in listed.items():
        preset = MANAGED_CLUSTERS[name]
        assert sorted(preset.plugins) == re.findall(r"`(\w+)`", plugins)
        assert f"]({preset.source})" in source
        assert preset.as_of == date
