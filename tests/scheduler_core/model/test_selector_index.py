"""Index of selectors: the candidates have all selectors that match, and of many only few others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.model.selector_clause import SelectorClause
from scheduler_core.model.selector_index import SelectorIndex
from scheduler_core.model.selectors import admits

_KEYS, _VALUES, _SPACES = st.sampled_from(["a", "b", "c"]), st.sampled_from(["x", "y"]), st.sampled_from(["s", "t"])
_CLAUSES = st.one_of(
    st.builds(SelectorClause, _KEYS, st.just("In"), st.frozensets(_VALUES, min_size=1)),
    st.builds(SelectorClause, _KEYS, st.just("NotIn"), st.frozensets(_VALUES, min_size=1)),
    st.builds(SelectorClause, _KEYS, st.sampled_from(["Exists", "DoesNotExist"])),
)
_SELECTORS = st.tuples(st.one_of(st.none(), st.lists(_CLAUSES, max_size=3).map(tuple)), st.one_of(st.just(""), _SPACES))


@given(st.lists(_SELECTORS, max_size=8), _SPACES, st.dictionaries(_KEYS, _VALUES), st.integers(0, 8))
def test_selectors_that_match_are_candidates_and_those_of_other_namespaces_are_not(selectors, namespace, labels, first):
    index = SelectorIndex()
    for clauses, space in selectors:
        index.add(clauses, space)
    candidates = index.candidates(namespace, labels, first)
    matching = [
        number
        for number, (clauses, space) in enumerate(selectors)
        if space in ("", namespace) and number >= first and admits(clauses, labels)
    ]
    assert candidates == sorted(set(candidates))
    assert [each for each in candidates if selectors[each][1] in ("", namespace) and admits(selectors[each][0], labels)] == matching
    assert all(number >= first and selectors[number][1] in ("", namespace) for number in candidates)


def test_of_many_selectors_those_with_a_label_of_the_object_are_candidates():
    index = SelectorIndex()
    for number in range(100):
        index.add((SelectorClause("all", "In", frozenset({"yes"})), SelectorClause("one", "In", frozenset({f"v{number}"}))), "s")
    assert index.candidates("s", {"all": "yes", "one": "v7"}) in ([7], [0, 7])
