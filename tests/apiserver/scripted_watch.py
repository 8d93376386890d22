"""A watcher run against a scripted server, with the requests, events and waits recorded."""

from __future__ import annotations

import json
from urllib.parse import parse_qsl, urlsplit

from apiserver.pages import Page, PageMetadata
from apiserver.watch import Watcher
from tests.apiserver.fake import serving

PATH = "/api/v1/pods"


def thing(name, version=""):
    return {"metadata": {"name": name, **({"resourceVersion": version} if version else {})}}


def listed(*names, version="10", following=""):
    metadata = {"resourceVersion": version, **({"continue": following} if following else {})}
    return 200, {}, {"items": [thing(each, "1") for each in names], "metadata": metadata}


def page(objects=(), version="10", following=""):
    """Return a page of a list of JSON texts, as a sink receives it."""
    return Page(tuple(objects), PageMetadata(version, following))


def line(event, content):
    return json.dumps({"type": event, "object": content}).encode() + b"\n"


def chunks(lines):
    return b"".join(b"%x\r\n%s\r\n" % (len(each), each) for each in lines)


CHUNKED = {"Transfer-Encoding": "chunked", "Content-Length": None}


def watched(*lines):
    """Return a watch that sends *lines* and ends."""
    return 200, CHUNKED, chunks(lines) + b"0\r\n\r\n"


def broken(*lines):
    """Return a watch that sends *lines* and breaks off inside a chunk."""
    return 200, {**CHUNKED, "Connection": "close"}, chunks(lines)


def failed(code, **headers):
    return code, {name.replace("_", "-"): value for name, value in headers.items()}, {"kind": "Status", "code": code, "message": "no"}


def error_event(code):
    """Return a watch that sends an ERROR event."""
    return watched(line("ERROR", {"kind": "Status", "code": code, "message": "no"}))


BOOKMARK = line("BOOKMARK", thing("", "20"))
ADDED = line("ADDED", thing("b", "11"))


def name_of(raw):
    return json.loads(bytes(raw))["metadata"]["name"]


class Stopped:
    """A threading.Event whose waits return at once and are recorded."""

    def __init__(self):
        self.stopped, self.waits = False, []

    def is_set(self):
        return self.stopped

    def set(self):
        self.stopped = True

    def wait(self, seconds):
        self.waits.append(seconds)


class Following:
    """Run of a watcher until the scripted answers are used up, with its sink and everything recorded."""

    def __init__(self, answers, find):
        self.answers, self.find = list(answers), find
        self.stopped = Stopped()
        self.requests, self.found, self.events, self.standings, self.complete = [], [], [], [], []
        """``complete`` has the version up to which the sink is complete, after each call."""

    def run(self, silence):
        with serving(self.answer) as (_, api):
            watcher = Watcher(api, self.path, self, silence=silence, name="pods")
            watcher._stopped = self.stopped
            watcher.run()
        return self

    def path(self):
        self.found.append(self.find.pop(0) if len(self.find) > 1 else self.find[0])
        return self.found[-1]

    def answer(self, _, path, __):
        if not self.answers:
            self.stopped.set()
            return failed(500)
        self.requests.append(dict(parse_qsl(urlsplit(path).query)))
        answer = self.answers.pop(0)
        return answer() if callable(answer) else answer

    def replace(self, pages):
        pages = [*pages]
        self.events.append(("LIST", *(name_of(each) for page in pages for each in page.items or ())))
        self.complete.append(pages[0].metadata.resource_version)

    def change(self, event, content, version):
        if event != "BOOKMARK":
            self.events.append((event, name_of(content)))
        self.complete.append(version)

    def set_status(self, standing, reason):
        self.standings.append((standing, reason))

    @property
    def places(self):
        """Return the resourceVersion from which each request watches; ``list`` for a list."""
        return [each.get("resourceVersion", "list") for each in self.requests]


def follow(*answers, find=(PATH,), silence=5.0):
    return Following(answers, list(find)).run(silence)
