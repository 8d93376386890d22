"""Scores as the scheduling framework normalises them."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler_core.plugins.base import normalised


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
