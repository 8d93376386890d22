"""Changes of a Pod with one container ``main``, at dotted paths: mistakes that people make in pods, and valid values beside them."""

from __future__ import annotations

from typing import Any

Changes = dict[str, Any]
_MAIN = "spec.containers.0."
_CONTEXT, _OWN_CONTEXT = "spec.securityContext", f"{_MAIN}securityContext"
_TCP = {"tcpSocket": {"port": 80}}
_EXIT = {"operator": "In", "values": [1]}
_CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def _volume(**source: Any) -> Changes:
    return {"spec.volumes": [{"name": "d", **source}]}


def _mount(**mount: Any) -> Changes:
    return {**_volume(emptyDir={}), f"{_MAIN}volumeMounts": [{"name": "d", "mountPath": "/d", **mount}]}


def _device(*paths: str, **source: Any) -> Changes:
    return {**_volume(**source), f"{_MAIN}volumeDevices": [{"name": "d", "devicePath": each} for each in paths]}


def _init(**fields: Any) -> Changes:
    return {"spec.initContainers": [{"name": "i", "image": "i", **fields}]}


def _variable(**source: Any) -> Changes:
    return {f"{_MAIN}env": [{"name": "A", "valueFrom": source}]}


def _ephemeral(**claim: Any) -> Changes:
    return _volume(ephemeral={"volumeClaimTemplate": {"spec": {**_CLAIM, **claim}}})


def _projected(*sources: Changes) -> Changes:
    return _volume(projected={"sources": [*sources]})


def _file(**fields: Any) -> Changes:
    return _volume(downwardAPI={"items": [fields]})


