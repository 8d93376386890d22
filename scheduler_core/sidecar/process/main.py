"""The sidecar as a process: creates its components, starts them in order, and stops them after writes in flight have finished.

Shell: threads and signals.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from types import FrameType
from typing import TYPE_CHECKING, Any

import msgspec

from apiserver.api import TRANSPORT, Api, ReplyError
from apiserver.connection import Connection
from apiserver.discovery import minor_version
from apiserver.election import Election
from apiserver.lease import Lease
from kubeapi.groups import TREE_KINDS
from kubeapi.pods import COSCHEDULING_LABEL, DEFAULT_SCHEDULER
from scheduler_core.behavior.scheduler_behavior import SchedulerBehavior, behavior_of
from scheduler_core.causes.built_groups import GroupsCause
from scheduler_core.exact.step_budget import DEFAULT
from scheduler_core.loading.configuration.scheduler_configuration import read_configuration
from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name
from scheduler_core.model.scheduler_profile import DEFAULT_PROFILE
from scheduler_core.placement.state import NO_PLUGINS
from scheduler_core.sidecar.cache.cache import Cache
from scheduler_core.sidecar.cache.informers import WATCHED, Informers
from scheduler_core.sidecar.cache.optional_watches import reads_of
from scheduler_core.sidecar.client.event_recorder import EventRecorder
from scheduler_core.sidecar.client.requests import Paths, field_manager
from scheduler_core.sidecar.controllers.runner import ControllerRunner
from scheduler_core.sidecar.process.enabled_controllers import enabled_controllers
from scheduler_core.sidecar.process.http import Answers, Server, create_app, unreached_answers
from scheduler_core.sidecar.process.left_over_claims import LeftOverClaims
from scheduler_core.sidecar.process.loop import Log, Loop, Parts
from scheduler_core.sidecar.process.mailbox import Done, LoopCall, Mailbox, Retried, Returned
from scheduler_core.sidecar.process.metrics import SidecarMetrics
from scheduler_core.sidecar.process.permissions import PermissionCheck, needed_permissions
from scheduler_core.sidecar.process.version_check import MEMBERS, MembersCheck, VersionCheck
from scheduler_core.sidecar.scheduling.explanation import deviating_json, notes_json
from scheduler_core.sidecar.scheduling.scheduler import Scheduler, SchedulerOptions
from scheduler_core.sidecar.settings import Mode, Settings
from scheduler_core.sidecar.writer.dispatcher import Dispatcher
from scheduler_core.wording import built_group_words
from scheduler_core.wording.problem_words import problem_words
from validators.gates import GateError

if TYPE_CHECKING:
    from scheduler_core.sidecar.building.build_results import Result
    from scheduler_core.sidecar.building.builder import GroupBuilder

CONTROLLER = "muster.dev/sidecar"
FOREVER = 3600.0
COLLECTED_OBJECTS = 20_000
"""Number of new objects after which Python looks for cycles: most are those of the cache, which has none, and live long."""
SWITCH_SECONDS = 0.0005
"""Thread switch interval: with Python's default, the thread that decides would delay each step of a write."""
MAX_TRACE_LENGTH = 3000
"""Maximum characters of a stack trace in a log line."""
CONNECT_SECONDS = 5.0
"""Interval between attempts to reach the API server at the start."""
SIGNAL_SECONDS = 1.0
"""Maximum delay of a signal that does not end the wait of the main thread."""


