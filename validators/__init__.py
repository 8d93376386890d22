"""Validation rules for Workload, PodGroup and CompositePodGroup, as pure code.

``validate`` gets an object, its old version and a lookup of other objects.  It returns all errors, each with
Kubernetes' own error type and the exact field path.  It reads no file, no clock and no network.  The linter, the
webhooks and the scheduler are built on it.

applicable_rules  selection of the rules that apply to an object: by the request, and by the traits of the object
cached_attribute  attribute that is computed on first access and kept
content           formats of names, labels and condition reasons
document_head     errors of the ``apiVersion`` and ``kind`` of a document
field             field errors
gates             feature gates of the API server: names, dependencies, and a set of gates that are on or off
json_schema       failures of a JSON value under a JSON Schema of the dialect in which ``schemas/`` is written
known_kinds       known kinds by API group, and errors of kinds and groups that are nearly known
object_lookup     lookup of other objects by rules
options           declaration of an option: command line, environment variable, key of a request, setting, documentation
pipeline          validation of one object: schema, decoding, defaults, rules
pod_templates     shape of the pod templates of controllers, by the schema of Pods
rule_options      options of rules: profile, version, feature gates, severities
schema            validation of JSON against the schemas of the kinds
whole_documents   errors of documents that create pods, in all of their fields
field_synonyms    fields by the names that other projects, drafts and retired versions give them
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from kubeapi.field_path import FieldPath
from validators.field import ErrorType, FieldError

if TYPE_CHECKING:
    from validators.pipeline import validate

__all__ = ["ErrorType", "FieldError", "FieldPath", "validate"]

# Imported on first use: code that needs only a FieldPath must not wait for the import of all rules.
_LAZY = {"validate": ("validators.pipeline", "validate")}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _LAZY[name]
    return getattr(importlib.import_module(module), attribute)
