"""``muster schema``: the building blocks of KEP-6089 as schemas that an API embeds.

command         options
catalog         which files have which schema, in the form of SchemaStore
block_schemas   the building blocks, as JSON Schema and as structural schema
cause_schemas   JSON Schemas of the causes in reports
report_schemas  JSON Schemas of the reports of lint, simulate and fit
"""
