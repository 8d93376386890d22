"""Every webhook calls a path that the server answers."""

from __future__ import annotations

from collections.abc import Iterator

from muster.doctor.entries import by_configuration, entries, fields_of, set_command
from muster.doctor.finding import Check, Result, error
from muster.doctor.world import World
from webhooks.enforcement import Enforcement

_VALIDATE, _MUTATE = "/validate", "/mutate"
_PATHS = {path: {path, *(f"{path}/{mode}" for mode in Enforcement)} for path in (_VALIDATE, _MUTATE)}


def check(world: World) -> Iterator[Result]:
    """Yield a result for each configuration with other paths."""
    for listed in by_configuration(entries(world)):
        path = _VALIDATE if listed[0].item.kind == "ValidatingWebhookConfiguration" else _MUTATE
        wrong = [each for each in listed if each.path not in _PATHS[path]]
        if wrong:
            field = "clientConfig.service.path" if wrong[0].service else "clientConfig.url"
            called = ", ".join(dict.fromkeys(each.path or "/" for each in wrong))
            message = f"is {called}: must be {path}, or {path}/MODE for namespaces with a mode of their own"
            commands = [each for each in wrong if each.service] or wrong
            command = set_command(commands, {"clientConfig/service/path": path})
            yield error(wrong[0].item, fields_of(wrong, field), message, command)


CHECK = Check(
    id="path-unknown",
    why="The server answers with HTTP 404, so every review fails: the request is refused (Fail) or not checked (Ignore).",
    examine=check,
)
