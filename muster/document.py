"""Generator of documentation: the page of rules, and the pages of ``docs/reference``.

``python -m muster.document`` writes them; ``--check`` lists those that are out of date and exits with status 1.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kubeapi.versions import kubernetes_releases
from muster import reference
from muster.doctor import checks
from scheduler_core.sidecar import settings as sidecar_settings
from scheduler_core.sidecar.process.metrics import SidecarMetrics
from validators import rules
from validators.gates import LAST_VERSIONS
from validators.options import Option
from validators.reports import explain
from validators.rules.base import About, Operation, Rule, Severity
from webhooks import settings
from webhooks.server.metrics import Telemetry

ROOT = Path(__file__).parent.parent
RULES_PAGE = ROOT / "validators" / "rules" / "README.md"
REFERENCE = ROOT / "docs" / "reference"


def pages() -> dict[Path, str]:
    """Return each generated file with the text that it should have."""
    return {
        RULES_PAGE: explain.documentation(list(rules.discover().values())),
        REFERENCE / "admission.md": reference.admission_page(rules_table()),
        REFERENCE / "commands.md": reference.commands_page(),
        REFERENCE / "settings.md": reference.settings_page(
            *(options_table(each.values()) for each in (settings.OPTIONS, sidecar_settings.OPTIONS))
        ),
        REFERENCE / "metrics.md": reference.metrics_page(Telemetry().described(), metrics_table()),
        REFERENCE / "conditions.md": reference.conditions_page(),
        REFERENCE / "kubernetes.md": reference.kubernetes_page(_changes()),
        REFERENCE / "causes.md": reference.causes_page(),
        REFERENCE / "checks.md": reference.checks_page((each.id, each.claim, each.why) for each in checks.discover().values()),
    }


def _changes() -> list[tuple[str, str, str]]:
    """Return the changes of Kubernetes: version, the rule that each concerns (empty if none), text; in order of version."""
    of_rules = {each.change for rule in rules.discover().values() for each in rule.changes}
    rows = [(kubernetes_releases.name(each), "", each.change) for each in kubernetes_releases.changes() if each.change not in of_rules]
    for rule in rules.discover().values():
        link = f"[{rule.id}](rules.md#{rule.id})"
        if rule.since > kubernetes_releases.OLDEST:
            rows.append((kubernetes_releases.name(rule.since), link, "introduced"))
        if rule.upstream_since is not None:
            rows.append((kubernetes_releases.name(rule.upstream_since), link, "a rule of the API server; before, of profile `kep` only"))
        if rule.until < kubernetes_releases.NEWEST:
            rows.append((kubernetes_releases.name(rule.until + 1), link, "withdrawn: a warning of profile `kep`"))
        rows += [(kubernetes_releases.name(each), link, each.change) for each in rule.changes]
    rows += [
        (kubernetes_releases.name(last + 1), "", f"the feature gate `{name}` is gone: what it guarded is on")
        for name, last in LAST_VERSIONS.items()
    ]
    return sorted(rows)


def rules_table() -> str:
    """Return the table of rules: the claim, and the result of a violation in files and at admission."""
    rows = ["| rule | claim | in files | at admission | profile |\n|---|---|---|---|---|\n"]
    for rule in rules.discover().values():
        link = f"[{rule.id}](rules.md#{rule.id})"
        rows.append(f"| {link} | {_escaped(rule.claim)} | {rule.severity} | {_at_admission(rule)} | {rule.profile} |\n")
    return "".join(rows)


def _at_admission(rule: Rule) -> str:
    if rule.about is About.FILE or rule.at_admission is Severity.OFF or rule.id in {"schema-unknown-field", "retired-version"}:
        return "not judged"
    if rule.severity is Severity.WARNING or rule.at_admission is Severity.WARNING or rule.id in _ABOUT_PRESENCE:
        return "warning"
    when = {frozenset({Operation.CREATE}): "on create", frozenset({Operation.UPDATE}): "on update"}.get(rule.on, "")
    return f"error {when}".strip()


_ABOUT_PRESENCE = frozenset({"parent-exists", "scheduling-group-exists", "priority-class-exists"})
"""Rules that report missing objects: a warning at admission, because the object can be created later."""


def options_table(options: Iterable[Option[Any]]) -> str:
    """Return the table of the options of a program: variable, option, default and purpose."""
    rows = ["| variable | option | default | purpose |\n|---|---|---|---|\n"]
    for each in options:
        default = f"`{each.default}`" if each.default else each.unset
        rows.append(
            f"| `{each.variable}` | {f'`{each.long}`' if each.flag else ''} | {default} | {_escaped(each.purpose or each.help)} |\n"
        )
    return "".join(rows)


def metrics_table() -> str:
    """Return the table of the sidecar's metrics: name, labels and meaning."""
    head = "| metric | labels | meaning |\n|---|---|---|\n"
    return head + "".join(
        f"| `{each.name}` | {', '.join(f'`{label}`' for label in each.labels)} | {_escaped(each.about)} |\n"
        for each in SidecarMetrics().described()
    )


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def main(arguments: list[str]) -> int:
    """Write the pages, or with ``--check`` list those that are out of date."""
    stale = [path for path, text in pages().items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if "--check" in arguments:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is out of date: run python -m muster.document", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        path.write_text(pages()[path], encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
