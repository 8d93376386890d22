"""Objects of the lookup as the API server sends them."""

from __future__ import annotations


def group(name, version="1", parent=None, **metadata):
    spec = {"schedulingPolicy": {"basic": {}}} | ({"parentCompositePodGroupName": parent} if parent else {})
    return {"metadata": {"name": name, "namespace": "a", "resourceVersion": version, **metadata}, "spec": spec}
