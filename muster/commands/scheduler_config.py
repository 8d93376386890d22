"""Reader of the file of ``--scheduler-config``: a KubeSchedulerConfiguration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scheduler_core.model.placement_options import SCHEDULER_CONFIG

if TYPE_CHECKING:
    from scheduler_core.behavior.scheduler_behavior import SchedulerBehavior
    from scheduler_core.loading.configuration.scheduler_configuration import SchedulerConfiguration

_MOST_SHOWN = 5
"""Maximum number of errors in a message."""


def read_file(path: str, behavior: SchedulerBehavior | None) -> tuple[dict[str, Any], SchedulerConfiguration]:
    """Return the configuration of the file *path*, as it is written and as a kube-scheduler with *behavior* reads it; None: of any version.

    Raises:
        click.UsageError: the file cannot be read or is not valid; the message has file, line and field of each error.

    """
    from scheduler_core.loading.configuration.scheduler_configuration import read_by_any_version, read_configuration
    from validators.lint import documents
    from validators.lint.documents import Document
    from validators.lint.limits import LARGEST_FILE

    try:
        with Path(path).open("rb") as stream:
            content = stream.read(LARGEST_FILE + 1)
    except OSError as error:
        raise click.UsageError(f"{SCHEDULER_CONFIG.flag} {path}: {(error.strerror or str(error)).lower()}") from None
    parts = documents.parse(path, content).parts
    for part in parts:
        if not isinstance(part, Document):
            raise click.UsageError(f"{SCHEDULER_CONFIG.flag} {path}:{part.line}: {part.message}")
    found = [part for part in parts if isinstance(part, Document)]
    if len(found) != 1:
        raise click.UsageError(f"{SCHEDULER_CONFIG.flag} {path}: must be one KubeSchedulerConfiguration, not {len(found)} objects")
    written = found[0].content
    configuration = read_by_any_version(written) if behavior is None else read_configuration(written, behavior)
    if configuration.errors:
        texts = [f"{path}:{found[0].span(each.path).line}: {each.path}: {each}" for each in configuration.errors]
        more = f"; and {len(texts) - _MOST_SHOWN} more errors" if len(texts) > _MOST_SHOWN else ""
        raise click.UsageError(f"{SCHEDULER_CONFIG.flag} {'; '.join(texts[:_MOST_SHOWN])}{more}")
    return found[0].content, configuration
