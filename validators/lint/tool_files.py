"""Files of other tools in a repository, recognised by their place and name; ``tool_content`` recognises files by their content.

Only files are recognised that ``muster lint`` would read in a directory: with the suffixes of manifests.
"""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

HELM, KUSTOMIZE = "Helm", "Kustomize"
CHART = "Chart.yaml"
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")

VENDOR_FOLDERS = frozenset(
    {"node_modules", "bower_components", "jspm_packages", "vendor", "site-packages", "dist-packages", "__pycache__", "venv", "virtualenv"}
)
"""Names of folders with the code of others."""
ENVIRONMENT_MARKS = frozenset({"pyvenv.cfg", "conda-meta"})
"""Names whose presence makes a folder an environment of Python."""

_OF_A_CHART = (CHART, "values*.yaml", "values*.yml", "*-values.yaml", "*-values.yml", "values*.json", "*-values.json", "requirements.yaml")
_FOLDERS_OF_A_CHART = ("templates", "files")
"""Folders of templates, and of files that templates read."""
_TOOLS: Mapping[str, tuple[str, ...]] = {
    "Node.js": (
        *("package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", "lerna.json", "nx.json"),
        *("turbo.json", "rush.json", "angular.json", "nest-cli.json", "bower.json", "deno.json", "jsr.json", "babel.config.json"),
        *("biome.json", "dprint.json", "jest.config.json", "cypress.json", "nodemon.json", "typedoc.json", "tslint.json", "vercel.json"),
        *("tsconfig.json", "tsconfig.*.json", "tsconfig-*.json", "jsconfig.json", "api-extractor.json", "wrangler.json", "cspell.json"),
        *("project.json", "common/config/rush/*.json"),
    ),
    "Python": (
        *("environment.yml", "environment.yaml", "conda-lock.yml", "pyrightconfig.json", "dvc.yaml", "dbt_project.yml"),
        *("recipe/meta.yaml", "conda.recipe/meta.yaml", "conda/meta.yaml"),
    ),
    "Compose": ("docker-compose*.yml", "docker-compose*.yaml", "compose.yml", "compose.yaml", "compose.*.yml", "compose.*.yaml"),
    "Ansible": ("galaxy.yml",),
    ".NET": ("appsettings.json", "appsettings.*.json", "launchSettings.json", "global.json", "packages.lock.json"),
    "PHP": ("composer.json",),
    "Dart": ("pubspec.yaml",),
    "Terraform": ("*.tf.json", "*.tfvars.json"),
    "Pulumi": ("Pulumi.yaml", "Pulumi.*.yaml"),
    "Buf": ("buf.yaml", "buf.gen.yaml", "buf.work.yaml"),
    "JSON Schema": ("*.schema.json",),
    "OpenAPI": ("openapi.json", "openapi.yaml", "openapi.yml", "swagger.json", "swagger.yaml", "swagger.yml"),
    "Helm tools": (
        "helmfile.yaml",
        "helmfile.yml",
        "helmfile.d/*.yaml",
        "ct.yaml",
        "cr.yaml",
        "artifacthub-repo.yml",
        "artifacthub-pkg.yml",
    ),
    "Skaffold": ("skaffold.yaml", "skaffold.yml"),
    "documentation": ("kep.yaml", "mkdocs.yml", "mkdocs.yaml", "_config.yml", "antora.yml", "readthedocs.yml", "book.json"),
    "continuous integration": (
        *("azure-pipelines.yml", "azure-pipelines.yaml", "bitbucket-pipelines.yml", "appveyor.yml", "buildspec.yml", "cloudbuild.yaml"),
        *("cloudbuild.json", "codecov.yml", "renovate.json", "lefthook.yml", "goreleaser.yaml", "goreleaser.yml", "golangci.yml"),
        *("Taskfile.yml", "Taskfile.yaml", "crowdin.yml", "codemagic.yaml", "release-please-config.json", "sonatype-lift.yml"),
    ),
    "serverless": ("serverless.yml", "serverless.yaml", "firebase.json", "samconfig.yaml", "netlify.json", "render.yaml", "fly.json"),
}
"""Names of files, and ends of paths, which have a slash; ``*`` stands for any text."""
_PATTERNS = tuple((pattern, tool) for tool, names in _TOOLS.items() for pattern in names)
_EXACT = {name: tool for name, tool in _PATTERNS if "*" not in name and "/" not in name}
_GLOBS = tuple((pattern, tool) for pattern, tool in _PATTERNS if "*" in pattern and "/" not in pattern)
_PLACES = tuple((pattern.split("/"), tool) for pattern, tool in _PATTERNS if "/" in pattern)
_FOLDERS = frozenset(patterns[-2] for patterns, _ in _PLACES)

