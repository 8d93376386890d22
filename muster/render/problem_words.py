"""Problems and notes in words: those of files and of objects at PATH; ``scheduler_core.wording`` has the words of all others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from expansion import notes
from expansion.notes import Note, ObjectNote
from expansion.queue_notes import QueueNote
from kubeapi.device_shares import Share
from kubeapi.kueue import POD_GROUP_TOTAL, QUEUE
from kubeapi.names import Name
from kubeapi.problem import Fact, ObjectLeftOut, Problem, ProblemKind
from kubeapi.resource_names import COUNT, LIMITS, OF_DEVICE_CLASS, OF_STORAGE_CLASS, size, without_section
from muster.render import file_notes as files
from muster.render.drain_facts import DrainedPods, DrainFact, EvictionsRefused, LaterUpdateHangs
from muster.render.file_notes import FileNote, RefusedRequest
from muster.render.queue_words import queue_words
from scheduler_core.causes.changes import EnabledPlugin
from scheduler_core.causes.input_problems import KindNotServed, NodeUnknown
from scheduler_core.wording import problem_words as of_objects
from scheduler_core.wording.changes import plugin_question
from scheduler_core.wording.filter_words import share_words
from scheduler_core.wording.titles import label
from validators.model.start_order import event_words
from validators.reports.counts import counted

_NAMES_KIND = ObjectLeftOut | KindNotServed | NodeUnknown | notes.FieldsUnreadable
"""Facts with a message that names the kind of their object."""
_NAMED = 3
"""Maximum number of pods that are named."""
_REQUESTS = {
    RefusedRequest.LIST: "cannot be listed",
    RefusedRequest.READ: "cannot be read",
    RefusedRequest.DISCOVERY: "its version and APIs cannot be read",
    RefusedRequest.REVIEW_PERMISSIONS: "its permissions cannot be reviewed",
    RefusedRequest.DRY_RUN: "cannot be created in a dry run",
}
_OBJECT_NOTES = {
    ObjectNote.HAS_ENDED: "it has ended and creates no more pods",
    ObjectNote.CREATES_NO_PODS: "it creates no pods now",
    ObjectNote.TAKEN_WITHOUT_PODS: "--no-pods: it is taken to create no pods",
    ObjectNote.WITHOUT_PODS: "it has no pods, or they have ended: it is not judged",
    ObjectNote.HAS_NODE: "its pod template sets nodeName, so its pods are not scheduled: they are not judged",
    ObjectNote.CRITICAL_PODS: "a group cannot have the system priority class of its pods: they are placed one by one",
    ObjectNote.KUEUE_GROUP: "Kueue admits the pods of its pod groups together; here they are placed one by one: --gang judges them as one gang",
}


def problem_words(problem: Problem) -> str:
    """Return the message of a problem or note."""
    words = reason_words(problem)
    if problem.kind is ProblemKind.NOT_ADMITTED:
        return f"not admitted by Kueue: {words}"
    by = "Kueue" if isinstance(problem.fact, notes.RefusedByKueue) else "the API server"
    return f"refused by {by}: {words}" if problem.kind is ProblemKind.REFUSED else words


def reason_words(problem: Problem) -> str:
    """Return the message of a problem; of objects that the API server refuses only its reason."""
    fact = problem.fact
    if isinstance(fact, FileNote):
        return _file_words(fact)
    if isinstance(fact, DrainFact | LaterUpdateHangs):
        return _later_words(fact) if isinstance(fact, LaterUpdateHangs) else _drain_words(fact)
    return _note_words(fact, problem.names) if isinstance(fact, Note) else of_objects.problem_words(problem)


def object_words(problem: Problem) -> str:
    """Return what a problem is about: ``Kind name`` or ``Kind namespace/name``, several of these, or a place."""
    if isinstance(problem.fact, notes.JudgedAsGang | notes.NotOneGang | notes.KueueGroupIncomplete):
        more = len(problem.names) - 1
        return f"{label(problem.names[0])} (and {counted(more, 'more pod')})" if more else label(problem.names[0])
    return of_objects.object_words(problem)


def grouped(problems: Iterable[Problem]) -> list[list[Problem]]:
    """Return lists of problems with the same fact, which one message can tell, in the order of the first ones."""
    groups: dict[tuple[Fact, str], list[Problem]] = {}
    for problem in problems:
        kind = problem.names[0].kind if problem.names and isinstance(problem.fact, _NAMES_KIND) else ""
        groups.setdefault((problem.fact, kind), []).append(problem)
    return [*groups.values()]


def without_nodes_words(unread: Iterable[Problem], options: str) -> str:
    """Return why no node is known: none is given, by one of *options*, or those that there are could not be read."""
    nodes = [*dict.fromkeys(name for each in unread for name in each.names if name.kind == "Node")]
    if len(nodes) == 1:
        return f"{label(nodes[0])}, the only one, could not be read"
    return f"none of the {len(nodes):,} Nodes could be read" if nodes else f"there is no Node among the inputs: give {options}"


def shown_order(problem: Problem) -> tuple[str, str]:
    """Return the key by which problems are sorted in a list: the object, then the message."""
    return object_words(problem), reason_words(problem)


def _note_words(fact: Note, names: Iterable[Name]) -> str:  # noqa: C901, PLR0911, PLR0912 - one case for each kind of note
    match fact:
        case ObjectNote():
            return _OBJECT_NOTES[fact]
        case notes.NotExpressed() | notes.ConversionWarning():
            return f"{fact.field}: {fact.detail}"
        case notes.NeverCreated():
            return _order_words(fact)
        case notes.JudgedAsGang():
            return "without a group: --gang judges the pods at PATH as one gang"
        case notes.GangsKept():
            return "; ".join(_gang_words(fact))
        case notes.NotOneGang():
            return f"cannot be one gang: {_apart_words(fact)}"
        case notes.RefusedByServer() | notes.RefusedByKueue():
            return f"{fact.detail} ({fact.position})" if fact.position else fact.detail
        case notes.TemplateMissing():
            hint = f"; did you mean {fact.similar!r}?" if fact.similar else ""
            return f"there is no {label(fact.template)}{hint}"
        case notes.GroupMissing():
            of_group = f" of {fact.api_group}" if fact.api_group else ""
            hint = f"; did you mean {fact.similar!r}?" if fact.similar else ""
            return f"there is no {label(fact.group)}{of_group}, for which its pods wait{hint}"
        case notes.KueueGroupIncomplete() | notes.KueueQuotas():
            return _kueue_words(fact)
        case notes.FieldsUnreadable():
            return _unreadable_words(fact, names)
        case notes.AnnotationsUnknown() | notes.PluginsOn() | notes.PluginsAssumed() | notes.PlatformNotAssumed() | notes.FitsWithPlugin():
            return _plugin_words(fact)
        case notes.PlaceUnknown():
            of_pods = "the claims of its ephemeral volumes: " if fact.ephemeral else ""
            return f"{of_pods}its class provides the volume at once: that it can be used on the nodes of the pods is taken for granted"
    if isinstance(fact, QueueNote):
        return queue_words(fact)
    return _quota_words(fact) if isinstance(fact, notes.QuotaCause) else _unsimulated_words(fact)


def _later_words(fact: LaterUpdateHangs) -> str:
    left = f"{counted(fact.old, 'old pod')} {'runs' if fact.old == 1 else 'run'} on" if fact.old else "no old pod is left"
    waiting = f"{counted(fact.waiting, 'new pod')} {'waits' if fact.waiting == 1 else 'wait'}"
    waiting = f"a quota refuses {counted(fact.refused, 'new pod')}" if fact.refused else waiting
    nodes = f"{counted(fact.more, 'more node')} like {fact.like}" if fact.like else ""
    helps = f"{fact.field}: {fact.value}" if fact.field else nodes
    return f"a later update would hang: {left}, and {waiting}{f'; it is finished with {helps}' if helps else ''}"


def _drain_words(fact: DrainFact) -> str:
    if isinstance(fact, DrainedPods):
        rest = fact.evicted - fact.placed
        words = f"{fact.placed:,} of {counted(fact.evicted, 'evicted pod')} {'gets' if 1 in (fact.placed, fact.evicted) else 'get'} another node"
        words += f"; {rest:,} {'waits' if rest == 1 else 'wait'}" if rest else ""
        bare = ", ".join(f"{each.namespace}/{each.name}" for each in fact.bare[:_NAMED])
        more = f" and {len(fact.bare) - _NAMED:,} more" if len(fact.bare) > _NAMED else ""
        return f"{words}; nobody creates {bare}{more} again: without a controller, kubectl drain refuses it" if fact.bare else words
    if isinstance(fact, EvictionsRefused):
        if not fact.at_once:
            return f"it refuses the eviction of {counted(fact.evicted, 'pod')}: kubectl drain waits until it allows one"
        return f"it refuses {fact.evicted - fact.at_once:,} of {counted(fact.evicted, 'eviction')} until replacements are ready"
    mode = "its disruption mode is All"
    return f"{mode}: with {counted(fact.evicted, 'evicted pod')}, {counted(fact.others, 'pod')} on other nodes {'is' if fact.others == 1 else 'are'} disrupted too"


def _kueue_words(fact: notes.KueueGroupIncomplete | notes.KueueQuotas) -> str:
    if isinstance(fact, notes.KueueQuotas):
        queues = counted(fact.queues, "ClusterQueue")
        return f"no new pod at PATH is queued by a label {QUEUE}, so quotas of Kueue are not considered (the cluster has {queues})"
    return (
        f"{fact.existing} of {counted(fact.total, 'pod')} of Kueue's pod group {fact.group_name} exist, so Kueue admits none of them: "
        f"create {'the missing pod' if fact.total - fact.existing == 1 else f'the {fact.total - fact.existing} missing pods'}, "
        f"or lower {POD_GROUP_TOTAL} to {fact.existing}"
    )


def _plugin_words(
    fact: notes.AnnotationsUnknown | notes.PluginsOn | notes.PluginsAssumed | notes.PlatformNotAssumed | notes.FitsWithPlugin,
) -> str:
    match fact:
        case notes.AnnotationsUnknown():
            return "its annotations, which an admission plugin reads, are not known and are taken to be empty: add the Namespace to the objects"
        case notes.PluginsOn():
            return f"new pods are admitted as its option --enable-admission-plugins says: {', '.join(fact.plugins)}"
        case notes.PluginsAssumed():
            return (
                f"--platform assumes that new pods are admitted as its documentation says: {', '.join(fact.plugins)} ({fact.source}, {fact.as_of}); "
                "what webhooks of the cluster change is not considered"
            )
        case notes.PlatformNotAssumed():
            return "--platform has no effect: the cluster shows the options of its API server, and these are used"
        case notes.FitsWithPlugin():
            return f"{plugin_clause(fact)}; it is off by default, and on in some managed clusters"
    assert_never(fact)


def plugin_clause(fact: notes.FitsWithPlugin) -> str:
    """Return the clause that objects fit with an admission plugin, and by which option that is judged."""
    again = ", if its pods are created again" if fact.stored else ""
    return f"with the admission plugin {fact.plugin} it fits{again} ({plugin_question(EnabledPlugin(fact.plugin, fact.stored))})"


def _order_words(fact: notes.NeverCreated) -> str:
    awaited = f"that waits for the gang of {label(fact.gang)}, which waits for them" if fact.gang is not None else "that never happens"
    return f"{counted(fact.pods, 'pod')} {'is' if fact.pods == 1 else 'are'} created only when {event_words(fact.event, fact.awaited)}, and {awaited}"


def _unreadable_words(fact: notes.FieldsUnreadable, names: Iterable[Name]) -> str:
    listed = "; ".join(f"{field} {error}" for field, error in fact.errors)
    sets_fields = any(name.kind == "RuntimeClass" for name in names)
    return f"{listed}; {'these fields have no effect' if sets_fields else 'what these fields decide is not judged'}"


def _file_words(fact: FileNote) -> str:  # noqa: C901, PLR0911 - as above
    match fact:
        case files.NoFile():
            return f"has no {', '.join(fact.suffixes)} file"
        case files.FileUnreadable():
            return f"cannot be read: {fact.error}"
        case files.FileTooLarge(most_json, None):
            return f"must be at most {most_json:,} bytes; split the file"
        case files.FileTooLarge(most_json, most_yaml):
            return f"must be at most {most_yaml:,} bytes of YAML, or {most_json:,} of JSON"
        case files.TextNotJson():
            return f"is not JSON: {fact.error}; the text up to the next object is left out"
        case files.KeyRepeated():
            return f"{fact.error}; the object is left out"
        case files.DocumentUnreadable():
            return f"{fact.error}; it is left out" if fact.left_out else fact.error
        case files.FilesOfTool():
            return f"files of {fact.tool} are not read; for the objects that they create: {fact.tool.rendered_for(fact.command)}"
        case files.AlsoDefined():
            return f"{label(fact.duplicate)} is also in {fact.first_place}; only that one is checked"
        case files.PodSlotsAssumed():
            return f"status.allocatable.pods is missing and taken as {fact.slots}: there is no metadata.uid, so it was written by hand"
        case files.RequestRefused():
            return f"{_REQUESTS[fact.request_kind]}: {fact.error}"
    assert_never(fact)


def _unsimulated_words(fact: notes.WhyNotSimulated) -> str:
    if isinstance(fact, notes.GroupOfOwner | notes.PodOfTwoGroups | notes.TaskGroups):
        return _other_group_words(fact)
    if isinstance(fact, notes.ShareNotJudged | notes.SharesUncounted | notes.SharesAhead):
        return _share_words(fact)
    advice = ""
    match fact:
        case notes.NotSimulated(why):
            advice = option_for(fact)
        case notes.ManagedElsewhere():
            why = (
                f"{fact.field} is {fact.manager}: that controller creates the pods, in this cluster or in another one; "
                "remove the field to judge them here"
            )
        case notes.FieldsUnknown():
            why = f"{', '.join(fact.fields)}: not in {fact.source}, so its pods are not known; remove or correct it"
        case notes.CreatedTwice():
            why = f"{label(fact.duplicate)} is also created for {label(fact.origin)}: set the metadata.uid of both, or rename one"
        case notes.TemplateWithoutContainers():
            why = "a pod template has no containers, so the API server refuses its pods"
        case notes.NameMissing():
            why = "metadata.name or metadata.generateName is required"
    return f"{why}; its pods are not simulated{advice}"


def option_for(fact: notes.NotSimulated) -> str:
    """Return the clause about the option with which an object of a kind without an adapter is judged; empty if there is none."""
    kind = fact.unknown_kind
    if fact.template:
        return f"; to judge it anyway: --pod-template '{kind}={fact.template}'"
    return f"; if it creates none, give --no-pods {kind}, else --pod-template {kind}=PATH" if kind else ""


def _other_group_words(fact: notes.GroupOfOwner | notes.PodOfTwoGroups | notes.TaskGroups) -> str:
    match fact:
        case notes.GroupOfOwner(owner):
            return f"{label(owner)} has made it for pods that are not in the input: give them too; its pods are placed without it"
        case notes.PodOfTwoGroups(pod, group):
            return f"{label(pod)} names it and {label(group)}: two schedulers wait for the pod, which stays pending; remove one group"
    groups = f"YuniKorn's task groups in {fact.key} are not modelled"
    if not fact.created:
        return f"{groups}: the pods are placed one by one, which YuniKorn does not do; --gang judges them as one gang"
    return (
        f"{groups}, so its pods are not simulated; remove the annotation to judge them one by one, or give --gang to judge them as one gang"
    )


def _share_words(fact: notes.ShareNotJudged | notes.SharesUncounted | notes.SharesAhead) -> str:
    if isinstance(fact, notes.SharesUncounted):
        return (
            f"{fact.scheduler} divides devices of node {fact.node}, by {fact.key}, and shares are not counted: "
            "whether the node has the whole devices of its pods is not known"
        )
    if isinstance(fact, notes.SharesAhead):
        return f"pending pods get shares of devices from {fact.scheduler}, by {fact.key}: what they take before is not known"
    return f"{share_words(Share(fact.scheduler, fact.key, fact.annotation))}; its pods are not simulated"


def _gang_words(fact: notes.GangsKept) -> Iterable[str]:
    if fact.keeps_policies and fact.topology:
        yield f"its own gangs are kept; each tree of groups must be in one domain of {fact.topology}"
    elif fact.keeps_policies:
        yield "it has gangs of its own, which --gang does not change"
    if fact.replaced:
        yield f"--topology {fact.topology} replaces its topology constraint {fact.replaced}"


def _apart_words(fact: notes.NotOneGang) -> str:
    if fact.namespaces:
        return f"their namespaces are {', '.join(fact.namespaces)}, and a PodGroup is in one; judge them one namespace at a time"
    return f"their schedulers are {', '.join(fact.schedulers)}; a gang has one"


def _quota_words(cause: notes.QuotaCause) -> str:
    quota = f"quota {cause.quota.namespace}/{cause.quota.name}"
    match cause:
        case notes.QuotaExceeded():
            free, needed = (size(cause.resource, each) for each in (cause.free, cause.needed))
            words = f"{quota} leaves {free} {_quota_resource(cause.quota_resource)}, {needed} needed"
            return f"{words}, unless some of them exist already: they are not in the input" if cause.may_exist else words
        case notes.QuotaRequiresAmounts():
            return f"{quota} refuses pods without {', '.join(cause.quota_resources)}"
        case notes.ObjectsUncounted():
            return f"{quota} limits {_quota_resource(cause.quota_resource)}; how many its controller creates is not considered"
    assert_never(cause)


def _quota_resource(quota_resource: str) -> str:
    """Return the name of a resource in quotas, in words."""
    base, of_class = without_section(quota_resource), ""
    for marker in (OF_STORAGE_CLASS, OF_DEVICE_CLASS):
        if marker in quota_resource:
            name, _, base = quota_resource.partition(marker)
            base, of_class = without_section(base), f" of class {name}"
    base = base.removeprefix(COUNT)
    return f"{base} of limits" if quota_resource.startswith(LIMITS) else f"{base}{of_class}"
