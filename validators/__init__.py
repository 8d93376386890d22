"""What is right: the rules about Workload, PodGroup and CompositePodGroup, as pure code.

Give it an object, what it was before, and a way to look up others; it answers with every breach of every rule, each
with Kubernetes' own error type and the exact field path.  It reads no file, no clock and no network; the linter, the
webhooks and the scheduler are built on it.
"""

from validators.field import ErrorType, FieldError, FieldPath

__all__ = ["ErrorType", "FieldError", "FieldPath"]