_REFERRING: Mapping[str, str] = {
    "patches": "path",
    "patchesJson6902": "path",
    "replacements": "path",
    "helmCharts": "valuesFile",
    "patchesStrategicMerge": "",
    "configurations": "",
    "crds": "",
    "transformers": "",
    "generators": "",
    "validators": "",
}
"""Fields of a kustomization that list files which are not manifests: the key of the file in an item, or empty if the item is it."""


def tool_of(path: Sequence[str], inside_chart: str | None) -> str:
    """Return the tool that a file belongs to; empty if none.

    *path* has the names of the folders above the file, and its name.  *inside_chart* is its path inside the innermost Helm chart around it,
    with ``/``, or None.
    """
    name = path[-1]
    if inside_chart is not None and _belongs_to_chart(name, inside_chart):
        return HELM
    if name in KUSTOMIZATIONS:
        return KUSTOMIZE
    if name in _EXACT:
        return _EXACT[name]
    if match := _globs().match(name):
        return _GLOBS[(match.lastindex or 1) - 1][1]
    is_place = len(path) > 1 and path[-2] in _FOLDERS
    return next((tool for patterns, tool in _PLACES if _ends_with(path, patterns)), "") if is_place else ""


@functools.cache
def _globs() -> re.Pattern[str]:
    """Return a pattern with a group for each of the names with ``*``."""
    return re.compile("|".join(f"({fnmatch.translate(pattern)})" for pattern, _ in _GLOBS))


def _ends_with(path: Sequence[str], patterns: Sequence[str]) -> bool:
    ends = path[-len(patterns) :]
    return len(ends) == len(patterns) and all(map(fnmatch.fnmatchcase, ends, patterns))


def _belongs_to_chart(name: str, inside: str) -> bool:
    folder = inside.partition("/")[0] if "/" in inside else ""
    if folder in _FOLDERS_OF_A_CHART:
        return True
    if folder == "tests":  # of the plugin unittest
        return fnmatch.fnmatchcase(name, "*_test.y*ml")
    return folder in {"", "ci"} and any(fnmatch.fnmatchcase(name, each) for each in _OF_A_CHART)


def is_environment(names: Collection[str]) -> bool:
    """Return whether a folder with the entries *names* is an environment of Python."""
    return not ENVIRONMENT_MARKS.isdisjoint(names)


def resources_of_kustomization(content: Mapping[str, object]) -> Iterator[str]:
    """Yield the resources that a kustomization names, relative to it: they are manifests, whatever else they are used for."""
    yield from (each for each in _listed(content.get("resources")) if isinstance(each, str))


def included_in_kustomization(content: Mapping[str, object]) -> Iterator[str]:
    """Yield the files and folders that a kustomization includes, relative to it."""
    for key in ("resources", "bases", "components"):
        yield from (each for each in _listed(content.get(key)) if isinstance(each, str))


def files_of_kustomization(content: Mapping[str, object]) -> Iterator[str]:
    """Yield the files that a kustomization names and that are not complete manifests, relative to it: patches, values and others.

    An item may also be an inline patch; such text is yielded too and names no file.
    """
    for field, key in _REFERRING.items():
        for item in _listed(content.get(field)):
            file = item.get(key) if isinstance(item, dict) else item
            if isinstance(file, str):
                yield file
    for field in ("configMapGenerator", "secretGenerator"):
        for item in _listed(content.get(field)):
            for file in _listed(item.get("files")) if isinstance(item, dict) else ():
                yield str(file).rpartition("=")[2]
    openapi = content.get("openapi")
    if isinstance(openapi, dict) and isinstance(openapi.get("path"), str):
        yield openapi["path"]


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []
