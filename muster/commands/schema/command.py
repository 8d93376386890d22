"""``muster schema``: the building blocks of KEP-6089 as schemas that the author of a controller's API embeds."""

from __future__ import annotations

import json
import sys

import click

FORMATS = ("json-schema", "openapi")


@click.command(
    short_help="Print the scheduling building blocks for a CRD to embed.",
    epilog="Example: muster schema --building-blocks --format openapi WorkloadPodGroupSchedulingPolicy",
)
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("--building-blocks", is_flag=True, help="Print the structs of scheduling.k8s.io/v1alpha3 that controllers embed.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="json-schema",
    show_default=True,
    help="json-schema: JSON Schema 2020-12, as JSON; openapi: structural schemas of OpenAPI v3 for a CRD, as YAML.",
)
def schema(*, names: tuple[str, ...], building_blocks: bool, form: str) -> None:
    """Print schemas of the building blocks of scheduling.k8s.io/v1alpha3 that controllers embed in their own APIs (KEP-6089).

    WorkloadPodGroup... are for groups of pods, WorkloadCompositePodGroup... for groups of groups. With --format openapi, each
    schema is complete, with its validation rules: copy it below spec.versions[].schema.openAPIV3Schema. With NAME, only these
    are printed.

    Exit status: 0 success, 2 a NAME is unknown or the command line is wrong.
    """
    if not building_blocks:
        raise click.UsageError("--building-blocks is required: there is nothing else to print")
    from muster.commands import options
    from muster.commands.schema import block_schemas
    from muster.render import yaml_text

    blocks = block_schemas.BLOCKS
    for name in names:
        if name not in blocks:
            raise click.UsageError(f"there is no building block {name!r}{options.near(name, blocks)}; without NAME, all are printed")
    selected = names or tuple(blocks)
    if form == "openapi":
        text = yaml_text.dump({name: block_schemas.structural(name) for name in selected})
    else:
        text = json.dumps(block_schemas.json_schema(selected), indent=2) + "\n"
    sys.stdout.buffer.write(text.encode("utf-8"))
    sys.stdout.buffer.flush()
