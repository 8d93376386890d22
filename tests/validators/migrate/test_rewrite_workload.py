"""Text of a migrated Workload."""

from __future__ import annotations

import pytest

from tests.validators.migrate.migrating import migrate, text_of
from tests.validators.migrate.texts import HEAD, HEAD_AFTER, block


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            """
            # before
            spec:   # one
              # two
              podGroups:   # three
              - name: a   # four
                # five
                policy:   # six
                  # seven
                  gang: {minCount: 2}   # eight

            # nine
            """,
            """
            # before
            spec:   # one
              # two
              podGroupTemplates:   # three
              - name: a   # four
                # five
                schedulingPolicy:   # six
                  # seven
                  gang: {minCount: 2}   # eight

            # nine
            """,
            id="comments and blanks stay",
        ),
        pytest.param(
            """
            spec:
                podGroups:
                    -   policy:
                            basic:   # one
                                # two
                                desiredCount: 3   # three
                                # four
                        name: a
            """,
            """
            spec:
                podGroupTemplates:
                    -   schedulingPolicy:
                            basic: {}   # one
                                # two
                                # three
                                # four
                        name: a
            """,
            id="a mapping that loses its only field keeps its comments",
        ),
        pytest.param(
            """
            spec: {podGroups: [{policy: {basic: {desiredCount: 3}}, name: a}, {name: b, policy: {basic: {}}}]}
            """,
            """
            spec: {podGroupTemplates: [{schedulingPolicy: {basic: {}}, name: a}, {name: b, schedulingPolicy: {basic: {}}}]}
            """,
            id="flow style",
        ),
        pytest.param(
            """
            "spec": {'podGroups': [{"name":"a","policy":{"gang":{"minCount":2}}}]}
            """,
            """
            "spec": {"podGroupTemplates": [{"name":"a","schedulingPolicy":{"gang":{"minCount":2}}}]}
            """.replace('"podGroupTemplates"', "'podGroupTemplates'"),
            id="quotes",
        ),
        pytest.param(
            """
            ? spec
            : ? podGroups
              : - ? name
                  : a
                  ? policy
                  : basic:
                      desiredCount: 3
            """,
            """
            ? spec
            : ? podGroupTemplates
              : - ? name
                  : a
                  ? schedulingPolicy
                  : basic: {}
            """,
            id="keys written with a question mark",
        ),
    ],
)
def test_a_workload_of_v1alpha1(before: str, after: str) -> None:
    assert HEAD_AFTER + block(after) == text_of(migrate(HEAD + block(before)))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            """
            spec:
              podGroups:
              - name: a
                policy: {basic: &basic {desiredCount: 3}}
              - name: b
                policy:
                  basic: *basic
            """,
            """
            spec:
              podGroupTemplates:
              - name: a
                schedulingPolicy: {basic: &basic {}}
              - name: b
                schedulingPolicy:
                  basic: *basic
            """,
            id="an alias of what becomes empty",
        ),
        pytest.param(
            """
            spec:
              podGroups:
              - name: a
                policy:
                  basic: &basic  # one
                    desiredCount: 3
            """,
            """
            spec:
              podGroupTemplates:
              - name: a
                schedulingPolicy:
                  basic: &basic {}  # one
            """,
            id="an anchor of what becomes empty",
        ),
        pytest.param(
            """
            ? spec
            : podGroups:
              - name: a
                policy: {gang: {minCount: 2}}
            """,
            """
            ? spec
            : podGroupTemplates:
              - name: a
                schedulingPolicy: {gang: {minCount: 2}}
            """,
            id="a key in the line of a colon",
        ),
    ],
)
def test_odd_ways_to_write_a_workload(before: str, after: str) -> None:
    assert HEAD_AFTER + block(after) == text_of(migrate(HEAD + block(before)))
