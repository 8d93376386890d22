"""Validation of built-in kinds, compared with recorded answers of a real API server; and of pod templates in other kinds."""

from __future__ import annotations

import copy

import pytest

from tests.cluster.manifest_verdicts import MANIFESTS, recorded
from tests.validators.mutants import mutants
from tests.validators.whole_objects import OBJECTS, pod_errors, template
from validators.built_in import shapes, whole_objects
from validators.built_in.cron import schedule_error

ANSWERS = recorded()


def paths(manifest):
    return [str(each.path) for each in whole_objects.errors(copy.deepcopy(manifest))]


@pytest.mark.parametrize("name", MANIFESTS)
def test_verdicts_and_fields_are_those_of_the_api_server(name):
    mine, theirs = paths(MANIFESTS[name]), ANSWERS[name]
    assert bool(mine) == bool(theirs)
    if theirs and " " not in theirs[0]:
        assert mine[0].lower().split(".")[:2] == theirs[0].lower().split(".")[:2]


def test_the_table_has_valid_and_invalid_manifests():
    assert MANIFESTS.keys() == ANSWERS.keys()
    assert (12, 100) <= (sum(not each for each in ANSWERS.values()), sum(bool(each) for each in ANSWERS.values()))


@pytest.mark.parametrize("base", OBJECTS, ids=[each["kind"] for each in OBJECTS])
def test_whole_objects_are_valid_and_no_change_of_them_fails(base):
    assert paths(base) == []
    for _, changed in [*mutants(base)][::7]:
        whole_objects.errors(changed)


def job_set(**job):
    spec = {"replicatedJobs": [{"name": "w", "template": {"spec": {"template": template("Never"), **job}}}]}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "x"}, "spec": spec}


def leader_worker_set(policy):
    spec = {"leaderWorkerTemplate": {"size": 2, "workerTemplate": template(policy)}}
    return {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"name": "x"}, "spec": spec}


def ray(**pod):
    workers = {"groupName": "w", "replicas": 1, "minReplicas": 0, "maxReplicas": 2, "rayStartParams": {}, "template": template("")}
    workers["template"]["spec"] |= pod
    spec = {"headGroupSpec": {"rayStartParams": {}, "template": template("")}, "workerGroupSpecs": [workers]}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "x"}, "spec": spec}


JOBS = "spec.replicatedJobs[0].template.spec."
WORKER = "spec.workerGroupSpecs[0].template.spec."
OTHERS = {
    "a JobSet": (job_set(), []),
    "a JobSet whose pods restart": (job_set(template=template("Always")), [f"{JOBS}template.spec.restartPolicy"]),
    "an Indexed Job of a JobSet": (job_set(parallelism=2), [f"{JOBS}completions"]),
    "a misspelt field of a Job of a JobSet": (job_set(paralelism=2), [f"{JOBS}paralelism"]),
    "a LeaderWorkerSet": (leader_worker_set(""), []),
    "a LeaderWorkerSet whose pods end": (leader_worker_set("Never"), ["spec.leaderWorkerTemplate.workerTemplate.spec.restartPolicy"]),
    "a RayCluster": (ray(), []),
    "workers without an image": (ray(containers=[{"name": "a"}], volumes=[]), [f"{WORKER}containers[0].image"]),
    "workers with a misspelt selector": (ray(nodeSelecter={}), [f"{WORKER}nodeSelecter"]),
}


@pytest.mark.parametrize(("manifest", "want"), OTHERS.values(), ids=OTHERS)
def test_pod_templates_of_other_kinds_are_those_of_the_api_server(manifest, want):
    assert want == paths(manifest)


