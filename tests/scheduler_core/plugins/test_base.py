"""What all plugins share: normalised scores, and which refusals an eviction can remove."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler_core.plugins.base import StaticPlugin, normalised


@pytest.mark.parametrize(
    ("scores", "reverse", "want"),
    [
        ([0, 1, 3], False, [0, 33, 100]),
        ([0, 1, 3], True, [100, 67, 0]),
        ([0, 0], False, [0, 0]),
        ([0, 0], True, [100, 100]),
    ],
)
def test_scores_are_scaled_to_the_largest(scores, reverse, want):
    """pkg/scheduler/framework/plugins/helper, DefaultNormalizeScore."""
    assert want == normalised(np.array(scores, dtype=np.int64), reverse=reverse).tolist()


def test_no_eviction_removes_a_refusal_that_depends_on_shape_and_node_alone():
    """framework.UnschedulableAndUnresolvable, as NodeAffinity, TaintToleration and NodeUnschedulable return it."""
    assert not StaticPlugin.resolvable("node(s) didn't match Pod's node affinity/selector")
