"""Volumes of pods: sources of all kinds, and the claims that they create."""

from __future__ import annotations

import pytest

from tests.validators.whole_objects import pod_errors

LONG = "a" * 64
IQN = "iqn.2026-11.com.example:storage"
DISK = {"diskName": "d", "diskURI": "https://a.blob.core.windows.net/c/d.vhd"}
MANAGED = {"diskName": "d", "diskURI": "/subscriptions/s/resourcegroups/g/providers/microsoft.compute/disks/d", "kind": "Managed"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"fc": {"targetWWNs": ["a"], "lun": 255}}, set()),
        ({"fc": {"wwids": ["a"]}}, set()),
        ({"fc": {}}, {("targetWWNs", "Required")}),
        ({"fc": {"targetWWNs": ["a"], "wwids": ["b"]}}, {("targetWWNs", "Invalid"), ("lun", "Required")}),
        ({"fc": {"targetWWNs": ["a"], "lun": 256}}, {("lun", "Invalid")}),
        ({"quobyte": {"registry": "a:1,[::1]:2", "volume": "v"}}, set()),
        ({"quobyte": {"registry": "a:1,b", "volume": "v"}}, {("registry", "Invalid")}),
        ({"quobyte": {"registry": "a", "volume": "v", "tenant": "t" * 65}}, {("tenant", "Required")}),
        ({"iscsi": {"targetPortal": "p", "iqn": IQN, "lun": 255, "initiatorName": "eui." + "a" * 16}}, set()),
        ({"iscsi": {"targetPortal": "p", "iqn": "naa." + "a" * 32, "lun": 256}}, {("lun", "Invalid")}),
        ({"iscsi": {"targetPortal": "p", "iqn": "iqn.x", "lun": 0, "initiatorName": "x"}}, {("iqn", "Invalid"), ("initiatorName", "Invalid")}),
        ({"iscsi": {"targetPortal": "", "iqn": "", "lun": 0}}, {("targetPortal", "Required"), ("iqn", "Required")}),
        ({"iscsi": {"targetPortal": "p", "iqn": IQN, "lun": 0, "chapAuthSession": True}}, {("secretRef", "Required")}),
        ({"iscsi": {"targetPortal": LONG, "iqn": IQN, "lun": 0, "initiatorName": IQN}}, {("name", "Invalid")}),
        ({"azureDisk": DISK}, set()),
        ({"azureDisk": MANAGED}, set()),
        ({"azureDisk": {**DISK, "kind": "Managed"}}, {("diskURI", "NotSupported")}),
        ({"azureDisk": {**MANAGED, "kind": "Shared"}}, {("diskURI", "NotSupported")}),
        ({"azureDisk": {"diskName": "", "diskURI": ""}}, {("diskName", "Required"), ("diskURI", "Required"), ("diskURI", "NotSupported")}),
        ({"nfs": {"server": "s", "path": "/p"}}, set()),
        ({"nfs": {"server": "s", "path": ""}}, {("path", "Required"), ("path", "Invalid")}),
        ({"glusterfs": {"endpoints": "e", "path": ""}}, {("path", "Required")}),
        ({"gitRepo": {"repository": "r", "directory": "../d"}}, {("directory", "Invalid")}),
        ({"flocker": {"datasetName": "a"}}, set()),
        ({"flocker": {}}, {("", "Required")}),
        ({"flocker": {"datasetName": "a/b", "datasetUUID": "u"}}, {("", "Invalid"), ("datasetName", "Invalid")}),
        ({"storageos": {"volumeName": "V", "secretRef": {}}}, {("volumeName", "Invalid"), ("secretRef.name", "Required")}),
        ({"cinder": {"volumeID": "i", "secretRef": {"name": ""}}}, {("secretRef.name", "Required")}),
        ({"gcePersistentDisk": {"pdName": "d", "partition": 256}}, {("partition", "Invalid")}),
        ({"awsElasticBlockStore": {"volumeID": "", "partition": -1}}, {("volumeID", "Required"), ("partition", "Invalid")}),
        ({"flexVolume": {"driver": "d", "options": {"a.kubernetes.io/b": "c"}}}, {("options[a.kubernetes.io/b]", "Invalid")}),
        ({"flexVolume": {"driver": "d", "options": {"akubernetes.io/b": "c"}}}, set()),
        ({"csi": {"driver": "a" * 63}}, set()),
        ({"csi": {"driver": LONG}}, {("driver", "TooLong")}),
        ({"scaleIO": {"gateway": "g", "system": "s", "secretRef": {"name": "n"}, "volumeName": ""}}, {("volumeName", "Required")}),
        ({"rbd": {"monitors": [], "image": ""}}, {("monitors", "Required"), ("image", "Required")}),
        ({"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "spec['a']"}}]}}, {("items[0].fieldRef.fieldPath", "Invalid")}),
        ({"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.labels['a']"}}]}}, set()),
        ({"configMap": {"name": "c", "items": [{"key": "k", "path": "p", "user": -1}], "defaultUser": 2**31}}, {("items[0].user", "Invalid"), ("defaultUser", "Invalid")}),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)  # fmt: skip
def test_sources(source, expected):
    (kind,) = source
    at = f"spec.volumes[0].{kind}"
    paths = {"": at, "name": "spec.volumes[0].name"}
    assert {(paths.get(path, f"{at}.{path}"), reason) for path, reason in expected} == pod_errors(volumes=[{"name": "v", **source}])


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
AT = "spec.volumes[0].ephemeral.volumeClaimTemplate.spec"
SNAPSHOT = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, set()),
        ({"accessModes": []}, {(".accessModes", "Required")}),
        ({"accessModes": ["ReadWriteOncePod", "ReadWriteOnce"]}, {(".accessModes", "Forbidden")}),
        ({"selector": {"matchLabels": {"a": "b c"}}}, {(".selector.matchLabels", "Invalid")}),
        ({"resources": {}}, {(".resources.requests.storage", "Required")}),
        ({"volumeAttributesClassName": "a/b", "storageClassName": ""}, {(".volumeAttributesClassName", "Invalid")}),
        ({"dataSource": SNAPSHOT, "dataSourceRef": SNAPSHOT}, set()),
        ({"dataSource": {"kind": "PersistentVolumeClaim", "name": "c"}}, set()),
        ({"dataSource": {"kind": "VolumeSnapshot", "name": ""}}, {(".dataSource", "Invalid"), (".dataSource.name", "Required")}),
        ({"dataSource": SNAPSHOT, "dataSourceRef": {**SNAPSHOT, "name": "other"}}, {("", "Invalid")}),
        ({"dataSource": SNAPSHOT, "dataSourceRef": {**SNAPSHOT, "namespace": "a"}}, {("", "Invalid")}),
        ({"dataSourceRef": {**SNAPSHOT, "namespace": "A", "apiGroup": "B"}}, {(".dataSourceRef.namespace", "Invalid"), (".dataSourceRef.apiGroup", "Invalid")}),
    ],
)  # fmt: skip
def test_claims_of_a_pod(spec, expected):
    volume = {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": CLAIM | spec}}}
    assert {(AT + path, reason) for path, reason in expected} == pod_errors(volumes=[volume])
