"""Catalog of the schemas in the form of SchemaStore, by which editors choose the schema of a file by its name.

Form: https://json.schemastore.org/schema-catalog.json.
"""

from __future__ import annotations

from typing import Any

from kubeapi.versions import served_versions
from validators.rules.base import GROUPS, WORKLOAD

_FORM = "https://json.schemastore.org/schema-catalog.json"
_SUFFIXES = ("yaml", "yml", "json")


def catalog(base: str) -> dict[str, Any]:
    """Return the catalog of schemas that are published below the URL *base*: of the configuration, and of groups and Workloads."""
    base = base.rstrip("/")
    configuration = {
        "name": "Muster",
        "description": "Configuration of muster lint, a linter of Kubernetes workload groups",
        "fileMatch": [".muster.yaml"],
        "url": f"{base}/muster.json",
    }
    return {"$schema": _FORM, "version": 1, "schemas": [configuration, *(_of_kind(kind, base) for kind in sorted(WORKLOAD | GROUPS))]}


def _of_kind(kind: str, base: str) -> dict[str, Any]:
    """Return the entry of a kind: its schema is one for all API groups and versions.

    Manifests have no names of their own: only a suffix with the kind is matched.
    """
    name = kind.lower()
    url = f"{base}/muster-{name}.json"
    return {
        "name": f"Kubernetes {kind}",
        "description": f"{kind} of {' and '.join(served_versions.groups_of(kind))}",
        "fileMatch": [f"*.{name}.{suffix}" for suffix in _SUFFIXES],
        "url": url,
        "versions": {row.version: url for row in served_versions.current(kind)},
    }