def test_claims_of_a_leader_worker_set_are_volumes():
    made = leader_worker_set("")
    pod = made["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]
    pod["containers"][0]["volumeMounts"] = [{"name": "models", "mountPath": "/models"}]
    want = ["spec.leaderWorkerTemplate.workerTemplate.spec.containers[0].volumeMounts[0].name"]
    assert want == paths(made)
    claim = {"metadata": {"name": "models"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    made["spec"]["leaderWorkerTemplate"]["volumeClaimTemplates"] = [claim]
    assert [] == paths(made)


VERSIONS = {
    ("", "Pod"): ("v1",),
    ("batch", "Job"): ("v1",),
    ("kubeflow.org", "MPIJob"): ("v1", "v2beta1"),
    ("kubeflow.org", "PyTorchJob"): ("v1",),
    ("ray.io", "RayCluster"): ("v1", "v1alpha1"),
    ("jobset.x-k8s.io", "JobSet"): ("v1alpha2",),
    ("example.com", "Job"): (),
}


@pytest.mark.parametrize(("kind", "want"), VERSIONS.items(), ids="/".join)
def test_served_versions(kind, want):
    assert want == shapes.versions_of(*kind)


def test_objects_of_unknown_kinds_have_no_errors():
    assert [] == whole_objects.errors({"apiVersion": "example.com/v1", "kind": "Job", "metadata": 3})


SCHEDULES = {
    "*/5 0-6/2 1,15 jan-mar sun": True,
    "? ? ? ? ?": True,
    "@daily": True,
    "@every 1h": True,
    "@dayly": False,
    "0 3 * *": False,
    "0 24 * * *": False,
    "0 3 0 * *": False,
    "5-1 * * * *": False,
    "*/0 * * * *": False,
    "0 3 * * 7": False,
    "0 3 * * monday": False,
    "1-2-3 * * * *": False,
}


@pytest.mark.parametrize(("schedule", "valid"), SCHEDULES.items())
def test_schedules(schedule, valid):
    assert valid == (not schedule_error(schedule))


CONTAINER = "spec.containers[0]."


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"resourceName": "", "restartPolicy": "x"}, {("resourceName", "Required"), ("restartPolicy", "NotSupported")}),
        ({"resourceName": "cpu", "restartPolicy": "NotRequired"}, set()),
    ],
)
def test_resize_policies_of_a_pod_that_restarts(policy, expected):
    found = pod_errors({"resizePolicy": [policy]})
    assert found == {(f"{CONTAINER}resizePolicy[0].{name}", reason) for name, reason in expected}


def test_a_resize_policy_of_a_pod_that_never_restarts_is_invalid_whatever_else_it_is():
    found = pod_errors({"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "x"}]}, restartPolicy="Never")
    assert found == {(CONTAINER + "resizePolicy[0].restartPolicy", reason) for reason in ("Invalid", "NotSupported")}


CLAIM, EMPTY = {"name": "v", "persistentVolumeClaim": {"claimName": "a"}}, {"name": "v", "emptyDir": {}}
TWICE = ("spec.volumes[1].name", "Duplicate")


@pytest.mark.parametrize(
    ("volumes", "device", "file"), [([CLAIM, EMPTY], False, False), ([EMPTY, CLAIM], True, True)], ids=["claim first", "claim last"]
)
def test_of_two_volumes_with_a_name_devices_have_the_first_and_files_the_last(volumes, device, file):
    reference = {"fileKeyRef": {"volumeName": "v", "path": "p", "key": "k"}}
    container = {"volumeDevices": [{"name": "v", "devicePath": "/d"}], "env": [{"name": "E", "valueFrom": reference}]}
    expected = {TWICE}
    if device:
        expected.add((CONTAINER + "volumeDevices[0].name", "Invalid"))
    if file:
        expected.add((CONTAINER + "env[0].valueFrom.fileKeyRef.volumeName", "Invalid"))
    assert pod_errors(container, volumes=volumes) == expected


def test_a_device_that_is_listed_twice_is_invalid():
    devices = [{"name": "v", "devicePath": path} for path in ("/d", "/e")]
    assert pod_errors({"volumeDevices": devices}, volumes=[CLAIM]) == {(CONTAINER + "volumeDevices[1].name", "Invalid")}


def test_keys_without_a_selector_are_forbidden_and_not_judged():
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "matchLabelKeys": ["-"]}
    at = "spec.topologySpreadConstraints[0].matchLabelKeys"
    assert pod_errors(topologySpreadConstraints=[constraint]) == {(at, "Forbidden")}
    assert pod_errors(topologySpreadConstraints=[{**constraint, "labelSelector": {}}]) == {(at + "[0]", "Invalid")}


PROJECTED = "spec.volumes[0].projected.sources[0]."
CERTIFICATE = {"signerName": "example.com/s", "keyType": "ED25519", "keyPath": "k"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"podCertificate": CERTIFICATE}, set()),
        ({"podCertificate": {**CERTIFICATE, "keyType": "DSA"}}, {("podCertificate.keyType", "NotSupported")}),
        ({"podCertificate": {**CERTIFICATE, "keyPath": ""}}, {("podCertificate", "Required")}),
        ({"podCertificate": {**CERTIFICATE, "keyPath": "/k"}}, {("podCertificate.keyPath", "Invalid")}),
        ({"podCertificate": {**CERTIFICATE, "maxExpirationSeconds": 7_862_400}}, set()),
        ({"podCertificate": {**CERTIFICATE, "maxExpirationSeconds": 7_862_401}}, {("podCertificate.maxExpirationSeconds", "Invalid")}),
        ({"podCertificate": {**CERTIFICATE, "maxExpirationSeconds": 3599}}, {("podCertificate.maxExpirationSeconds", "Invalid")}),
        (
            {"podCertificate": {**CERTIFICATE, "signerName": "kubernetes.io/s", "maxExpirationSeconds": 86_401}},
            {("podCertificate.maxExpirationSeconds", "Invalid")},
        ),
        *(
            ({"podCertificate": {**CERTIFICATE, "signerName": name}}, {("podCertificate.signerName", "Invalid")})
            for name in ("example.com", "example.com/a/b", "example/a", "Example.com/a", "example.com/A", "example..com/a")
        ),
        ({"podCertificate": {**CERTIFICATE, "signerName": ""}}, {("podCertificate.signerName", "Required")}),
        ({"podCertificate": {**CERTIFICATE, "signerName": f"{'a.' * 126}aa/b"}}, {("podCertificate.signerName", "TooLong")}),
        ({"clusterTrustBundle": {"signerName": "example", "path": "p"}}, {("clusterTrustBundle.signerName", "Invalid")}),
        ({"clusterTrustBundle": {"name": "b", "path": "p"}}, set()),
        ({"clusterTrustBundle": {"name": "example.com:s:b", "path": "p"}}, set()),
        *(
            ({"clusterTrustBundle": {"name": name, "path": "p"}}, {("clusterTrustBundle.name", "Invalid")})
            for name in ("B", ":b", "example.com/s:b", "example.com:s:-b")
        ),
        ({"clusterTrustBundle": {"path": "p"}}, {("clusterTrustBundle", "Required")}),
        ({"clusterTrustBundle": {"name": "b", "signerName": "example.com/s", "path": "p"}}, {("clusterTrustBundle", "Invalid")}),
        ({"clusterTrustBundle": {"name": "b", "labelSelector": {}, "path": "p"}}, {("clusterTrustBundle.labelSelector", "Invalid")}),
    ],
)
def test_projected_certificates_and_trust_bundles(source, expected):
    found = pod_errors(volumes=[{"name": "v", "projected": {"sources": [source]}}])
    assert found == {(PROJECTED + path, reason) for path, reason in expected}


