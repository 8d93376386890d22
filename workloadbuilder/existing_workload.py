"""Reading of an existing Workload, created by this library or another program, to create its groups or to compare with it."""

from __future__ import annotations

from collections.abc import Mapping

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from kubeapi.versions import served_versions
from validators import field
from validators.field import FieldError
from workloadbuilder.blueprint import Blueprint
from workloadbuilder.errors import BuildError

_API_VERSIONS = tuple(row.name for row in served_versions.current("Workload"))


def read(workload: Json, kubernetes: int, *, stored: bool = False) -> Blueprint:
    """Return the Workload as a blueprint, after validating it as the API server of Kubernetes 1.*kubernetes* does.

    A *stored* Workload may be one that only an older version would accept.

    Its groups belong to the Workload's own controller, and have a hash in their names if the controller's uid is known.

    Raises:
        BuildError: it is not a Workload of a served version, or the API server would refuse it.
    """
    if not isinstance(workload, Mapping):
        raise BuildError([field.type_invalid(FieldPath(), "", "must be a mapping: a Workload")])
    if workload.get("apiVersion") not in _API_VERSIONS:
        raise BuildError([field.not_supported(FieldPath("apiVersion"), workload.get("apiVersion"), _API_VERSIONS)])
    if workload.get("kind") != "Workload":
        raise BuildError([field.not_supported(FieldPath("kind"), workload.get("kind"), ["Workload"])])
    errors = _errors(workload, kubernetes)
    if errors and not (stored and not _errors(workload, served_versions.served_since("Workload"))):
        raise BuildError(errors)
    if not workload["metadata"].get("name"):
        raise BuildError([field.required(FieldPath("metadata", "name"), "groups refer to their Workload by name")])
    owners = workload["metadata"].get("ownerReferences") or []
    if not (isinstance(owners, list) and all(isinstance(each, Mapping) for each in owners)):
        raise BuildError([field.type_invalid(FieldPath("metadata", "ownerReferences"), "", "must be a list of mappings")])
    references = [each for each in owners if each.get("controller") and each.get("uid")][:1]
    return Blueprint(workload, references=references, kubernetes=kubernetes)


def _errors(workload: Mapping[str, Json], kubernetes: int) -> list[FieldError]:
    # Imported here: importing all rules takes time, and a program that only builds Workloads does not need them.
    from validators import pipeline
    from validators.rules.base import Operation, Profile, Settings, Severity

    settings = Settings(profile=Profile.UPSTREAM, minor=kubernetes, linting=True)
    try:
        judged = pipeline.validate("Workload", workload, None, Operation.CREATE, api_version=workload["apiVersion"], settings=settings)
    except (TypeError, ValueError) as error:
        raise BuildError([field.invalid_struct(FieldPath(), "must be JSON: objects with text as keys, lists, texts, numbers")]) from error
    except RecursionError as error:
        raise BuildError([field.invalid_struct(FieldPath(), "must be nested less deeply: a Workload has four levels")]) from error
    return [each.error for each in judged if each.severity is Severity.ERROR]
