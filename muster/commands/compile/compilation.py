"""Compilation of all objects of a call, in an order independent of the inputs, without duplicate names."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence

from expansion.created import with_free_name
from expansion.notes import NotSimulated
from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from kubeapi.names import Name
from muster.commands.compile.sources import CompileInputs
from muster.commands.progress import Progress
from muster.render.problem_words import option_for
from validators import field, pipeline
from validators.field import FieldError
from validators.lint.documents import Document
from validators.reports.counts import counted
from validators.rules.base import Operation, Settings, Severity
from workloadbuilder.adapters import kinds
from workloadbuilder.adapters.compiled import Compiled, CompileOptions, compile_object
from workloadbuilder.adapters.shared import object_identity
from workloadbuilder.adapters.shared.known_objects import Known, group_of
from workloadbuilder.adapters.shared.named_groups import is_of_other_scheduler
from workloadbuilder.adapters.shared.pod_sets import ONE_BY_ONE
from workloadbuilder.adapters.skipped_kinds import Skipped, skip_reason

_NAME = FieldPath("metadata", "name")
_WORKLOAD = "Workload"


@dataclasses.dataclass(frozen=True, slots=True)
class CompileResult:
    """One object and the result of its compilation."""

    document: Document
    compiled: Compiled


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """Compilations of all objects by namespace, kind and name, and the inputs that could not be read."""

    results: tuple[CompileResult, ...]
    problems: tuple[str, ...]

    @property
    def objects(self) -> Iterator[dict[str, Json]]:
        """Return all created objects, in order."""
        return (each for result in self.results for each in result.compiled.objects)

    @property
    def exit_status(self) -> int:
        """Return 0 if all objects are compiled, 1 if one is refused, 2 if there are problems, 3 if both."""
        refused = any(result.compiled.errors for result in self.results)
        return int(refused) | (2 if self.problems else 0)


Compile = Callable[[Json, Known, CompileOptions], Compiled | None]


def run(inputs: CompileInputs, options: CompileOptions, progress: Progress, compile_one: Compile = compile_object) -> Run:
    """Compile all documents of known kinds; the created objects are validated as in the Kubernetes version of *inputs*."""
    results: list[CompileResult] = []
    skipped: list[CompileResult] = []
    groups = [each for each in inputs.documents if is_of_other_scheduler(each.content)]
    with_pods = [each for each in inputs.documents if not is_of_other_scheduler(each.content)]
    known = inputs.known
    for document in progress.over((*with_pods, *groups), len(inputs.documents), "compiling"):
        if known is inputs.known and is_of_other_scheduler(document.content):
            # The pods that are created so far can be their members.
            _name_pods_apart(results)
            known = known.joined_by(created for each in results for created in each.compiled.objects if created["kind"] == "Pod")
        compiled = compile_one(document.content, known, options)
        if compiled is not None:
            results.append(CompileResult(document, compiled))
        elif (why := skip_reason(document.content)).reason:
            skipped.append(CompileResult(document, _skipped(document, why)))
    problems = inputs.problems
    if not problems and all(each.compiled.skipped == ONE_BY_ONE for each in results):
        problems = (f"there is nothing to compile among {counted(len(inputs.documents), 'object')}; supported kinds: {kinds.listed()}",)
    results = [*_without_members(results), *skipped]
    results.sort(key=_order)
    settings = Settings(minor=inputs.known.kubernetes, linting=True)
    unique = progress.over(_without_duplicates(results, known, options, compile_one), len(results), "validating")
    return Run(tuple(_validated(each, settings) for each in unique), problems)


def _skipped(document: Document, why: Skipped) -> Compiled:
    about, _ = object_identity.read_identity(document.content, [], [])
    option = option_for(NotSimulated.from_skipped(about.owner.kind, about.owner.group, why))
    return Compiled(about.owner, about.namespace, skipped=f"{why.reason}{option}")


def _order(result: CompileResult) -> tuple[str, str, str, str, str, int]:
    compiled, document = result.compiled, result.document
    name = _named(document)
    return (
        compiled.namespace,
        str(document.content.get("kind")),
        name,
        str(document.content.get("apiVersion")),
        document.file,
        document.index,
    )


def _named(document: Document) -> str:
    metadata = document.content.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""


def _name_pods_apart(results: list[CompileResult]) -> None:
    """Give pods with the name of a pod of another object another one: most controllers end their names with random letters."""
    results.sort(key=_order)
    pods: set[Name] = set()
    seen: set[tuple[str, ...]] = set()
    for result in results:
        own = _own_name(result)
        if own[3] and own in seen:
            continue
        seen.add(own)
        for pod in filter(lambda each: each["kind"] == "Pod", result.compiled.objects):
            pods.add(with_free_name(pod, Name(*own[1:]), pods))


def _own_name(result: CompileResult) -> tuple[str, str, str, str]:
    """Return API group, kind, namespace and name of the object that was compiled."""
    content = result.document.content
    return group_of(str(content.get("apiVersion"))), str(content.get("kind")), result.compiled.namespace, _named(result.document)


def _without_members(results: Sequence[CompileResult]) -> Iterator[CompileResult]:
    """Yield the results; pods that are members of another scheduler's group are created with the group only."""
    groups = [each for each in results if is_of_other_scheduler(each.document.content)]
    members = {_identity(each) for group in groups for each in group.compiled.objects if each["kind"] == "Pod"}
    for result in results:
        if not members or is_of_other_scheduler(result.document.content):
            yield result
            continue
        remaining = tuple(each for each in result.compiled.objects if _identity(each) not in members)
        yield dataclasses.replace(result, compiled=dataclasses.replace(result.compiled, objects=remaining))


