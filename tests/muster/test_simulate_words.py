"""Lists and long texts in a few lines."""

# ruff: noqa: RUF001 - the multiplication sign is meant to be one

from __future__ import annotations

import pytest

from muster.render import phrases as words
from validators.reports import counts


@pytest.mark.parametrize(
    ("parts", "room", "want"),
    [
        pytest.param(["a", "b", "c"], 7, "a, b, c", id="all that just fit"),
        pytest.param(["a", "b", "c"], 6, "a … and 2 more", id="one column too few"),
        pytest.param(["long-name", "b"], 3, "long-name … and 1 more", id="one in any case"),
        pytest.param([f"node-{n}" for n in range(9)], 40, "node-0, node-1, node-2 … and 6 more", id="as many as fit"),
        pytest.param([f"n{n}" for n in range(5000)], 30, "n0, n1, n2 … and 4,997 more", id="thousands"),
        pytest.param([], 10, "", id="none"),
    ],
)
def test_lists_are_cut_where_they_do_not_fit(parts, room, want):
    assert want == words.fitting(parts, room)


@pytest.mark.parametrize("room", range(1, 60))
def test_what_is_shown_of_a_list_fits_and_is_as_much_as_fits(room):
    parts = [f"node-{number}" for number in range(30)]
    text = words.fitting(parts, room)
    shown = text.count("node-")

    assert len(text) <= room or shown == 1
    assert shown == 30 or len(f"{', '.join(parts[: shown + 1])} … and {30 - shown - 1} more") > room - 1


@pytest.mark.parametrize(
    ("counts", "room", "want"),
    [
        pytest.param({"n1": 1, "n2": 2}, 50, "n1, n2 ×2", id="how many pods where several"),
        pytest.param({"n10": 1, "n2": 1, "n1": 1}, 50, "n1, n2, n10", id="in the order of their numbers"),
        pytest.param({f"n{n}": 1000 for n in range(12)}, 40, "12 nodes: n0 to n11 ×1,000", id="numbered one after the other"),
        pytest.param({f"n{n}": 1 + n % 2 for n in range(9, 13)}, 20, "4 nodes: n9 ×2 … and 3 more", id="a run has one number of pods"),
        pytest.param({f"n-{n:02}": 1 for n in (8, 9, 10, 11, 12, 14)}, 30, "6 nodes: n-08 to n-12, n-14", id="a run has no gap"),
        pytest.param({f"{name}-1": 1 for name in "abcde"}, 22, "5 nodes: a-1 … and 4 more", id="how many nodes where not all are named"),
        pytest.param(
            {"a": 1, "b1": 1, "b2": 1, "b3": 1}, 10, "4 nodes: a … and 3 more", id="those of a run that is not named count one by one"
        ),
    ],
)
def test_nodes_are_named_with_how_many_pods_they_get(counts, room, want):
    assert want == words.nodes(counts, room)


@pytest.mark.parametrize(
    ("count", "want"),
    [
        pytest.param(1, "p-0", id="one"),
        pytest.param(4, "p-0, p-1, p-2, p-3", id="four are named"),
        pytest.param(5, "p-0, p-1, p-2 and 2 more", id="of five three"),
    ],
)
def test_pods_are_named_as_far_as_they_are_few(count, want):
    assert want == words.pods([f"ns/p-{n}" for n in range(count)], every=False)


def test_every_pod_is_named_on_request():
    assert words.pods([f"ns/p-{n}" for n in range(6)], every=True) == "p-0, p-1, p-2, p-3, p-4, p-5"


def test_names_cannot_steer_a_terminal():
    assert words.pods(["ns/\x1b[31m"], every=False) == "\\x1b[31m"
    assert words.nodes({"\x07": 1}, 50) == "\\x07"
    assert words.folded("a\u202eb", "") == ["a\\u202eb"]


def test_long_texts_are_folded_and_hang():
    lines = words.folded("word " * 40, "    ")

    assert [line for line in lines if len(line) > words.WIDTH] == []
    assert (lines[0][:8], lines[1][:8]) == ("    word", "      wo")


def test_a_word_longer_than_a_line_stays_whole():
    assert words.folded("x" * 200, "  ") == ["  " + "x" * 200]


@pytest.mark.parametrize(("number", "want"), [(0, "0 pods"), (1, "1 pod"), (2, "2 pods"), (5000, "5,000 pods")])
def test_numbers_have_their_noun(number, want):
    assert want == counts.counted(number, "pod")