class Sidecar:
    """Components of one replica."""

    def __init__(self, connection: Connection, settings: Settings, minor: int, log: Log) -> None:
        self._settings, self._log = settings, log
        behavior = settings.kubernetes or behavior_of(minor)
        self._mailbox = Mailbox()
        api = Api(connection, manager := field_manager(settings.scheduler_name))
        self._permissions = self._permission_check(api)
        self._informers = Informers(
            api, self._mailbox, self._watch_failed, silence=settings.silence_seconds, found=self._permissions.recheck
        )
        self._metrics = SidecarMetrics(settings.scheduler_name, settings.identity, places=settings.places, behavior=behavior)
        self._lease = self._candidate(api)
        paths = Paths(self._informers.paths)
        self._dispatcher = self._new_dispatcher(api, paths)
        scheduling = options(settings)
        self._cache = cache = Cache(
            (COSCHEDULING_LABEL,) if settings.by_label else (), reads=reads_of(settings, scheduling.our_pods.places), behavior=behavior
        )
        self._term_check = VersionCheck(cache, self._informers)
        members = MembersCheck(VersionCheck(cache, self._informers, MEMBERS))
        scheduling = dataclasses.replace(scheduling, is_current=members.is_current)
        self._scheduler = scheduler = Scheduler(cache, scheduling) if settings.places else None
        controllers = ControllerRunner(tuple(enabled_controllers(settings, cache, self._metrics, behavior)))
        self._left_over = self._search(api, manager, cache)
        self._builder = self._group_builder(api, behavior) if Mode.BUILD in settings.modes else None
        # Other modes than place do not select nodes for claims, so they search for none.
        self.loop = Loop(
            Parts(
                cache,
                scheduler,
                controllers,
                self._dispatcher,
                self._mailbox,
                self._metrics,
                self._term,
                self._term_check,
                members,
                log,
                watch=self._informers.watch,
                find_left_over=self._left_over.start if Mode.PLACE in settings.modes else None,
            )
        )

    def _watch_failed(self, resource: str, reason: str) -> None:
        self._log("warning", "watch", {"kind": resource, "reason": reason})

    def start(self) -> None:
        """Start the watches, the writers and the leader election."""
        self._informers.start()
        self._permissions.start()
        self._dispatcher.start(self._settings.writers)
        if self._builder is not None:
            self._builder.start()
        if self._lease is not None:
            self._lease.start()

    def stop(self) -> None:
        """Finish the writes in flight, then release the lease."""
        self._informers.stop()
        self._left_over.stop()
        self._permissions.stop()
        if self._builder is not None:
            self._builder.stop()
        answered = self._dispatcher.stop()
        if self._lease is not None:
            # The next leader must not read the cluster before a write of this one takes effect.
            self._lease.stop(release=answered)

    def answers(self, as_json: Callable[[Decision], Any]) -> Answers:
        """Return the data for the HTTP endpoints; *as_json* encodes a decision."""
        return Answers(self.loop.dead, self._unready, lambda namespace, name: self._explain(namespace, name, as_json), self._metrics.text)

    def _new_dispatcher(self, api: Api, paths: Paths) -> Dispatcher:
        return Dispatcher(
            api,
            paths,
            lambda *result: self._mailbox.enqueue(Done(*result)),
            remaining=self._remaining,
            term=self._term,
            recorder=EventRecorder(CONTROLLER, self._settings.identity),
            on_retry=lambda *retried: self._mailbox.enqueue(Retried(*retried)),
            on_forbidden=self._permissions.recheck,
            on_object=lambda kind, text: self._mailbox.enqueue(Returned(kind, msgspec.Raw(text))),
        )

    def _permission_check(self, api: Api) -> PermissionCheck:
        return PermissionCheck(
            api,
            lambda: needed_permissions(self._settings, self._informers.served()),
            lambda level, message: self._log(level, "permissions", {"message": message}),
        )

    def _search(self, api: Api, manager: str, cache: Cache) -> LeftOverClaims:
        return LeftOverClaims(
            api,
            manager,
            lambda: self._mailbox.enqueue(LoopCall(cache.needed.add_claims, Future())),
            lambda reason: self._log("warning", "left-over-claims", {"reason": reason}),
        )

    def _group_builder(self, api: Api, behavior: SchedulerBehavior) -> GroupBuilder:
        # The adapters are imported only for this mode.
        from scheduler_core.sidecar.building.builder import GroupBuilder

        schedulers = frozenset({"", DEFAULT_SCHEDULER, self._settings.scheduler_name})
        recorder = EventRecorder(CONTROLLER, self._settings.identity)
        silence = self._settings.silence_seconds
        return GroupBuilder(
            api, behavior.minor, schedulers, recorder, term=self._term, log=self._log, silence=silence, metrics=self._metrics
        )

    def _candidate(self, api: Api) -> Lease | None:
        if self._settings.lease is None:
            return None
        namespace, name = self._settings.lease

        def report(level: str, text: str) -> None:
            self._log(level, "lease", {"message": text, "leading": self._term() > 0})
            # A new term begins at once.
            self._mailbox.enqueue(None)

        return Lease(api, namespace, name, Election(self._settings.identity), report)

    def _remaining(self) -> float:
        return FOREVER if self._lease is None else self._lease.remaining()

    def _term(self) -> int:
        return 1 if self._lease is None else self._lease.term()

    def _unready(self) -> tuple[str, ...]:
        reasons = self._informers.unsynced() or self.loop.unready() or self._informers.silent(2 * self._settings.silence_seconds)
        if (builder := self._builder) is not None:
            unlisted = builder.unlisted()
            reasons += tuple(f"{each} objects are not listed yet" for each in unlisted)
            if not unlisted and builder.target() is None:
                reasons += (f"no API group serves all of {', '.join(TREE_KINDS)}: mode build creates nothing",)
        trouble = self._lease.trouble() if self._lease is not None else ""
        return (*reasons, *self._waits(), *filter(None, (trouble,)), *self._permissions.missing())

    def _waits(self) -> tuple[str, ...]:
        """Return why this replica leads and does not decide; empty if it does."""
        return self._term_check.reasons(time.monotonic()) if self._lease is not None else ()

    def _explain(self, namespace: str, name: str, as_json: Callable[[Decision], Any]) -> Any:
        scheduler = self._scheduler
        if scheduler is None and self._builder is None:
            raise LookupError("this sidecar makes no decisions: its modes include none of place, ungate and build")
        if not self._term():
            raise LookupError("this replica is not the leader and makes no decisions: ask the leader")
        if waits := self._waits():
            raise LookupError(f"this replica leads and makes no decisions yet: {'; '.join(waits)}")
        built = _built_json(self._builder.results_for(namespace, name)) if self._builder is not None else []
        # Raises TimeoutError.
        explanation = self.loop.call(lambda: scheduler.explain(namespace, name)) if scheduler is not None else None
        if explanation is None:
            if built:
                raise LookupError("; ".join(f"{each['object']}: {each['message'] or each['result']}" for each in built))
            return None
        beside = {**notes_json(explanation.notes), **deviating_json(explanation.deviating), **({"build": built} if built else {})}
        return {**as_json(explanation.decision), **beside, "writes": explanation.writes}


