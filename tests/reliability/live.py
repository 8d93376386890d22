"""Commands that read a live cluster, asked of an API server whose objects, lists and discovery are mutated."""

from __future__ import annotations

import contextlib
import functools
import json
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kubeapi import gather
from kubeapi.versions import served_versions
from tests.muster.simulated import gang, node, pod
from tests.muster.test_snapshot_cluster import Api
from tests.reliability import corpus
from tests.reliability.campaign import Campaign, Round
from tests.reliability.documents import FOLDER, SECONDS, invoke
from tests.reliability.fuzzing import Memory, attempt
from tests.reliability.mutations import Mutator

Json = dict[str, Any]
BASE = [node("n1"), node("n2"), gang("g", 2), pod("p", group="g"), pod("q", on="n1"), pod("r")]
WHY = (
    *("pod/p", "pod/r", "podgroup/g", "g", "pod p", "podgroup/g --format json", "pod/p --format json", "g --strategy greedy"),
    *("pod/p --kubernetes 1.38", "compositepodgroup/g", "none", "pod/q"),
)
SNAPSHOT = ("", "--redact", "--format jsonl", "--redact --salt a")
KINDS = frozenset({*gather.KINDS, *gather.ADMISSION_KINDS})


class Question(NamedTuple):
    """A command line, and the answers of the API server by path; their bodies are bytes where they are damaged."""

    options: str
    lists: dict[str, Json]
    others: dict[str, Any]


class Server(Api):
    """API server with the answers of a question."""

    def __init__(self) -> None:
        super().__init__()
        self.given = Question("", {}, {})

    def answer(self, path: str, query: object) -> tuple[int, object]:
        """Return status and content; that of an object is the one of its list with its name."""
        del query
        found = self.given.others.get(path, self.given.lists.get(path))
        if found is None and "/namespaces/" in path:
            base, _, rest = path.partition("/namespaces/")
            namespace, plural, name = [*rest.split("/"), "", ""][:3]
            listed = self.given.lists.get(f"{base}/{plural}", {})
            found = next((each for each in listed.get("items", ()) if _named(each, namespace, name)), None)
        return (404, {"message": "the server could not find the requested resource"}) if found is None else (200, found)

    def handle_error(self, request: object, client_address: object) -> None:
        """Leave out connections that the client has closed."""


def _named(each: Any, namespace: str, name: str) -> bool:
    metadata = each.get("metadata") if isinstance(each, dict) else None
    return isinstance(metadata, dict) and (metadata.get("namespace", "default"), metadata.get("name")) == (namespace, name)


@functools.cache
def _known() -> tuple[Json, ...]:
    return tuple(each for each in corpus.objects() if each["kind"] in KINDS)


def questions(seed: int, count: int, options: tuple[str, ...]) -> Iterator[Question]:
    """Yield questions: one to four objects are mutated; in one of five a list or an answer of discovery is mutated too, or its bytes."""
    mutator = Mutator(seed, _known())
    chance = mutator.random
    for _ in range(count):
        lists, others = _answers([*BASE, *chance.sample(_known(), 3)])
        for each in chance.sample([(listed, at) for listed in lists.values() for at in range(len(listed["items"]))], chance.randint(1, 4)):
            listed, at = each
            listed["items"][at] = mutator.value(listed["items"][at])
        if chance.random() < 0.2:
            path = chance.choice([*lists, *others])
            given = others.get(path, lists.get(path))
            others[path] = mutator.value(given) if chance.random() < 0.6 else mutator.data(json.dumps(given).encode())
        yield Question(chance.choice(options), lists, others)


def _answers(objects: list[Json]) -> tuple[dict[str, Json], dict[str, Any]]:
    """Return lists and discovery of an API server with these objects."""
    lists: dict[str, Json] = {}
    versions: dict[str, set[str]] = {}
    for each in objects:
        version, kind = each["apiVersion"], each["kind"]
        base = "/api/v1" if version == "v1" else f"/apis/{version}"
        plural = served_versions.resources(kind)[0].resource
        listed = lists.setdefault(f"{base}/{plural}", {"apiVersion": version, "kind": f"{kind}List", "metadata": {}, "items": []})
        listed["items"].append({key: value for key, value in each.items() if key not in {"apiVersion", "kind"}})
        if version != "v1":
            versions.setdefault(version.partition("/")[0], set()).add(version.partition("/")[2])
    others: dict[str, Any] = {"/version": {"major": "1", "minor": "37"}}
    for group, served in versions.items():
        others[f"/apis/{group}"] = {"versions": [{"version": each} for each in sorted(served)]}
        for version in served:
            there = [path.rpartition("/")[2] for path in lists if path.startswith(f"/apis/{group}/{version}/")]
            others[f"/apis/{group}/{version}"] = {"resources": [{"name": each} for each in there]}
    return lists, others


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[tuple[Server, Path]]:
    """Run an API server, and write its kubeconfig."""
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    config = folder / "config"
    cluster = {"name": "a", "cluster": {"server": f"http://127.0.0.1:{server.server_address[1]}"}}
    contexts = [{"name": "a", "context": {"cluster": "a", "user": "a"}}]
    content = {"apiVersion": "v1", "kind": "Config", "clusters": [cluster], "contexts": contexts, "current-context": "a"}
    config.write_text(json.dumps(content | {"users": [{"name": "a", "user": {}}]}), encoding="utf-8")
    try:
        yield server, config
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def campaign(name: str, options: tuple[str, ...], goal: int, examples: int) -> Campaign:
    """Return the campaign of a command that reads a live cluster."""
    memory = Memory()

    def run(seed: int, count: int = examples) -> Round:
        with tempfile.TemporaryDirectory(prefix="muster-fuzz-", dir=FOLDER) as folder, serving(Path(folder)) as (server, config):

            def check(question: Question) -> None:
                server.given = question
                server.requests.clear()
                server.tokens.clear()
                more = ["--explain", "off"] if name == "why" else []
                invoke([name, "--kubeconfig", str(config), *more, *question.options.split()])

            return attempt(questions(seed, count, options), check, SECONDS, memory)

    return Campaign(
        f"{name}-live" if name == "snapshot" else name,
        f"`muster {name}` on an API server with mutated objects, lists and discovery",
        f"no traceback, a documented exit status, an end within {SECONDS:g} s, memory does not grow",
        goal,
        run,
    )


CAMPAIGNS = (campaign("why", WHY, 20_000, 300), campaign("snapshot", SNAPSHOT, 20_000, 600))
