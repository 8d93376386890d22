"""Given objects of controllers as the groups and pods that their controllers create.

An object whose pods are already given, or that is finished, adds nothing.  An object that creates pods and cannot be read is
skipped, with the reason; what arises is then not all.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

from expansion import device_shares, gangs, not_judged
from expansion.admission import validation
from expansion.compute_domains import create_claim_templates
from expansion.contents import Content, parsed
from expansion.created import Cluster, ConfinedPods, Expansion, OrderedPods, Place, PodSets, identity, with_free_name
from expansion.creation_order import leave_out_never_created
from expansion.groups_named_by_pods import GroupsNamedByPods
from expansion.kueue_named_groups import confine_named_groups
from expansion.kueue_pod_groups import join_kueue_groups
from expansion.notes import (
    ConversionWarning,
    CreatedTwice,
    GroupOfOwner,
    JudgedAsGang,
    NameMissing,
    NotExpressed,
    NotSimulated,
    ObjectNote,
    PodOfTwoGroups,
    RefusedByKueue,
    TaskGroups,
    TemplateWithoutContainers,
    WhyNotSimulated,
)
from expansion.pod_creation import Gang, PodCreation
from expansion.pod_owners import Controller, PodOwners
from kubeapi import decode
from kubeapi.controllers import CONTROLLERS
from kubeapi.field_path import FieldPath
from kubeapi.gather import gather, several, unreadable, whole_name, written_name
from kubeapi.gathered import GatheredObjects, Given, ObjectList, Objects, Unusable
from kubeapi.names import Name
from kubeapi.problem import Problem
from workloadbuilder.adapters import kinds as adapted
from workloadbuilder.adapters.compiled import Compiled, CompileOptions, compile_object
from workloadbuilder.adapters.shared.known_objects import Known, group_of
from workloadbuilder.adapters.shared.named_groups import is_of_other_scheduler
from workloadbuilder.adapters.shared.pod_sets import ONE_BY_ONE
from workloadbuilder.adapters.skipped_kinds import skip_reason

Gathered = Mapping[str, Objects]
_OPTIONS = CompileOptions(groups=True, pods=True, judged=True)
_LOOKED_UP = ("Workload",)


def create_objects(objects: Iterable[Given], cluster: Cluster, creation: PodCreation, place: Place | None = None) -> Expansion:
    """Return the objects that controllers create for those of *objects*; *cluster* has further objects to look up.

    With a gang in *creation*, Basic PodGroups among *objects* become gangs too.  With *place*, of *objects*, those with unknown fields
    are skipped too.
    """
    others = ObjectList()
    kinds, problems = gather(objects, others)
    kinds["Pod"], shares = device_shares.without_shares(kinds["Pod"])
    problems += [Problem.about(identity(pod), share) for pod, share in shares]
    controllers = [each for kind in CONTROLLERS for each in kinds[kind] if _is_manifest(each)]
    result = Expansion(
        kinds=kinds,
        skipped=problems,
        others=others,
        kubernetes=creation.kubernetes,
        gates=creation.gates,
        admission_plugins=creation.admission_plugins,
    )
    manifests = [content for each in (*others, *controllers) if (content := _read(each, result)) is not None]
    if manifests:
        _expand(manifests, cluster, result, creation, place)
    GroupsNamedByPods(result, cluster, creation).join(lambda compiled: _why_skipped(compiled, compiled.objects, result, creation.gang))
    create_claim_templates(result, cluster)
    join_kueue_groups(result, cluster, creation, place)
    if creation.gang is None or not creation.gang.topology:
        confine_named_groups(result, cluster)
    listed = [kinds, cluster.kinds]
    groups = (each for kind in ("PodGroup", "CompositePodGroup") for known in listed for each in _named(known.get(kind, ())))
    leave_out_never_created(groups, _named(kinds["Pod"]), result)
    if creation.gang is not None:
        _request_gangs(kinds, result, creation.gang)
    elif place is not None:
        joined = {identity(each) for each in result.objects}
        _note_other_gangs([each for each in _named(kinds["Pod"]) if gangs.is_alone(each) and identity(each) not in joined], result)
    return result


def _note_other_gangs(pods: Sequence[Content], result: Expansion) -> None:
    """Note that pods without a group are in gangs that are not modelled."""
    if of_kueue := [each for each in pods if gangs.is_of_kueue(each)]:
        result.notes.append(Problem.about(identity(of_kueue[0]), ObjectNote.KUEUE_GROUP))
    if in_task_groups := [each for each in pods if not_judged.task_groups((each,))]:
        fact = TaskGroups(not_judged.task_groups(in_task_groups), created=False)
        result.skipped.append(Problem(fact, tuple(map(identity, in_task_groups))))


def _request_gangs(kinds: Gathered, result: Expansion, gang: Gang) -> None:
    """Add the given groups as *gang* requests; note pods that it does not concern."""
    created = [each for each in result.objects if each["kind"] == "Pod"]
    pods = [*_named(kinds["Pod"])]
    for group, note in gangs.of_groups([*_named((*kinds["PodGroup"], *kinds["CompositePodGroup"]))], [*pods, *created], gang):
        result.objects.append(group)
        if note is not None:
            result.notes.append(Problem.about(identity(group), note))
    joined = {*map(identity, created)}
    if alone := [each for each in pods if gangs.is_alone(each) and identity(each) not in joined]:
        names = tuple(map(identity, alone))
        if (apart := gangs.why_apart(alone)) is not None:
            result.skipped.append(Problem(apart, names))
            return
        result.objects += gangs.as_gang(names[0].name, alone, gang)
        result.notes.append(Problem(JudgedAsGang(), names))


def _is_manifest(gathered: GatheredObjects) -> bool:
    """Return whether an object is more than the selector that a snapshot keeps."""
    if b'"template"' in bytes(gathered.text) or b'"replicas"' in bytes(gathered.text):
        return True
    content = next(_parsed((gathered,)), {})
    spec = content.get("spec")
    return not isinstance(spec, Mapping) or bool(spec.keys() - {"selector"})


def _read(gathered: GatheredObjects, result: Expansion) -> Content | None:
    try:
        content = gathered.content()
    except Unusable as error:
        result.skipped.append(unreadable(Name(gathered.kind, *written_name(gathered.text)), str(error)))
        return None
    return content


def _known(manifests: Sequence[Content], kinds: Gathered, cluster: Cluster, creation: PodCreation) -> Known:
    """Return what adapters look up; of a large cluster only the kinds that the kinds of *manifests* need."""
    named = {name for each in manifests for name in (str(each["kind"]), group_of(str(each.get("apiVersion"))))}
    wanted = {*_LOOKED_UP, *(need for name in named for need in _NEEDED.get(name, ()))}
    listed = [each for kind in wanted for each in (*kinds[kind], *cluster.kinds.get(kind, ()))]
    return Known(
        manifests,
        [*_parsed(listed), *_parsed(cluster.others)],
        creation.levels,
        creation.kubernetes,
        creation.gates,
        creation.pod_templates,
    )


_NEEDED = {
    "DaemonSet": ("Node",),
    **dict.fromkeys(
        ("StatefulSet", "LeaderWorkerSet", "JobSet", "TrainJob", "batch.volcano.sh", "LLMInferenceService"), ("PersistentVolumeClaim",)
    ),
    "AppWrapper": ("Node", "PersistentVolumeClaim"),
}
"""Kinds that an adapter looks up besides Workloads and custom kinds, by the kind, or the API group, that it reads."""


def _parsed(listed: Iterable[GatheredObjects]) -> Iterator[Content]:
    return (content for each in listed if (content := parsed(each)) is not None)


def _named(listed: Iterable[GatheredObjects]) -> Iterator[Content]:
    """Yield the objects with a name and a specification; the readers of the others report them."""
    return (each for each in _parsed(listed) if _has_name(each) and isinstance(each.get("spec"), dict))


def _expand(manifests: Sequence[Content], cluster: Cluster, result: Expansion, creation: PodCreation, place: Place | None) -> None:
    kinds = result.kinds
    manifests = [*_once(manifests, result)]
    read = {_controller(each) for each in manifests if adapted.adapter(each["apiVersion"], each["kind"], creation.pod_templates)}
    owners = PodOwners(read, kinds)
    present = _with_owners({owner for each in kinds["Pod"] if (owner := owners.owner(each)) is not None}, manifests)
    # Names of Workloads that belong to none of the objects.
    taken = {Name("Workload", *name) for each in kinds["Workload"] if (name := whole_name(each)) and owners.owner(each) is None}
    groups = [each for each in manifests if is_of_other_scheduler(each)]
    with_pods = [each for each in manifests if not is_of_other_scheduler(each) and _owner(each) not in read]
    known = _known(manifests, kinds, cluster, creation)
    _add_all(_judged(with_pods, known, present, result, creation, place), known, taken, {}, result, creation, place)
    if groups:
        # The pods of the others can be their members.
        others = GroupsNamedByPods(result, cluster, creation)
        # A group is for the pods that its owner has already, or that name it; for other new ones, the owner's adapter makes it.
        left = [each for each in groups if (owner := _owner(each)) in read and owner not in present and not others.is_named(each)]
        groups = [each for each in groups if each not in left]
        known = others.known(manifests)
        _add_all(_judged(groups, known, present, result, creation, place), known, taken, others.created, result, creation, place)
        for each in left:
            owner = _owner(each)
            if owner is not None and _creates_pods_without_group(owner, result):
                result.skipped.append(Problem.about(identity(each), GroupOfOwner(owner.object)))


def _with_owners(present: set[Controller], manifests: Sequence[Content]) -> set[Controller]:
    """Return the controllers that have pods, with those of *manifests* that own them, and the owners of these."""
    owners = {_controller(each): owner for each in manifests if (owner := _owner(each)) is not None}
    above = present
    while above := {owners[each] for each in above if each in owners} - present:
        present |= above
    return present


def _judged(
    manifests: Iterable[Content],
    known: Known,
    present: Container[Controller],
    result: Expansion,
    creation: PodCreation,
    place: Place | None,
) -> list[tuple[Content, Compiled]]:
    """Return those of *manifests* that are judged, compiled; report the others, unless their pods are *present*."""
    judged = []
    for content in manifests:
        controller = _controller(content)
        compiled = compile_object(content, known, _OPTIONS)
        if compiled is None:
            _add_unread(controller, content, result, creation)
        elif not_judged.has_ended(content):
            result.notes.append(Problem.about(controller.object, ObjectNote.HAS_ENDED))
        elif reason := _why_not_judged(content, compiled, strict=place is not None):
            result.skipped.append(Problem.about(controller.object, reason))
        elif controller not in present:
            judged.append((content, compiled))
    return judged


def _add_all(
    judged: list[tuple[Content, Compiled]],
    known: Known,
    taken: set[Name],
    members: Mapping[Name, Content],
    result: Expansion,
    creation: PodCreation,
    place: Place | None,
) -> None:
    """Add what is created for objects; of those whose Workloads or groups have one name, all but the first get other names.

    *taken* are the names that other objects have; those of the objects are added.  *members* are created pods that can be members of groups.
    """
    for index in sorted(range(len(judged)), key=lambda each: dataclasses.astuple(_controller(judged[each][0]))):
        content, compiled = judged[index]
        names = {identity(each) for each in compiled.objects if each["kind"] != "Pod"}
        if not taken.isdisjoint(names):
            compiled = compile_object(content, known, dataclasses.replace(_OPTIONS, distinct=True)) or compiled
            judged[index] = content, compiled
        taken |= {identity(each) for each in compiled.objects if each["kind"] != "Pod"}
    for content, compiled in judged:
        controller = _controller(content)
        misspelt = functools.partial(_misspelt, content, place) if place is not None else None
        for error in compiled.refused:
            at = place(content, error.path) if place is not None else ""
            result.refused.append(Problem.about(controller.object, RefusedByKueue(validation.described(error), at)))
        _add(controller, compiled, members, result, creation.gang, misspelt)
        result.controllers.append(controller)
        result.manifests.append(content)


_GROUP = "PodGroup"
"""Kind of the groups of other schedulers among the objects that are read here."""


def _creates_pods_without_group(owner: Controller, result: Expansion) -> bool:
    pods = (each for each in result.objects if each["kind"] == "Pod" and result.origins.get(identity(each)) == owner.object)
    return any(not gangs.is_member(each) for each in pods)


def _why_not_judged(content: Content, compiled: Compiled, *, strict: bool) -> WhyNotSimulated | None:
    """Return the reason why an object is skipped that an adapter has read; None if it is not.

    The fields of a version that is not served cannot be read, so their errors say nothing.
    """
    unserved = not_judged.unserved_version(content) if strict and compiled.errors else None
    return not_judged.managed_elsewhere(content) or unserved or (not_judged.unknown_fields(content) if strict else None)


def _add_unread(controller: Controller, content: Content, result: Expansion, creation: PodCreation) -> None:
    """Report an object of a kind without an adapter, unless it is known to create no pods."""
    skipped = skip_reason(content)
    if not skipped.reason:
        return
    if creation.creates_none(controller.group, controller.kind):
        result.notes.append(Problem.about(controller.object, ObjectNote.TAKEN_WITHOUT_PODS))
        return
    reason = NotSimulated.from_skipped(controller.kind, controller.group, skipped)
    result.skipped.append(Problem.about(controller.object, reason))


def _once(manifests: Iterable[Content], result: Expansion) -> Iterator[Content]:
    """Yield each object with a name once, in order; of those with different content, the one that sorts first as JSON."""
    versions: dict[tuple[str, Controller], dict[bytes, Content]] = {}
    for content in manifests:
        texts = versions.setdefault((group_of(str(content.get("apiVersion"))), _controller(content)), {})
        # A generated name is another one for each object.
        text = decode.ENCODER.encode(content) if _has_name(content) else b"%d" % len(texts)
        texts.setdefault(text, content)
    for (_, controller), texts in versions.items():
        contents = [texts[text] for text in sorted(texts)]
        if not _has_name(contents[0]):
            yield from contents
            continue
        yield contents[0]
        if len(contents) > 1:
            result.skipped.append(several(controller.object))


def _has_name(content: Content) -> bool:
    metadata = content.get("metadata")
    return isinstance(metadata, Mapping) and bool(metadata.get("name"))


def _controller(content: Content) -> Controller:
    metadata = content.get("metadata")
    fields = metadata if isinstance(metadata, Mapping) else {}
    namespace, name = fields.get("namespace"), fields.get("name") or fields.get("generateName")
    group = str(content.get("apiVersion") or "").rpartition("/")[0]
    return Controller(str(content.get("kind")), str(namespace or "default"), str(name or "(without a name)"), group)


def _add(
    controller: Controller,
    compiled: Compiled,
    members: Mapping[Name, Content],
    result: Expansion,
    gang: Gang | None,
    misspelt: Callable[[Compiled], str] | None,
) -> None:
    objects = [dict(each) for each in compiled.objects]
    without_pods = not compiled.errors and compiled.skipped == ONE_BY_ONE and not objects
    reason = None if without_pods else _why_skipped(compiled, objects, result, gang) or _second_group(controller, objects, result)
    if reason is not None:
        words = misspelt(compiled) if misspelt is not None else ""
        result.skipped.append(Problem.about(controller.object, NotSimulated(words) if words else reason))
        return
    about = functools.partial(Problem.about, controller.object)
    if controller.kind != _GROUP and all(each["kind"] != "Pod" for each in objects):
        result.notes.append(about(ObjectNote.CREATES_NO_PODS))
    pods = objects[len(objects) - len(compiled.parts) :]
    names = dict(zip(compiled.pod_sets, compiled.parts, strict=True))
    result.pod_sets[controller.object] = PodSets(pods, compiled.pod_sets, names, compiled.owned)
    for confined in compiled.confined:
        of_sets = [pod for pod, index in zip(pods, compiled.pod_sets, strict=True) if index in confined.pod_sets]
        result.confined.append(ConfinedPods(controller.object, str(confined.path), confined.topology, of_sets))
    if compiled.waits and (gang is None or gangs.has_gang(objects)):
        result.ordered.append(OrderedPods(controller.object, [*zip(compiled.parts, pods, strict=True)], compiled.waits))
    result.add_minimums(objects, compiled.minimums)
    objects, critical = gangs.without_groups_of_critical_pods(objects)
    result.notes += [about(ObjectNote.CRITICAL_PODS)] if critical else []
    if gang is not None:
        objects, notes = gangs.on_request(controller.name, objects, gang)
        result.notes += map(about, notes)
    for each in objects:
        name = identity(each)
        if name in members:
            members[name]["spec"] = each["spec"]
            continue
        result.origins[with_free_name(each, controller.object, result.origins) if name.kind == "Pod" else name] = controller.object
        result.objects.append(each)
    result.notes += [about(NotExpressed(str(each.path), each.detail)) for each in compiled.losses]
    warnings = (each for each in compiled.warnings if not _is_uid(each.path))
    result.notes += [about(ConversionWarning(str(each.path), each.detail or str(each))) for each in warnings]


def _misspelt(content: Content, place: Place, compiled: Compiled) -> str:
    """Return the misspelt fields of an object that is skipped, or else its errors, with a position; empty if there are none."""
    errors = not_judged.misspelt_fields(content) or compiled.errors
    texts = [validation.described(each) for each in errors]
    at = place(content, errors[0].path) if errors else ""
    return "; ".join(texts) + (f" ({at})" if at else "")


def _why_skipped(compiled: Compiled, objects: Sequence[Content], result: Expansion, gang: Gang | None) -> WhyNotSimulated | None:
    """Return the reason why the *objects* of an object are not added; None if they are."""
    if compiled.errors:
        return NotSimulated("; ".join(validation.described(each) for each in compiled.errors))
    if not compiled.owner.name:
        return NameMissing()
    constraints = () if gang is not None and gang.topology else _dropped_constraints(compiled)
    if compiled.skipped or constraints:
        return NotSimulated(compiled.skipped or "; ".join(constraints))
    if taken := next((each for each in objects if each["kind"] != "Pod" and identity(each) in result.origins), None):
        name = identity(taken)
        origin = result.origins[name]
        return CreatedTwice(name, origin)
    pods = [each for each in objects if each["kind"] == "Pod"]
    if any(not _has_containers(each) for each in pods):
        return TemplateWithoutContainers()
    key = not_judged.task_groups(pods) if gang is None else ""
    return next(filter(None, map(device_shares.share_of, pods)), None) or (TaskGroups(key) if key else None)


def _second_group(controller: Controller, objects: Iterable[Content], result: Expansion) -> PodOfTwoGroups | None:
    """Return the reason why a group of another scheduler is skipped: a pod of it is a member of another one; None if none is."""
    for each in objects if controller.kind == _GROUP else ():
        first = result.origins.get(identity(each)) if each["kind"] == "Pod" else None
        if first is not None and first.kind == _GROUP:
            return PodOfTwoGroups(identity(each), first)
    return None


def _dropped_constraints(compiled: Compiled) -> tuple[str, ...]:
    """Return the constraints of an object that its pods would not have; a gang in one domain of a given key replaces them."""
    return tuple(f"{each.path}: {each.detail}" for each in compiled.losses if each.required)


def _is_uid(path: FieldPath) -> bool:
    """Return whether *path* is the uid of an object: only names of objects and their deletion depend on it."""
    return path.parts[-2:] == ("metadata", "uid")


def _owner(content: Content) -> Controller | None:
    """Return the controlling owner of an object; of the group of another scheduler, any owner."""
    metadata = content.get("metadata")
    references = metadata.get("ownerReferences") if isinstance(metadata, Mapping) else None
    for each in references if isinstance(references, list) else ():
        if isinstance(each, Mapping) and (each.get("controller") is True or content.get("kind") == _GROUP):
            return Controller(str(each.get("kind")), _controller(content).namespace, str(each.get("name")))
    return None


def _has_containers(pod: Content) -> bool:
    containers = pod["spec"].get("containers")
    return isinstance(containers, list) and bool(containers)