_LABELS = {"fieldRef": {"fieldPath": "metadata.labels"}}
POD_CHANGES: dict[str, Changes] = {
    # Names in the network
    "no name server without those of the cluster": {"spec.dnsPolicy": "None"},
    "an empty list of name servers": {"spec.dnsPolicy": "None", "spec.dnsConfig": {"searches": ["a"]}},
    "a name server of one's own": {"spec.dnsPolicy": "None", "spec.dnsConfig": {"nameservers": ["192.0.2.1"], "searches": ["a_b.c.", "."]}},
    "four name servers": {"spec.dnsConfig": {"nameservers": ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"]}},
    "an invalid search domain": {"spec.dnsConfig": {"searches": ["a b"]}},
    "a host name and its domain": {"spec.hostnameOverride": "a.b", "spec.setHostnameAsFQDN": True},
    "an upper-case host name": {"spec.hostnameOverride": "A"},
    # Images
    "an image with a trailing blank": {f"{_MAIN}image": "registry.example/main:1 "},
    "an image with a line break": _init(image="registry.example/init:1\n"),
    # Security
    "privileged without escalation": {_OWN_CONTEXT: {"privileged": True, "allowPrivilegeEscalation": False}},
    "an administrator without escalation": {_OWN_CONTEXT: {"capabilities": {"add": ["CAP_SYS_ADMIN"]}, "allowPrivilegeEscalation": False}},
    "an administrator by the short name": {_OWN_CONTEXT: {"capabilities": {"add": ["SYS_ADMIN"]}, "allowPrivilegeEscalation": False}},
    "an unmasked proc": {_OWN_CONTEXT: {"procMount": "Unmasked"}},
    "a seccomp profile without its file": {_OWN_CONTEXT: {"seccompProfile": {"type": "Localhost"}}},
    "a seccomp profile by an absolute path": {_CONTEXT: {"seccompProfile": {"type": "Localhost", "localhostProfile": "/x"}}},
    "the default seccomp profile with a file": {_CONTEXT: {"seccompProfile": {"type": "RuntimeDefault", "localhostProfile": "x"}}},
    "the default seccomp profile": {_CONTEXT: {"seccompProfile": {"type": "RuntimeDefault"}}},
    "an AppArmor profile without its name": {_OWN_CONTEXT: {"appArmorProfile": {"type": "Localhost"}}},
    "a negative group": {_CONTEXT: {"supplementalGroups": [-1]}},
    "a misspelt policy of groups": {_CONTEXT: {"fsGroupChangePolicy": "onRootMismatch"}},
    "a misspelt SELinux policy": {_CONTEXT: {"seLinuxChangePolicy": "recursive"}},
    "a sysctl": {_CONTEXT: {"sysctls": [{"name": "net.core.somaxconn", "value": "1"}]}},
    "a sysctl of the host": {"spec.hostNetwork": True, _CONTEXT: {"sysctls": [{"name": "net.core.somaxconn", "value": "1"}]}},
    "an invalid sysctl": {_CONTEXT: {"sysctls": [{"name": "net core", "value": "1"}]}},
    "a misspelt operating system": {"spec.os": {"name": "Linux"}},
    "a user number on windows": {"spec.os": {"name": "windows"}, _CONTEXT: {"runAsUser": 1}},
    "options of windows on linux": {"spec.os": {"name": "linux"}, _CONTEXT: {"windowsOptions": {"runAsUserName": "x"}}},
    "users of its own with processes of the host": {"spec.hostUsers": False, "spec.hostPID": True},
    "a profile for no container": {"metadata.annotations": {"container.apparmor.security.beta.kubernetes.io/other": "runtime/default"}},
    "a deletion cost that is no number": {"metadata.annotations": {"controller.kubernetes.io/pod-deletion-cost": "high"}},
    # Resources
    "a pod with less than its containers": {"spec.resources": {"requests": {"cpu": "500m"}}},
    "a pod with a limit below that of a container": {"spec.resources": {"limits": {"cpu": "500m"}}},
    "a pod with more than its containers": {"spec.resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "3"}}},
    "a limit of null below the request": {f"{_MAIN}resources": {"limits": {"cpu": None}, "requests": {"cpu": "1"}}},
    "a limit and a request of null": {f"{_MAIN}resources": {"limits": {"cpu": None}, "requests": {"cpu": None}}},
    "a label and an annotation of null": {"metadata.labels": {"a": None}, "metadata.annotations": {"b": None}},
    "huge pages in parts": {f"{_MAIN}resources": {"limits": {"hugepages-2Mi": "3Mi", "cpu": "1"}}},
    "a device with the prefix of a quota": {f"{_MAIN}resources": {"limits": {"requests.nvidia.com/gpu": "1"}}},
    "a claim to devices twice": {
        "spec.resourceClaims": [{"name": "x", "resourceClaimName": "y"}],
        f"{_MAIN}resources.claims": [{"name": "x"}, {"name": "x"}],
    },
    "a misspelt resize policy": {f"{_MAIN}resizePolicy": [{"resourceName": "cpu", "restartPolicy": "Restart"}]},
    "a resize that restarts a pod which never does": {
        "spec.restartPolicy": "Never",
        f"{_MAIN}resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}],
    },
    # Probes, handlers and restarts
    "a probe with two handlers": {f"{_MAIN}livenessProbe": {**_TCP, "exec": {"command": ["a"]}}},
    "an invalid header": {f"{_MAIN}livenessProbe": {"httpGet": {"port": 80, "httpHeaders": [{"name": "a b", "value": "c"}]}}},
    "two successes of a liveness probe": {f"{_MAIN}livenessProbe": {**_TCP, "successThreshold": 2}},
    "a sleep before the end": {f"{_MAIN}lifecycle": {"preStop": {"sleep": {"seconds": 30}}}},
    "a sleep after the end": {f"{_MAIN}lifecycle": {"preStop": {"sleep": {"seconds": 60}}}},
    "a longer end for a sleep": {f"{_MAIN}lifecycle": {"preStop": {"sleep": {"seconds": 60}}}, "spec.terminationGracePeriodSeconds": 60},
    "a misspelt restart of an init container": _init(restartPolicy="always"),
    "a restart rule": {f"{_MAIN}restartPolicy": "Never", f"{_MAIN}restartPolicyRules": [{"action": "Restart", "exitCodes": _EXIT}]},
    "a restart rule without a policy": {f"{_MAIN}restartPolicyRules": [{"action": "Restart", "exitCodes": _EXIT}]},
    "a restart rule without exit codes": {f"{_MAIN}restartPolicy": "Never", f"{_MAIN}restartPolicyRules": [{"action": "Restart"}]},
    # Environment
    "a variable with an equals sign": {f"{_MAIN}env": [{"name": "A=b"}]},
    "a prefix with an equals sign": {f"{_MAIN}envFrom": [{"prefix": "A=", "configMapRef": {"name": "c"}}]},
    "an amount in an unknown unit": _variable(resourceFieldRef={"resource": "limits.memory", "divisor": "1MB"}),
    "an amount in cores": _variable(resourceFieldRef={"resource": "limits.cpu", "divisor": "2"}),
    "an amount in megabytes": _variable(resourceFieldRef={"resource": "limits.memory", "divisor": "1Mi"}),
    "a variable with an invalid label": _variable(fieldRef={"fieldPath": "metadata.labels['a b']"}),
    "a variable with an upper-case annotation": _variable(fieldRef={"fieldPath": "metadata.annotations['A']"}),
    "a file of an unknown volume": _variable(fileKeyRef={"volumeName": "z", "path": "p", "key": "K"}),
    # Volumes
    "a volume without a source": _volume(),
    "two mounts at a path": {
        **_volume(emptyDir={}),
        f"{_MAIN}volumeMounts": [{"name": "d", "mountPath": "/d"}, {"name": "d", "mountPath": "/d"}],
    },
    "a path that leads up": _mount(subPathExpr="a/../b"),
    "a mount in both directions": _mount(mountPropagation="Bidirectional"),
    "a misspelt propagation": _mount(mountPropagation="hostToContainer"),
    "a recursive mount that can be written": _mount(recursiveReadOnly="Enabled"),
    "a block device of an empty directory": _device("/x", emptyDir={}),
    "a block device of a claim": _device("/x", persistentVolumeClaim={"claimName": "c"}),
    "a block device twice": _device("/x", "/y", persistentVolumeClaim={"claimName": "c"}),
    "a negative size": _volume(emptyDir={"sizeLimit": "-1Gi"}),
    "a file outside of its volume": _volume(configMap={"name": "c", "items": [{"key": "a", "path": "../b"}]}),
    "a file with an absolute path": _volume(secret={"secretName": "c", "items": [{"key": "a", "path": "/b"}]}),
    "a mode of a file that is not octal": _volume(configMap={"name": "c", "items": [{"key": "a", "path": "b", "mode": 644}]}),
    "labels in a file": _file(path="labels", **_LABELS),
    "a file without a field": _file(path="labels"),
    "a field of the node in a file": _file(path="node", fieldRef={"fieldPath": "spec.nodeName"}),
    "an amount of no container in a file": _file(path="cpu", resourceFieldRef={"resource": "limits.cpu"}),
    "two projected sources in one": _projected({"configMap": {"name": "a"}, "secret": {"name": "b"}}),
    "two projected files at a path": _projected(
        {"configMap": {"name": "a", "items": [{"key": "k", "path": "p"}]}}, {"secret": {"name": "b", "items": [{"key": "k", "path": "p"}]}}
    ),
    "projected labels": _projected({"downwardAPI": {"items": [{"path": "x", **_LABELS}]}}),
    "an ephemeral volume of null": _ephemeral(resources={"requests": {"storage": None}}),
    "an ephemeral volume of no size": _ephemeral(resources={"requests": {"storage": "0"}}),
    "an ephemeral volume for one pod and for many": _ephemeral(accessModes=["ReadWriteOncePod", "ReadWriteMany"]),
    "an ephemeral volume with a name": _volume(ephemeral={"volumeClaimTemplate": {"metadata": {"name": "x"}, "spec": _CLAIM}}),
    # Placement
    "a comparison with a text": {"spec.tolerations": [{"key": "a", "operator": "Gt", "value": "high"}]},
    "the same key and not the same key": {
        "spec.affinity": {
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"labelSelector": {}, "topologyKey": "zone", "matchLabelKeys": ["x"], "mismatchLabelKeys": ["x"]}
                ]
            }
        }
    },
    "one port of the host in two containers": {
        "spec.hostNetwork": True,
        "spec.containers": [{"name": name, "image": "i", "ports": [{"containerPort": 80}]} for name in ("main", "side")],
    },
    # Metadata
    "a finalizer without a domain": {"metadata.finalizers": ["mine"]},
    "two controllers": {
        "metadata.ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": name, "controller": True} for name in ("a", "b")
        ]
    },
}
