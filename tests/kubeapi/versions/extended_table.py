"""pytest plugin that adds rows to the table of API versions before any module has read it.

``scheduling.k8s.io/v1`` and a group of its own have Workloads, PodGroups and CompositePodGroups in the current form.
"""

from __future__ import annotations

import sys

from kubeapi.meta import replaced
from kubeapi.versions import api_versions
from kubeapi.versions.api_versions import ApiVersion, ServedKind

GROUP = "scheduling.example.dev"
STABLE, OTHER = "scheduling.k8s.io/v1", f"{GROUP}/v1"
KINDS = (
    ServedKind("Workload", 37, schema="workload-v1beta1"),
    ServedKind("PodGroup", 37, schema="podgroup-v1beta1"),
    ServedKind("CompositePodGroup", 37, schema="compositepodgroup-v1alpha3"),
)


def extended(row: ApiVersion) -> ApiVersion:
    return replaced(row, kinds=(*row.kinds, *KINDS)) if row.name == STABLE else row


def pytest_configure() -> None:
    assert "kubeapi.versions.served_versions" not in sys.modules
    api_versions.TABLE = (*map(extended, api_versions.TABLE), ApiVersion(GROUP, "v1", KINDS))
