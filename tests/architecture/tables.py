"""Import contracts of the packages, as tables.

To allow an import, change the table here and the one in docs/architecture.md.
"""

from __future__ import annotations

PACKAGES: dict[str, frozenset[str]] = {
    "kubeapi": frozenset(),
    "validators": frozenset({"kubeapi"}),
    "certs": frozenset({"apiserver"}),
    "apiserver": frozenset(),
    "webhooks": frozenset({"kubeapi", "validators", "workloadbuilder", "apiserver", "certs"}),
    "workloadbuilder": frozenset({"kubeapi", "validators"}),
    "expansion": frozenset({"kubeapi", "validators", "workloadbuilder"}),
    "scheduler_core": frozenset({"kubeapi", "validators", "apiserver", "workloadbuilder"}),
    "muster": frozenset(
        {"kubeapi", "validators", "webhooks", "certs", "apiserver", "workloadbuilder", "expansion", "scheduler_core", "muster_scheduling"}
    ),
    "muster_scheduling": frozenset({"muster"}),
}
"""Packages of this project, each with those that it may import.  No package imports one of AROUND; only the entry point
``muster_scheduling``, a module, imports muster."""
ONLY_IN = {
    ("scheduler_core", "apiserver"): "scheduler_core.sidecar",
    ("scheduler_core", "workloadbuilder"): "scheduler_core.sidecar.building",
}
"""Part of a package that alone may import another package."""
AROUND = ("tests", "benchmarks", "examples", "release")
"""Folders of code that is not installed."""

