"""Import contracts of the packages, as tables.

To allow an import, change the table here and the one in docs/architecture.md.
"""

from __future__ import annotations

PACKAGES: dict[str, frozenset[str]] = {
    "validators": frozenset(),
    "certs": frozenset({"apiserver"}),
    "apiserver": frozenset(),
    "webhooks": frozenset({"validators", "apiserver", "certs"}),
    "workloadbuilder": frozenset({"validators"}),
    "scheduler_core": frozenset({"validators", "apiserver"}),
    "muster": frozenset({"validators", "webhooks", "certs", "apiserver", "workloadbuilder", "scheduler_core", "muster_scheduling"}),
    "muster_scheduling": frozenset({"muster"}),
}
"""Packages of this project, each with those that it may import.  No package imports tests or benchmarks; only the entry point
``muster_scheduling``, a module, imports muster."""

LAYERS: dict[str, tuple[frozenset[str], ...]] = {
    "validators": (
        frozenset({"field", "gates", "cached_attribute", "record"}),
        frozenset({"content", "versions"}),
        frozenset({"model"}),
        frozenset({"lookup", "synonyms"}),
        frozenset({"hierarchy"}),
        frozenset({"rules", "defaults", "schema"}),
        frozenset({"applicable_rules", "built_in", "document_head", "pod_templates"}),
        frozenset({"pipeline"}),
        frozenset({"lint"}),
        frozenset({"reports"}),
        frozenset({"migrate"}),
    ),
    "scheduler_core": (
        frozenset({"cel"}),
        frozenset({"model"}),
        frozenset({"plugins"}),
        frozenset({"loading"}),
        frozenset({"queueing"}),
        frozenset({"placement"}),
        frozenset({"exact", "preemption", "diagnosis"}),
        frozenset({"cycle"}),
        frozenset({"whatif"}),
        frozenset({"sidecar", "facade"}),
    ),
    "scheduler_core.exact": (
        frozenset({"step_budget", "needs"}),
        frozenset({"volumes", "devices", "certificate"}),
        frozenset({"packing"}),
        frozenset({"tree", "completion", "claims_of_plan"}),
        frozenset({"complete"}),
    ),
    "scheduler_core.preemption": (
        frozenset({"units"}),
        frozenset({"result"}),
        frozenset({"victims", "plans"}),
        frozenset({"bounds"}),
        frozenset({"minimal"}),
    ),
    "scheduler_core.sidecar": (
        frozenset({"writes"}),
        frozenset({"settings"}),
        frozenset({"client"}),
        frozenset({"cache"}),
        frozenset({"queue"}),
        frozenset({"scheduling", "controllers"}),
        frozenset({"writer"}),
        frozenset({"process"}),
    ),
    "scheduler_core.cycle": (
        frozenset({"verdicts", "preemptor", "effects", "claim_consumers", "device_holders", "volume_choices"}),
        frozenset({"device_decisions"}),
        frozenset({"decider"}),
        frozenset({"run_cycle"}),
        frozenset({"proofs"}),
    ),
    "scheduler_core.whatif": (
        frozenset({"edits"}),
        frozenset({"trial"}),
        frozenset({"remedies"}),
    ),
    "workloadbuilder": (
        frozenset({"workload_item", "errors"}),
        frozenset({"names", "type_checks", "shapes"}),
        frozenset({"blocks", "workload_owner", "resolve", "template_annotations"}),
        frozenset({"check", "check_tree", "templates"}),
        frozenset({"unchanged", "blueprint"}),
        frozenset({"groups", "existing_workload"}),
        frozenset({"builder", "update"}),
        frozenset({"adapters"}),
    ),
    "workloadbuilder.adapters": (
        frozenset({"shared", "explained"}),
        frozenset({"group_instances", "jobset", "leaderworkerset", "other_schedulers"}),
        frozenset({"job", "trainjob", "grove", "apps", "kubeflow", "ray"}),
        frozenset({"cronjob"}),
        frozenset({"kinds"}),
        frozenset({"compiled", "skipped_kinds"}),
    ),
    "apiserver": (
        frozenset({"connect", "api", "election"}),
        frozenset({"discovery", "feature_gates", "watch", "lease"}),
    ),
    "webhooks": (
        frozenset({"enforcement", "log"}),
        frozenset({"knobs"}),
        frozenset({"certificate_settings"}),
        frozenset({"settings"}),
        frozenset({"admission", "lookup"}),
        frozenset({"server"}),
    ),
    "webhooks.admission": (
        frozenset({"review", "records", "status", "jsonpatch", "priority"}),
        frozenset({"verdict"}),
        frozenset({"replay"}),
    ),
    "webhooks.lookup": (
        frozenset({"source", "object_cache"}),
        frozenset({"watched"}),
    ),
    "webhooks.server": (
        frozenset({"tls", "metrics", "connection", "lifespan"}),
        frozenset({"routes", "certificates"}),
        frozenset({"application"}),
        frozenset({"worker"}),
        frozenset({"process"}),
    ),
    "muster": (
        frozenset({"standard_output", "extras", "render"}),
        frozenset({"html", "doctor"}),
        frozenset({"commands"}),
        frozenset({"cli"}),
        frozenset({"reference"}),
        frozenset({"document"}),
        frozenset({"__main__"}),
    ),
    "muster.doctor": (
        frozenset({"manifests", "latencies"}),
        frozenset({"world"}),
        frozenset({"finding", "components"}),
        frozenset({"budgets", "entries"}),
        frozenset({"control_plane", "leaves", "rights"}),
        frozenset({"checks"}),
    ),
}
"""Layers of each package, the lowest first.  A part (a module or a sub-package) imports from itself and from lower layers, never
from another part of its own layer."""

