"""How long a root is left alone."""

from __future__ import annotations

import pytest

from scheduler_core.sidecar.queue import backoff


@pytest.mark.parametrize(
    ("attempts", "pods", "want"),
    [
        pytest.param(1, 1, 1.0, id="a pod, the first time"),
        pytest.param(2, 1, 2.0, id="twice as long"),
        pytest.param(4, 1, 8.0, id="and again"),
        pytest.param(5, 1, 10.0, id="up to ten seconds"),
        pytest.param(5000, 1, 10.0, id="however often"),
        pytest.param(1, 8, 1.0, id="a small group as a pod"),
        pytest.param(1, 16, 2.0, id="a group twice as large twice as long"),
        pytest.param(9, 64, 40.0, id="eight times as large four times as long"),
        pytest.param(9, 1024, 80.0, id="up to eight times"),
        pytest.param(9, 100_000, 80.0, id="however large"),
    ],
)
def test_wait_grows_with_failures_and_with_size(attempts, pods, want):
    assert want == backoff.seconds(attempts, pods)
