"""``muster schema``: the schema of a kind for editors, the CustomResourceDefinitions, and the building blocks of KEP-6089 for other APIs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import click

FORMATS = ("json-schema", "openapi")
REPORTS = ("fit", "simulate", "lint")
CONFIGURATION = "configuration"
"""Name of the schema of ``.muster.yaml``."""


def _complete_kind(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from validators.reports import field_docs

    return [each for each in (*field_docs.KINDS, CONFIGURATION) if each.lower().startswith(incomplete.lower())]


@click.command(
    short_help="Print the JSON Schema of a kind, or a CustomResourceDefinition.",
    epilog="Example: muster schema PodGroup > podgroup.schema.json",
)
@click.argument(
    "names",
    nargs=-1,
    metavar="KIND | --crd [KIND...] | --report COMMAND | --catalog URL | --building-blocks [NAME...]",
    shell_complete=_complete_kind,
)
@click.option("--crd", is_flag=True, help="Print the CustomResourceDefinitions of scheduling.muster.dev, as YAML.")
@click.option("--report", type=click.Choice(REPORTS), help="Print the JSON Schema of the JSON report of this command.")
@click.option(
    "--catalog", metavar="URL", help="Print the catalog of schemas that are published below this URL, in the form of SchemaStore."
)
@click.option("--building-blocks", is_flag=True, help="Print the structs of scheduling.k8s.io/v1alpha3 that controllers embed.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="json-schema",
    show_default=True,
    help="json-schema: JSON Schema 2020-12, as JSON; openapi: structural schemas of OpenAPI v3 for a CRD, as YAML.",
)
def schema(*, names: tuple[str, ...], crd: bool, report: str | None, catalog: str | None, building_blocks: bool, form: str) -> None:
    """Print the JSON Schema of KIND, with descriptions, defaults and limits, for editors such as those with yaml-language-server. The
    KIND configuration is that of .muster.yaml.

    With --crd: print the CustomResourceDefinitions with which a cluster serves Workload, PodGroup and CompositePodGroup as custom
    resources of scheduling.muster.dev. With KIND, only these are printed. To install them: muster schema --crd | kubectl apply -f -

    With --report: print the schema of what COMMAND prints with --format json. Docs, Reference, Causes has the words of reason.

    With --catalog: print which file names have which schema, for editors that read a catalog as that of SchemaStore. Docs, Editors has
    the names under which the schemas are published.

    With --building-blocks: print schemas of the building blocks of scheduling.k8s.io/v1alpha3 that controllers embed in their own
    APIs (KEP-6089). WorkloadPodGroup... are for groups of pods, WorkloadCompositePodGroup... for groups of groups. With --format
    openapi, each schema is complete, with its validation rules: copy it below spec.versions[].schema.openAPIV3Schema. With NAME,
    only these are printed.

    Exit status: 0 success, 2 a KIND or NAME is unknown or the command line is wrong.
    """
    if crd:
        if building_blocks or form != FORMATS[0] or report is not None or catalog is not None:
            raise click.UsageError("--crd is used alone: without --report, --catalog, --building-blocks and --format")
        text = _definitions(names)
    elif report is not None or catalog is not None:
        option = "--report" if report is not None else "--catalog"
        if names or building_blocks or form != FORMATS[0] or None not in {report, catalog}:
            raise click.UsageError(f"{option} is used alone: without KIND, --building-blocks and --format openapi")
        text = _of_report(report) if report is not None else _catalog(str(catalog))
    else:
        text = _building_blocks(names, form) if building_blocks else _of_kind(names, form)
    sys.stdout.buffer.write(text.encode("utf-8"))
    sys.stdout.buffer.flush()


def _of_report(report: str) -> str:
    from muster.commands.schema import report_schemas

    return json.dumps(report_schemas.report_schema(report), indent=2) + "\n"


def _catalog(url: str) -> str:
    from muster.commands.schema import catalog

    if not url.startswith("https://"):
        raise click.BadParameter(f"must begin with https://, as SchemaStore requires, not {url!r}", param_hint="--catalog")
    return json.dumps(catalog.catalog(url), indent=2) + "\n"


def _of_kind(names: Sequence[str], form: str) -> str:
    """Return the JSON Schema of a kind, as JSON."""
    from validators.reports import field_docs

    if names == (CONFIGURATION,):
        from validators import schema as schemas

        return json.dumps(schemas.document(CONFIGURATION), indent=2) + "\n"
    if len(names) != 1:
        raise click.UsageError(
            f"give one KIND ({', '.join(field_docs.KINDS)}), --crd, --report COMMAND, --catalog URL, or --building-blocks"
        )
    kind = _known(names[0], field_docs.KINDS, "schema", (CONFIGURATION,))
    if form != FORMATS[0]:
        raise click.UsageError("--format openapi is for --building-blocks")
    return json.dumps(field_docs.json_schema(kind), indent=2) + "\n"


def _known(name: str, kinds: Sequence[str], about: str, others: Sequence[str] = ()) -> str:
    """Return the kind of that name in any case; *others* are names that are known too."""
    from muster.commands import options

    kind = next((each for each in kinds if each.lower() == name.lower()), None)
    if kind is None:
        raise click.UsageError(f"there is no {about} of kind {name!r}{options.near(name, kinds)}; known: {', '.join((*kinds, *others))}")
    return kind


def _definitions(names: Sequence[str]) -> str:
    """Return the CustomResourceDefinitions of kinds, without names of all, as documents of YAML."""
    from muster.render import yaml_text
    from validators.reports import custom_resources

    kinds = {_known(each, custom_resources.KINDS, "CustomResourceDefinition") for each in names} or {*custom_resources.KINDS}
    wanted = (each for each in custom_resources.definitions() if each["spec"]["names"]["kind"] in kinds)
    return "---\n".join(map(yaml_text.dump, wanted))


def _building_blocks(names: Sequence[str], form: str) -> str:
    """Return schemas of building blocks: as JSON, or for *form* openapi as YAML."""
    from muster.commands import options
    from muster.commands.schema import block_schemas
    from muster.render import yaml_text

    blocks = block_schemas.BLOCKS
    for name in names:
        if name not in blocks:
            raise click.UsageError(f"there is no building block {name!r}{options.near(name, blocks)}; without NAME, all are printed")
    selected = names or tuple(blocks)
    if form == "openapi":
        return yaml_text.dump({name: block_schemas.structural(name) for name in selected})
    return json.dumps(block_schemas.json_schema(selected), indent=2) + "\n"