def _built_json(results: Iterable[tuple[Name, Result, GroupsCause | None]]) -> list[dict[str, str]]:
    """Return the results of mode build for objects as JSON."""
    return [
        {
            "object": f"{name.kind} {name.namespace}/{name.name}",
            "result": result.value,
            "message": built_group_words.event(cause)[2] if cause is not None else "",
        }
        for name, result, cause in results
    ]


def options(settings: Settings) -> SchedulerOptions:
    """Return the scheduler options of *settings*."""
    return SchedulerOptions(
        scheduler_name=settings.scheduler_name,
        profile=settings.profile or DEFAULT_PROFILE,
        place=Mode.PLACE in settings.modes,
        ungate=Mode.UNGATE in settings.modes,
        preempt=Mode.PREEMPT in settings.modes,
        eviction_method=settings.eviction_method,
        deviations=settings.deviations,
        pinned_seconds=settings.deviation_seconds,
        strategy=settings.strategy,
        rank_order=settings.rank_order,
        budget=settings.budget or DEFAULT,
        gates=settings.gates,
        plugins=settings.plugins or NO_PLUGINS,
        epoch=time.time() - time.monotonic(),
    )


def run(connection: Connection, settings: Settings, bind: tuple[str, int], *, log: Log, as_json: Callable[[Decision], Any]) -> None:
    """Run until SIGTERM or SIGINT.

    Raises:
        OSError: the server cannot listen on *bind*.
        SystemExit: a thread has failed, so the process must be restarted; the status is 1.

    """
    stopping = threading.Event()
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(COLLECTED_OBJECTS)
    answers = unreached_answers(connection.host)
    with _signals(stopping), _thread_failures(stopping, log) as failed, _served(bind, answers, settings.explain_token_file) as address:
        log("info", "listening", {"address": address, "modes": ",".join(sorted(settings.modes))})
        minor = _wait_for_minor_version(Api(connection), stopping, log)
        if minor is not None:
            log("info", "connected", {"server": connection.host, "kubernetes": f"1.{minor}"})
            warn_of_gates(settings, minor, log)
            settings = with_configuration_of(settings, minor, log)
            # A new leader reads all kinds at once.
            pooled = dataclasses.replace(connection, pooled=settings.writers + 12 + len(WATCHED))
            sidecar = Sidecar(pooled, settings, minor, log)
            answers.switch_to(sidecar.answers(as_json))
            _work(sidecar, stopping, log)
    if failed:
        raise SystemExit(1)


def warn_of_gates(settings: Settings, minor: int, log: Log) -> None:
    """Log a warning if no API server of the version starts with the feature gates that are set."""
    try:
        settings.gates.of_version((settings.kubernetes or behavior_of(minor)).minor)
    except GateError as error:
        log("warning", "gates", {"message": str(error)})


def with_configuration_of(settings: Settings, minor: int, log: Log) -> Settings:
    """Return *settings* with the scheduler configuration as the kube-scheduler of the version reads it, and log what is not used of it.

    If that one does not start with the configuration, it is used as it was read: a cluster that is upgraded must not stop the sidecar.
    """
    if settings.scheduler_config is not None:
        behavior = settings.kubernetes or behavior_of(minor)
        configuration = read_configuration(settings.scheduler_config.written, behavior, settings.gates)
        if configuration.errors:
            errors = "; ".join(f"{each.path}: {each}" for each in configuration.errors)
            log("warning", "scheduler-config", {"message": f"kube-scheduler {behavior.version} does not start with it: {errors}"})
        else:
            settings = dataclasses.replace(settings, scheduler_config=configuration)
    for level, message in _configuration_messages(settings):
        log(level, "scheduler-config", {"message": message})
    return settings


def _configuration_messages(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield level and text of each message about the scheduler configuration."""
    if (configuration := settings.scheduler_config) is None:
        return
    for problem in configuration.problems():
        yield "warning", problem_words(problem)
    if others := sorted({*(configuration.profiles.by_name or ())} - {settings.scheduler_name}):
        names = f"profile{'s' if len(others) > 1 else ''} {', '.join(others)}"
        yield "info", f"the sidecar serves the profile {settings.scheduler_name}, not {names}: run one sidecar for each schedulerName"


def _work(sidecar: Sidecar, stopping: threading.Event, log: Log) -> None:
    """Run all components until *stopping* is set."""
    sidecar.start()
    thread = threading.Thread(target=sidecar.loop.run, name="loop")
    thread.start()
    # Python handles signals in the main thread.  One that arrives while that thread begins to wait, or in another thread, does not wake it.
    while not stopping.wait(SIGNAL_SECONDS):
        pass
    log("info", "stopping", {})
    sidecar.loop.stop()
    thread.join()
    sidecar.stop()


@contextlib.contextmanager
def _served(bind: tuple[str, int], answers: Answers, token_file: str | None) -> Iterator[str]:
    """Serve *answers* over HTTP and yield the address."""
    server = Server(create_app(answers, token_file), *bind)
    server.start()
    try:
        yield server.address
    finally:
        server.stop()


@contextlib.contextmanager
def _thread_failures(stopping: threading.Event, log: Log) -> Iterator[list[str]]:
    """Yield the names of threads that failed with an unexpected exception; the first failure stops the process."""
    failed: list[str] = []

    def thread_failed(args: threading.ExceptHookArgs) -> None:
        failed.append(args.thread.name if args.thread is not None else "")
        trace = "".join(traceback.format_exception(args.exc_type, args.exc_value, args.exc_traceback))
        log("error", "died", {"thread": failed[-1], "reason": trace[-MAX_TRACE_LENGTH:]})
        stopping.set()

    before, threading.excepthook = threading.excepthook, thread_failed
    try:
        yield failed
    finally:
        threading.excepthook = before


def _wait_for_minor_version(api: Api, stopping: threading.Event, log: Log) -> int | None:
    """Return the server's minor version, with retries until it answers; None if *stopping* is set meanwhile."""
    while not stopping.is_set():
        try:
            return minor_version(api)
        except (ReplyError, ValueError, *TRANSPORT) as error:
            log("warning", "connect", {"server": api.host, "reason": f"{type(error).__name__}: {error}"[:300]})
            stopping.wait(CONNECT_SECONDS)
    return None


@contextlib.contextmanager
def _signals(stopping: threading.Event) -> Iterator[None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        stopping.set()

    before = {each: signal.signal(each, stop) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