EDGES: dict[str, tuple[str, ...]] = {
    "msgspec": (
        "kubeapi/*",
        "validators/lint/object_columns.py",
        "validators/lint/object_store.py",
        "validators/lint/batch.py",
        "validators/json_schema.py",
        "webhooks/admission/review.py",
        "webhooks/lookup/watched.py",
        "apiserver/*",
        "scheduler_core/sidecar/*",
    ),
    "pygls": ("muster/commands/lsp/*",),
    "lsprotocol": ("muster/commands/lsp/*",),
    "pathspec": ("validators/lint/path_patterns.py",),
    "yaml": ("apiserver/kubeconfig.py", "validators/lint/yaml_events.py", "muster/render/yaml_text.py"),
    "flask": ("webhooks/server/routes.py", "scheduler_core/sidecar/process/http.py"),
    "werkzeug": ("webhooks/server/routes.py",),
    "uvicorn": ("webhooks/server/process.py", "webhooks/server/connection.py", "scheduler_core/sidecar/process/http.py"),
    "uvicorn_worker": ("webhooks/server/process.py",),
    "uvloop": ("webhooks/server/connection.py",),
    "a2wsgi": ("scheduler_core/sidecar/process/http.py",),
    "prometheus_client": (
        "webhooks/server/metrics.py",
        "webhooks/server/multiprocess_metrics.py",
        "scheduler_core/sidecar/process/metrics.py",
    ),
    "websocket": ("apiserver/port_forward.py",),
    "urllib3": ("apiserver/api.py", "apiserver/connection.py"),
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
    "kubeapi/decode.py": "a lock, because many threads decode",
    "validators/lint/file_content.py": "reads files",
    "validators/lint/files.py": "reads manifests",
    "validators/lint/folders.py": "lists directories",
    "validators/lint/discovery.py": "lists directories, reads .gitignore and kustomizations",
    "validators/lint/path_patterns.py": "paths of the system",
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
    "certs/forwarded_replicas.py": "connections through the API server",
    "certs/rotation_run.py": "a clock",
    "certs/controller.py": "a clock",
    "certs/replica_files.py": "key pairs in files, and a clock",
    "scheduler_core/sidecar/writer/executor.py": "writes to the API server",
    "scheduler_core/sidecar/cache/informers.py": "watches the API server",
    "scheduler_core/sidecar/building/owned_objects.py": "a lock, because the threads of watches fill it",
    "scheduler_core/sidecar/building/build_results.py": "a lock, because metrics and /explain read what the builder writes",
    "scheduler_core/sidecar/building/builder.py": "threads",
    "scheduler_core/sidecar/process/http.py": "HTTP",
    "scheduler_core/sidecar/process/mailbox.py": "the queue between threads",
    "scheduler_core/sidecar/controllers/runner.py": "a clock, by which it takes a small share of the time",
    "scheduler_core/sidecar/process/loop.py": "a thread",
    "scheduler_core/sidecar/writer/dispatcher.py": "threads",
    "scheduler_core/sidecar/process/main.py": "a process",
    "scheduler_core/sidecar/process/left_over_claims.py": "a thread",
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

VALUES: dict[str, tuple[str, ...]] = {
    "causes": ("scheduler_core.model.", "kubeapi."),
    "wording": ("scheduler_core.behavior.", "scheduler_core.model.", "scheduler_core.causes.", "kubeapi."),
}
"""Parts of ``scheduler_core`` for reasons as values, and as text, each with the parts and packages that it may import."""
FACTS = ("scheduler_core.causes.*", "expansion.notes", "expansion.queue_notes", "muster.render.drain_facts", "muster.render.file_notes")
"""Modules of facts: values that say what is wrong, or why."""
WORDED_BY = frozenset({"wording", "facade", "sidecar"})
"""Parts of ``scheduler_core`` that may import ``wording``, in addition to ``muster``."""
_OF_KUBE_SCHEDULER, _OF_A_ROW = "reasons and errors of kube-scheduler, in its words", "names of rows of the node table"
_OF_THE_API_SERVER = "errors of the API server, and what stands in for one"
WITH_TEXT: dict[str, str] = {
    "scheduler_core.wording.*": "turns values into text",
    "scheduler_core.loading.*": "errors in objects and their fields",
    "scheduler_core.cel.*": _OF_THE_API_SERVER,
    "scheduler_core.model.attach_limits": _OF_A_ROW,
    "scheduler_core.model.counted_sets": _OF_A_ROW,
    "scheduler_core.model.delayed_claims": _OF_A_ROW,
    "scheduler_core.model.nodes": _OF_A_ROW,
    "scheduler_core.model.resource_values": _OF_A_ROW,
    "scheduler_core.plugins.devices.interchangeable": _OF_A_ROW,
    "scheduler_core.model.device_pools": _OF_KUBE_SCHEDULER,
    "scheduler_core.model.devices": _OF_KUBE_SCHEDULER,
    "scheduler_core.model.volumes": _OF_KUBE_SCHEDULER,
    "scheduler_core.plugins.devices.allocator": _OF_KUBE_SCHEDULER,
    "scheduler_core.plugins.devices.assumed_claims": _OF_KUBE_SCHEDULER,
    "scheduler_core.plugins.devices.chosen_devices": _OF_KUBE_SCHEDULER,
    "scheduler_core.plugins.devices.consumable_capacity": _OF_KUBE_SCHEDULER,
    "scheduler_core.plugins.devices.node_allocations": _OF_KUBE_SCHEDULER,
    "scheduler_core.plugins.devices.selection": _OF_KUBE_SCHEDULER,
    "scheduler_core.plugins.inter_pod_affinity": _OF_KUBE_SCHEDULER,
    "scheduler_core.plugins.node_*": _OF_KUBE_SCHEDULER,
    "scheduler_core.plugins.noderesources": _OF_KUBE_SCHEDULER,
    "scheduler_core.plugins.pod_topology_spread": _OF_KUBE_SCHEDULER,
    "scheduler_core.plugins.taint_toleration": _OF_KUBE_SCHEDULER,
    "scheduler_core.plugins.volume_*": _OF_KUBE_SCHEDULER,
    "scheduler_core.plugins.assumed_volumes": _OF_KUBE_SCHEDULER,
    "scheduler_core.preemption.victims.*": _OF_KUBE_SCHEDULER,
    "scheduler_core.cluster.device_store": "names of claims in errors of kube-scheduler",
    "scheduler_core.placement.extension_points": "exceptions of plugins",
    "scheduler_core.exact.certificate.refutation": "keys in certificates",
    "scheduler_core.sidecar.cache.claimed_devices": "keys with a number",
    "scheduler_core.sidecar.cache.informers": "the log, and probes",
    "scheduler_core.sidecar.cache.pod_reader": "the beginning of a text of the kubelet",
    "scheduler_core.sidecar.process.*": "the log, probes, metrics, and answers over HTTP",
    "scheduler_core.sidecar.queue.states": "descriptions of transitions",
    "scheduler_core.model.placement_options": "descriptions of options",
    "scheduler_core.sidecar.settings": "descriptions of options",
    "scheduler_core.sidecar.client.*": _OF_THE_API_SERVER,
    "scheduler_core.sidecar.writer.*": _OF_THE_API_SERVER,
}
"""Modules of ``scheduler_core`` that have text with blanks, or read text, each with the reason.  All others have values only, except in
errors of their callers."""
HAS_CAUSES = "scheduler_core.model.decision"
"""Only module of ``model`` that imports ``causes``, which import ``model`` themselves."""

METHODS_OF_A_PROTOCOL = 3

MOST_LINES = 500
FEWEST_LINES, MERGED_LINES = 40, 300
"""A module shorter than the first is merged into the only module that imports it, unless both together have more than the second."""

SMALL: dict[str, str] = {
    "kubeapi/*": "objects of one sort are a file",
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