def _without_duplicates(
    results: Iterable[CompileResult], known: Known, options: CompileOptions, compile_one: Compile
) -> Iterator[CompileResult]:
    """Yield the results; refuse objects given twice.

    An object whose Workload or group would have the name of one that is created for another object is compiled anew, with other names.
    """
    given: dict[tuple[str, str, str, str], CompileResult] = {}
    owners: dict[tuple[str, str, str], CompileResult] = {}
    pods: set[Name] = set()
    for result in results:
        own = _own_name(result)
        if own[3] and own in given:
            yield _refused(result, field.duplicate(_NAME, own[3], f"the object is given twice: also at {_place(given[own])}"))
            continue
        given[own] = result
        if any(each["kind"] != "Pod" and _identity(each) in owners for each in result.compiled.objects):
            compiled = compile_one(result.document.content, known, dataclasses.replace(options, distinct=True))
            result = dataclasses.replace(result, compiled=compiled or result.compiled)  # noqa: PLW2901 - the same object with other names
        for pod in filter(lambda each: each["kind"] == "Pod", result.compiled.objects):
            pods.add(with_free_name(pod, Name(*own[1:]), pods))
        names = [_identity(each) for each in result.compiled.objects]
        if taken := next((name for name in names if name in owners), None):
            kind, namespace, name = taken
            detail = (
                f"{kind} {f'{namespace}/' if namespace else ''}{name} is also created for {_description(owners[taken])}: "
                "set the metadata.uid of both, from which names are derived, or rename one"
            )
            yield _refused(result, field.duplicate(_NAME, own[3], detail))
            continue
        owners.update(dict.fromkeys(names, result))
        yield result


def _identity(content: dict[str, Json]) -> tuple[str, str, str]:
    metadata = content["metadata"]
    return content["kind"], metadata.get("namespace", ""), metadata["name"]


def _refused(result: CompileResult, error: FieldError) -> CompileResult:
    compiled = dataclasses.replace(result.compiled, objects=(), errors=(*result.compiled.errors, error))
    return dataclasses.replace(result, compiled=compiled)


def _description(result: CompileResult) -> str:
    compiled = result.compiled
    name = f"{compiled.namespace}/" if compiled.namespace else ""
    return f"{result.document.content.get('kind')} {name}{_named(result.document)} ({_place(result)})"


def _place(result: CompileResult) -> str:
    span = result.document.span(FieldPath())
    return f"{result.document.file}:{span.line}"


def _validated(result: CompileResult, settings: Settings) -> CompileResult:
    """Return the result, refused if the API server or the KEPs would refuse the Workload; groups are copies of its templates."""
    for content in result.compiled.objects:
        if content["kind"] != _WORKLOAD:
            continue
        for violation in pipeline.validate(
            _WORKLOAD, content, None, Operation.CREATE, api_version=content["apiVersion"], settings=settings
        ):
            if violation.severity is Severity.ERROR:
                detail = f"its Workload {content['metadata']['name']} would be refused: {violation.error.path}: {violation.error}"
                result = _refused(result, field.invalid_struct(FieldPath(), detail))
    return result