def test_a_seccomp_profile_of_the_node_needs_its_type():
    at = "spec.securityContext.seccompProfile."
    found = pod_errors(securityContext={"seccompProfile": {"type": "", "localhostProfile": "p"}})
    assert found == {(at + "type", "Required"), (at + "localhostProfile", "Invalid")}


@pytest.mark.parametrize(("count", "expected"), [(255, set()), (256, {("FieldValueTooMany", 256)})])
def test_a_rule_of_a_job_has_at_most_255_exit_codes(count, expected):
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [*range(1, count + 1)]}}
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    spec = {"podFailurePolicy": {"rules": [rule]}, "template": template}
    found = whole_objects.errors({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": spec})
    assert {(str(each.type), each.value) for each in found} == expected
    assert {str(each.path) for each in found} <= {"spec.podFailurePolicy.rules[0].onExitCodes.values"}


@pytest.mark.parametrize("count", [20, 21])
def test_policies_of_a_job_have_at_most_twenty_rules(count):
    failure = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}] * count}
    container = {"name": "c", "image": "i"}
    spec = {
        "completions": 1,
        "completionMode": "Indexed",
        "successPolicy": {"rules": [{"succeededCount": 1}] * count},
        "podFailurePolicy": {"rules": [failure] * count},
        "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
    }
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": spec}
    conditions = [f"podFailurePolicy.rules[{number}].onPodConditions" for number in range(count)]
    expected = {f"spec.{each}" for each in ("successPolicy.rules", "podFailurePolicy.rules", *conditions)} if count > 20 else set()
    found = whole_objects.errors(job)
    assert {(str(each.path), str(each.type)) for each in found} == {(each, "FieldValueTooMany") for each in expected}


PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
GATED = {"schedulingGates": [{"name": "g"}], "nodeName": "n"}
FIELDS = f"spec.affinity.nodeAffinity.{PREFERRED}[0].preference.matchFields[0]"
GMSA = "spec.containers[0].securityContext.windowsOptions."
HOST_PROCESS = {"securityContext": {"windowsOptions": {"hostProcess": True}}}


def term(**requirement):
    return {"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": {"matchFields": [requirement]}}]}}