EDGES: dict[str, tuple[str, ...]] = {
    "msgspec": (
        "validators/model/*",
        "validators/lint/object_columns.py",
        "validators/record.py",
        "validators/lint/object_store.py",
        "validators/lint/batch.py",
        "scheduler_core/model/wire.py",
        "scheduler_core/model/wire_devices.py",
        "scheduler_core/model/wire_resource_claims.py",
        "scheduler_core/model/wire_texts.py",
        "scheduler_core/model/wire_volumes.py",
        "webhooks/admission/review.py",
        "webhooks/lookup/watched.py",
        "apiserver/*",
        "scheduler_core/sidecar/*",
    ),
    "jsonschema_rs": ("validators/schema.py",),
    "pygls": ("muster/commands/lsp/*",),
    "lsprotocol": ("muster/commands/lsp/*",),
    "pathspec": ("validators/lint/path_patterns.py",),
    "yaml": ("validators/lint/yaml_events.py", "muster/render/yaml_text.py"),
    "flask": ("webhooks/server/routes.py", "scheduler_core/sidecar/process/http.py"),
    "werkzeug": ("webhooks/server/routes.py",),
    "uvicorn": ("webhooks/server/process.py", "webhooks/server/connection.py", "scheduler_core/sidecar/process/http.py"),
    "uvicorn_worker": ("webhooks/server/process.py",),
    "uvloop": ("webhooks/server/connection.py",),
    "a2wsgi": ("scheduler_core/sidecar/process/http.py",),
    "prometheus_client": ("webhooks/server/metrics.py", "scheduler_core/sidecar/process/metrics.py"),
    "kubernetes": ("apiserver/connect.py", "apiserver/api.py", "webhooks/lookup/watched.py", "scheduler_core/sidecar/process/main.py"),
    "urllib3": ("apiserver/api.py",),
    "gunicorn": ("webhooks/server/process.py",),
    "cryptography": ("certs/*", "webhooks/server/tls.py"),
    "click": ("muster/*",),
    "numpy": ("scheduler_core/*", "muster/html/*"),
    "jinja2": ("muster/html/*",),
    "cel_expr_python": ("scheduler_core/cel/syntax.py",),
    "re2": ("scheduler_core/cel/regexes.py",),
}
"""Third-party libraries, each with the only files that may import it."""

IMPURE: dict[str, str] = {
    "validators/lint/files.py": "reads manifests",
    "validators/lint/folders.py": "lists directories",
    "validators/lint/discovery.py": "lists directories, reads .gitignore and kustomizations",
    "validators/lint/path_patterns.py": "paths of the system",
    "validators/schema.py": "signals, which the library about schemas handles",
    "apiserver/*": "calls the API server",
    "webhooks/server/routes.py": "HTTP",
    "webhooks/lookup/object_cache.py": "a clock, by which what is known grows stale",
    "webhooks/lookup/watched.py": "watches the API server",
    "webhooks/log.py": "the log",
    "webhooks/server/*": "a process",
    "webhooks/server/metrics.py": "metrics",
    "webhooks/server/tls.py": "key pairs in files",
    "certs/store.py": "key pairs in files",
    "certs/replicas.py": "TLS handshakes and a clock",
    "certs/rotation_run.py": "a clock",
    "certs/controller.py": "a clock",
    "certs/published.py": "key pairs in files, and a clock",
    "scheduler_core/sidecar/writer/executor.py": "writes to the API server",
    "scheduler_core/sidecar/cache/informers.py": "watches the API server",
    "scheduler_core/sidecar/process/http.py": "HTTP",
    "scheduler_core/sidecar/process/mailbox.py": "the queue between threads",
    "scheduler_core/sidecar/controllers/runner.py": "a clock, by which it takes a small share of the time",
    "scheduler_core/sidecar/process/loop.py": "a thread",
    "scheduler_core/sidecar/writer/dispatcher.py": "threads",
    "scheduler_core/sidecar/process/main.py": "a process",
    "scheduler_core/sidecar/process/permissions.py": "a thread",
    "scheduler_core/sidecar/process/metrics.py": "metrics",
    "muster/*": "the command line",
    "muster_scheduling.py": "the command line",
}
"""Impure files, each with the reason.  All other files are pure."""

PURE_WITHIN = ("muster/doctor/*",)
"""Pure files whose package is impure as a whole."""

IMPURE_MODULES = frozenset(
    {
        *("os", "sys", "io", "time", "random", "socket", "threading", "subprocess", "logging"),
        # Other ways to the same.
        *("asyncio", "multiprocessing", "secrets", "select", "selectors", "shutil", "signal", "tempfile", "http", "uuid", "urllib.request"),
    }
)
IMPURE_CALLS = frozenset({"open", "print", "input", "datetime.now", "datetime.utcnow", "datetime.today", "date.today"})

METHODS_OF_A_PROTOCOL = 3

MOST_LINES = 300
FEWEST_LINES = 40
"""A shorter module is merged into the only module that imports it, unless both together have more than MOST_LINES."""

SMALL: dict[str, str] = {
    "muster/commands/compile/yaml_output.py": "a format is a file",
    "muster/commands/simulate/certificate_file.py": "a format is a file",
    "muster/doctor/checks/*": "a check is a file",
    "scheduler_core/plugins/*": "a plugin is a file",
    "validators/reports/*": "a format is a file",
    "validators/rules/*": "a rule is a file",
    "workloadbuilder/adapters/*": "what another controller means is a file",
    "*__init__.py": "says what a package is for",
    "*__main__.py": "what ``python -m`` looks for",
}
"""Files that may be short although at most one module imports them, each with the reason."""
