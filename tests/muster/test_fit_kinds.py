"""Golden answers of ``muster fit`` to manifests of every kind that creates pods."""

from __future__ import annotations

import pytest
import yaml

from tests.muster.fit_cases import CASES, answer, golden
from workloadbuilder.adapters import kinds

OF_MEMBERS = {("scheduling.volcano.sh", "PodGroup"), ("scheduling.x-k8s.io", "PodGroup"), ("scheduling.run.ai", "PodGroup")}
"""Kinds without a pod template."""
ALIKE = {("kubeflow.org", "XGBoostJob"), ("kubeflow.org", "PaddleJob"), ("kubeflow.org", "JAXJob"), ("", "ReplicationController")}
"""Kinds that differ from a kind of the table only in names."""


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_answer_is_the_golden_one(path):
    """Where this fails, ``python -m tests.muster.fit_cases`` writes the answers anew."""
    assert golden(path).read_text(encoding="utf-8") == answer(path)


def test_every_kind_has_a_case():
    documents = [each for path in CASES for each in yaml.safe_load_all(path.read_text(encoding="utf-8"))]
    shown = {(each["apiVersion"].rpartition("/")[0], each["kind"]) for each in documents}
    assert set() == {*kinds.KINDS, *kinds.SINGLE} - shown - OF_MEMBERS - ALIKE


def test_both_versions_of_mpi_jobs_have_a_case():
    documents = [each for path in CASES for each in yaml.safe_load_all(path.read_text(encoding="utf-8"))]
    assert {"kubeflow.org/v1", "kubeflow.org/v2beta1"} == {each["apiVersion"] for each in documents if each["kind"] == "MPIJob"}
