"""Search for the configuration file, and its content."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster import standard_output

if TYPE_CHECKING:
    from validators.lint.configuration import Configuration

_LARGEST = 1_000_000
"""Limit for the size of a configuration file, in bytes."""


def nearest(start: str = "") -> str:
    """Return the path of the configuration for the directory *start*; empty if there is none.

    For the working directory, the default, it is relative.
    """
    from validators.lint import configuration as files

    folder = Path(start) if start else Path.cwd()
    for depth, each in enumerate((folder, *folder.parents)):
        above = each if start else Path(*[os.pardir] * depth)
        if (each / files.YAML_NAME).is_file():
            return str(above / files.YAML_NAME)
        if (each / files.TOML_NAME).is_file() and _has_table(str(above / files.TOML_NAME)):
            return str(above / files.TOML_NAME)
        if (each / ".git").exists():
            break
    return ""


def _has_table(path: str) -> bool:
    """Return whether a ``pyproject.toml`` has our table; one of another tool that cannot be read is a warning."""
    from validators.lint import configuration as files

    content, problem = b"", ""
    try:
        with Path(path).open("rb") as file:
            content = file.read(_LARGEST + 1)
        content.decode("utf-8")
    except OSError as error:
        problem = f"cannot be read: {(error.strerror or str(error)).lower()}"
    except UnicodeDecodeError:
        problem = "is not UTF-8"
    if len(content) > _LARGEST:
        problem = f"has more than {_LARGEST:,} bytes"
    has_table = files.has_table(content.decode("utf-8-sig", "replace"))
    if problem and not has_table:
        command = click.get_current_context().command_path
        standard_output.report(f"{command}: {path} {problem}; it is ignored, as no table tool.muster was seen in it")
    return has_table


def read(path: str) -> Configuration:
    """Return the configuration in the file *path*.

    Raises:
        click.UsageError: the file cannot be read or is invalid; the message has file, line and field of each error.

    """
    from validators import rules
    from validators.lint import configuration as files

    text = _text(path)
    ids = rules.discover()
    try:
        from_text = files.from_toml if path.lower().endswith(".toml") else files.from_yaml
        return from_text(path, text, ids)
    except files.ConfigurationError as error:
        raise click.UsageError(str(error)) from None


def _text(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise click.UsageError(f"{path}: must be at most {_LARGEST:,} bytes")
        return content.decode("utf-8-sig")
    except OSError as error:
        raise click.UsageError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise click.UsageError(f"{path}: must be UTF-8") from None
