"""Random creates and updates, asked of a real API server as dry runs without webhooks, and of Muster with profile ``upstream``.

Both must give the same verdict and the same (field path, reason) of each error.  Of a Workload, PodGroup and CompositePodGroup the whole
spec is compared, and the status in updates of it; of a Pod, Job and CronJob the whole object when it is created, and in updates the fields
of groups.  A difference is named by its signature, in which indexes are left out; ``explained_differences`` has those that are not ours.
"""

from __future__ import annotations

import copy
import functools
import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import urllib3

from kubeapi import decode
from kubeapi.versions import served_versions
from tests.cluster import kind_schemas
from tests.cluster.api import AT_ONCE, Api, ApiError
from tests.cluster.control_plane import ControlPlane
from tests.cluster.manifest_verdicts import MANIFESTS
from tests.cluster.options import WITHOUT_CONTROLLERS, Options
from tests.cluster.programs import MissingError, Programs, find, of
from tests.reliability import explained_differences
from tests.reliability.campaign import Campaign, Round
from tests.reliability.schema_mutation import Mutator
from tests.validators.whole_objects import OBJECTS
from validators import pipeline, schema
from validators.built_in import whole_objects
from validators.field import ErrorType
from validators.rules.base import Operation, Profile, Settings, Severity

Json = dict[str, Any]
OPTIONS = Options(disabled_plugins=(*WITHOUT_CONTROLLERS, "Priority", "PodGroupProtection", "RuntimeClass"))
"""Without the plugins that would answer before validation does."""
QUESTIONS = 8000
"""In a round: about a minute."""
_CASES = Path(__file__).parents[1] / "cases"
_TABLES = {37: "admission.json", 38: "admission-1.38.json"}
_GROUPS = ("Workload", "PodGroup", "CompositePodGroup")
_PODS = ("Pod", "Job", "CronJob")
_STORED = 4
"""Objects of each kind that are updated in a round."""
_UNREADABLE = frozenset({"schema-type", "schema-limit", "schema-format", "schema-unknown-field"})
_BAD_REQUEST, _INVALID, _TIMEOUT = 400, 422, 504
_ALL = (("spec",),)
_WRITTEN = (("spec",), ("spec",), ("spec",), ("metadata", "name"), ("metadata", "labels"), ("metadata", "annotations"))
_OF_GROUPS = {
    "Pod": (("spec", "schedulingGroup"),),
    "Job": (("spec", "scheduling"), ("spec", "parallelism")),
    "CronJob": (("spec", "jobTemplate", "spec", "scheduling"), ("spec", "jobTemplate", "spec", "parallelism")),
}
"""Fields whose updates Muster judges."""
_of_template = re.compile(r"^spec\.(?:jobTemplate\.spec\.)?template\.(?=spec|metadata)")
_index = re.compile(r"\[[^\]]*\]")


class Question(NamedTuple):
    """A request: ``old`` is None for a create, ``subresource`` is empty or ``status``."""

    new: Json
    old: Json | None = None
    subresource: str = ""


class Verdict(NamedTuple):
    """An answer: (path, reason) of each error; whether the object could be read; what was said; errors of the shape, beside which others may exist."""

    errors: frozenset[tuple[str, str]] = frozenset()
    readable: bool = True
    message: str = ""
    of_schema: frozenset[tuple[str, str]] = frozenset()


class Signature(NamedTuple):
    """A kind of difference: of object, of request, and the path without indexes with what each side says of it."""

    kind: str
    request: str
    path: str
    muster: str
    server: str


def run(seed: int) -> Round:
    """Ask ``QUESTIONS`` of an API server, in every second round of the next version if it was built."""
    programs = _programs(seed)
    with ControlPlane(OPTIONS, programs) as plane:
        return asked(plane.api, "default", programs.minor(), seed, QUESTIONS)


def _programs(seed: int) -> Programs:
    if seed % 2 == 0:
        try:
            return of("1.38")
        except MissingError:
            pass
    return find()


def asked(api: Api, namespace: str, minor: int, seed: int, count: int) -> Round:
    """Ask *count* questions and compare; a failure has a signature that is not explained, how often it was seen, and the last object."""
    seen, examples = compared(api, namespace, minor, seed, count)
    unexplained = sorted(each for each in seen if not explained_differences.explains(each))
    return Round(count, tuple(f"1.{minor} {tuple(each)} {seen[each]} times: {examples[each]}" for each in unexplained))


def compared(api: Api, namespace: str, minor: int, seed: int, count: int) -> tuple[Counter[Signature], dict[Signature, str]]:
    """Ask *count* questions; return how often each difference was seen, and the last message and object of each."""
    questions = list(_questions(api, namespace, minor, random.Random(seed), count))
    seen: Counter[Signature] = Counter()
    examples: dict[Signature, str] = {}
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for question, server in zip(questions, threads.map(functools.partial(server_verdict, api), questions), strict=True):
            for each in differences(question, muster_verdict(question, minor), server):
                seen[each] += 1
                examples[each] = f"{server.message[:120]} {json.dumps(question.new)}"
    return seen, examples


def _questions(api: Api, namespace: str, minor: int, chance: random.Random, count: int) -> Iterator[Question]:
    bases = _bases(minor, namespace)
    stored = {kind: [_stored(api, each, number) for number, each in enumerate(_sample(chance, bases[kind]))] for kind in bases}
    for _ in range(count):
        kind = chance.choice((*_GROUPS, *_PODS))
        what = chance.random()
        if what < 0.6:
            base = chance.choice(bases[kind])
            yield Question(_changed(chance, base, _ALL if kind in _GROUPS else _WRITTEN))
        elif what < 0.85 or kind not in _GROUPS[1:]:
            old = chance.choice(stored[kind])
            yield Question(_changed(chance, old, _OF_GROUPS.get(kind, _ALL)), old)
        else:
            old = chance.choice(stored[kind])
            yield Question(_changed(chance, {**old, "status": old.get("status") or {}}, (("status",),)), old, "status")


def _sample(chance: random.Random, bases: Sequence[Json]) -> list[Json]:
    return chance.sample(bases, min(_STORED, len(bases)))


def _stored(api: Api, base: Json, number: int) -> Json:
    named = {**base, "metadata": {**base["metadata"], "name": f"stored-{number}"}}
    if base["kind"] == "Pod":
        named = {**named, "spec": {**named["spec"], "schedulingGroup": {"podGroupName": "g"}}}
    created = {"apiVersion": base["apiVersion"], "kind": base["kind"], **api.create(named)}
    if created["kind"] in _GROUPS[1:]:
        condition = {"type": "A", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        status = {"conditions": [condition]}
        created = api.set_status(
            created["kind"], f"stored-{number}", created["metadata"]["namespace"], status=status, version=base["apiVersion"]
        )
    return {key: value for key, value in created.items() if key in {"apiVersion", "kind", "metadata", "spec", "status"}}


@functools.cache
def _bases(minor: int, namespace: str) -> dict[str, list[Json]]:
    """Return valid objects by kind: those that the recorded answers accept, and objects with most fields."""
    found: dict[str, list[Json]] = {kind: [] for kind in (*_GROUPS, *_PODS)}
    cases = json.loads((_CASES / _TABLES[max(37, min(minor, 38))]).read_text(encoding="utf-8"))
    for case in cases:
        created = case["operation"] == "CREATE" and case["layer"] == "validation" and not case.get("gates")
        if created and case["expect"]["allowed"] and case["kind"] in found:
            for version in [None, *(case.get("alsoApiVersions") or [])]:
                found[case["kind"]].append({**case["object"], "apiVersion": version or case["object"]["apiVersion"]})
    for each in (*OBJECTS, *(MANIFESTS[f"a {kind}"] for kind in _PODS)):
        if each["kind"] in found:
            found[each["kind"]].append(each)
    for listed in found.values():
        listed[:] = [_clean({**each, "metadata": {**each["metadata"], "namespace": namespace}}) for each in listed]
    return found


def _clean(manifest: Json) -> Json:
    metadata = {key: value for key, value in manifest["metadata"].items() if key not in {"resourceVersion", "uid", "creationTimestamp"}}
    return {**{key: value for key, value in manifest.items() if key != "status"}, "metadata": metadata}


def _changed(chance: random.Random, base: Json, roots: Sequence[tuple[str, ...]]) -> Json:
    name, definitions = _schema(base["apiVersion"], base["kind"])
    changed: Json = Mutator(chance, name, definitions).changed(base, roots)
    return changed


@functools.cache
def _schema(api_version: str, kind: str) -> tuple[Json, Json]:
    """Return the schema of a kind and the definitions that it refers to."""
    if kind in _PODS:
        stored: Json = json.loads(kind_schemas.FILE.read_text(encoding="utf-8"))
        return kind_schemas.expanded(stored)[f"{api_version}/{kind}"], stored["$defs"]
    document: Any = schema.document(served_versions.schema_of(api_version, kind))
    return document, document["$defs"]


def server_verdict(api: Api, question: Question) -> Verdict:
    """Return the answer of the API server to a dry run."""
    query = {"dryRun": "All", "fieldValidation": "Strict"}
    new = question.new
    try:
        if question.old is None:
            url = api.path(new["kind"], namespace=new["metadata"]["namespace"], version=new["apiVersion"])
            api.send("POST", url, new, query=query)
        else:
            api.replace(new, subresource=question.subresource, **query)
    except ApiError as error:
        text = str(error.status.get("message", ""))
        if error.code == _INVALID:
            return Verdict(frozenset((field, reason) for field, reason, _ in error.causes), message=text)
        if error.code == _BAD_REQUEST:
            return Verdict(readable=False, message=text)
        if error.code == _TIMEOUT:
            return Verdict(readable=False, message="the API server does not answer in its own time")
        return Verdict(frozenset({("", f"HTTP {error.code}")}), message=text)
    except urllib3.exceptions.HTTPError:
        return Verdict(readable=False, message="the API server closes the connection: its defaulting panics")
    return Verdict()


def muster_verdict(question: Question, minor: int) -> Verdict:
    """Return the answer of Muster with profile ``upstream``, as to an API server that refuses unknown fields."""
    new, old = question.new, question.old
    errors: set[tuple[str, str]] = set()
    of_schema: frozenset[tuple[str, str]] = frozenset()
    if new["kind"] in _PODS and old is None:
        found = whole_objects.errors(copy.deepcopy(new))
        of_schema = frozenset((str(each.path), str(each.type)) for each in found if each.origin)
        errors |= {(str(each.path), str(each.type)) for each in found}
    elif new["kind"] in _PODS:
        found = whole_objects.errors(copy.deepcopy(new))
        found = [each for each in found if each.origin in _UNREADABLE]
    else:
        found = schema.check(served_versions.schema_of(new["apiVersion"], new["kind"]), decode.plain(new))
    if unreadable := [each for each in found if each.origin in _UNREADABLE]:
        return Verdict(readable=False, message=f"{unreadable[0].path}: {unreadable[0]}")
    violations = pipeline.validate(
        new["kind"],
        copy.deepcopy(new),
        copy.deepcopy(old),
        Operation.CREATE if old is None else Operation.UPDATE,
        api_version=new["apiVersion"],
        subresource=question.subresource,
        settings=Settings(profile=Profile.UPSTREAM, minor=minor),
    )
    if any(each.error.type is ErrorType.TYPE_INVALID and each.error.value is None for each in violations):
        return Verdict(readable=False, message="Invalid value: null")
    errors |= {(str(each.error.path), str(each.error.type)) for each in violations if each.severity is Severity.ERROR}
    return Verdict(frozenset(errors), of_schema=of_schema)


def differences(question: Question, muster: Verdict, server: Verdict) -> Iterator[Signature]:
    """Yield the signature of each difference of two verdicts."""
    kind = question.new["kind"]
    request = f"update {question.subresource}".strip() if question.old is not None else "create"
    if muster.readable and server.readable:
        theirs = _judged(question, server.errors)
        # A mistake in the shape is told first and alone, and the server may not look at the field at all.
        told = muster.errors - muster.of_schema if theirs else muster.errors
        ours = frozenset(each if each in theirs else (explained_differences.server_path(each[0]), each[1]) for each in told)
        for path in sorted({path for path, _ in ours ^ theirs}):
            sides = [_reasons(path, each) for each in (ours, theirs)]
            if muster.of_schema and theirs and not sides[0]:
                continue
            signed = _signed(path)
            template = kind != "Pod" and signed.startswith("template:")
            accepting = [side or ("" if errors else "accepts") for side, errors in zip(sides, (muster.errors, theirs), strict=True)]
            yield Signature("Pod" if template else kind, request, signed.removeprefix("template:"), *accepting)
    elif muster.readable != server.readable:
        sides = [_reasons(None, each.errors) or "accepts" if each.readable else "unreadable" for each in (muster, server)]
        yield Signature(kind, request, _told(muster.message if not muster.readable else server.message), *sides)


def _judged(question: Question, errors: frozenset[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """Return the errors in the fields that Muster judges."""
    kind = question.new["kind"]
    if question.old is None or kind not in _PODS:
        return errors
    below = ".".join(_OF_GROUPS[kind][0])
    return frozenset(each for each in errors if each[0].startswith(below) or (kind, each[0]) == ("Pod", "spec"))


def _told(message: str) -> str:
    """Return the message of an object that is not read, without indexes and values."""
    text = message.rpartition("strict decoding error: ")[2]
    for each in ("parsing time", "Invalid value: null"):
        if each in text:
            return each
    return _index.sub("", re.sub(r'"[^"]*"|\d+', "*", text))[:60]


def _signed(path: str) -> str:
    return _of_template.sub("template:", _index.sub("", path))


def _reasons(path: str | None, errors: Iterable[tuple[str, str]]) -> str:
    """Return the reasons of the errors at a path, or of all."""
    return " ".join(sorted({reason.removeprefix("FieldValue") for at, reason in errors if path is None or at == path}))


CAMPAIGN = Campaign(
    "equality",
    "random creates and updates, asked of kube-apiserver and of profile upstream",
    "same verdict, field paths and reasons; each difference is explained by the source of Kubernetes",
    100_000,
    run,
)
