"""Heads and blocks of manifests to migrate."""

from __future__ import annotations

import textwrap

HEAD = "apiVersion: scheduling.k8s.io/v1alpha1\nkind: Workload\nmetadata: {name: train}\n"
HEAD_AFTER = HEAD.replace("v1alpha1", "v1beta1")
HEAD_2 = "apiVersion: scheduling.k8s.io/v1alpha2\nkind: PodGroup\nmetadata: {name: workers}\n"
HEAD_2_AFTER = HEAD_2.replace("v1alpha2", "v1beta1")
POLICY = "  schedulingPolicy: {basic: {}}\n"


def block(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")