@pytest.mark.parametrize(
    ("container", "spec", "expected"),
    [
        ({}, {"affinity": term(key="metadata.name", operator="In", values=["A"])}, {(FIELDS + ".values[0]", "Invalid")}),
        ({}, {"affinity": term(key="a", operator="In", values=["A"])}, {(FIELDS + ".key", "Invalid")}),
        ({}, {"tolerations": [{"key": "a", "value": "b_"}]}, {("spec.tolerations[0].operator", "Invalid")}),
        ({}, {"preemptionPolicy": ""}, {("spec.preemptionPolicy", "Required")}),
        ({}, {"resourceClaims": [{"name": "", "resourceClaimName": "c"}]}, {("spec.resourceClaims[0].name", "Required")}),
        ({}, GATED, {("spec.nodeName", "Forbidden")}),
        (
            {"volumeMounts": [{"name": "v", "mountPath": "/v"}], "volumeDevices": [{"name": "v", "devicePath": "/d"}]},
            {"volumes": [CLAIM]},
            {(CONTAINER + f"{kind}[0].name", "Invalid") for kind in ("volumeMounts", "volumeDevices")},
        ),
        ({}, {"hostUsers": False, "hostNetwork": True}, {("spec.hostNetwork", "Forbidden")}),
        ({"securityContext": {"windowsOptions": {"gmsaCredentialSpecName": "-x"}}}, {}, {(GMSA + "gmsaCredentialSpecName", "Invalid")}),
        ({"securityContext": {"windowsOptions": {"gmsaCredentialSpec": ""}}}, {}, {(GMSA + "gmsaCredentialSpec", "Invalid")}),
        ({"securityContext": {"windowsOptions": {"runAsUserName": "A\\b"}}}, {}, set()),
        *(
            ({"securityContext": {"windowsOptions": {"runAsUserName": user}}}, {}, {(GMSA + "runAsUserName", "Invalid")})
            for user in ("", "a\n", "a\\b\\c", "a\\", ".\\a", "a:b\\c", "a=b", ". .", "a" * 105, "d" * 256 + "\\a")
        ),
        (HOST_PROCESS, {"hostNetwork": True}, set()),
        (HOST_PROCESS, {}, {("spec.hostNetwork", "Invalid")}),
        (HOST_PROCESS, {"hostNetwork": True, "initContainers": [{"name": "i", "image": "i"}]}, {("spec", "Invalid")}),
        (
            HOST_PROCESS,
            {"hostNetwork": True, "securityContext": {"windowsOptions": {"hostProcess": False}}},
            {(GMSA + "hostProcess", "Invalid")},
        ),
        ({}, {"initContainers": [{"name": "c", "image": "i"}]}, {("spec.initContainers[0].name", "Duplicate")}),
        (
            {"resources": {"claims": [{"name": "a", "request": "r"}, {"name": "a"}]}},
            {"resourceClaims": [{"name": "a", "resourceClaimName": "c"}]},
            {(CONTAINER + "resources.claims[1]", "Duplicate")},
        ),
    ],
)
def test_rare_fields_of_pods(container, spec, expected):
    assert expected == pod_errors(container, **spec)


def test_a_template_may_have_gates_and_a_node():
    assert [] == paths(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "x"},
            "spec": {"template": template("Never") | {"spec": {**template("Never")["spec"], **GATED}}},
        }
    )


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"succeededIndexes": "0-1", "succeededCount": 2}, set()),
        ({"succeededIndexes": "0-1", "succeededCount": 3}, {"succeededCount"}),
        ({"succeededIndexes": "x", "succeededCount": 1}, {"succeededIndexes", "succeededCount"}),
    ],
)
def test_rules_of_success(rule, expected):
    spec = {"completions": 3, "completionMode": "Indexed", "successPolicy": {"rules": [rule]}, "template": template("Never")}
    found = paths({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": spec})
    assert {f"spec.successPolicy.rules[0].{each}" for each in expected} == {*found}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"completions": 3, "maxFailedIndexes": 3}, set()),
        ({"completions": 3, "maxFailedIndexes": 4}, {"maxFailedIndexes"}),
        ({"maxFailedIndexes": 2}, {"maxFailedIndexes"}),
        ({"parallelism": 2, "maxFailedIndexes": 100_001}, {"completions", "maxFailedIndexes"}),
        ({"completions": 100_001}, {"maxFailedIndexes"}),
        ({"completions": 100_001, "maxFailedIndexes": 10_000}, set()),
        ({"completions": 100_001, "maxFailedIndexes": 10_001}, {"maxFailedIndexes"}),
    ],
)
def test_failed_indexes_of_a_job(spec, expected):
    job = {"completionMode": "Indexed", "backoffLimitPerIndex": 1, "template": template("Never"), **spec}
    found = paths({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": job})
    assert {f"spec.{each}" for each in expected} == {*found}


def test_restart_rules_of_an_init_container_without_a_policy_are_not_judged():
    first = {"name": "i", "image": "i", "restartPolicyRules": [{"action": "x", "exitCodes": {"operator": "In"}}]}
    assert {("spec.initContainers[0].restartPolicy", "Required")} == pod_errors(initContainers=[first])
