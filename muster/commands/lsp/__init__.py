"""``muster lsp``: the linter as a language server, for editors.

command     options
server      the protocol: requests and notifications of the editor, diagnostics
checked_messages  messages that break the protocol, and their error responses
session     files of the workspace, on disk and open in the editor, and their findings
field_help  hover, and the definition of what a field refers to
references  fields that name an object or a template
rename      rename of a template, a group or a Workload, with all references
symbols     outline of a file
completion  what can be typed at a position
known_fields  fields that an object can have, by the schemas of its kind
typed_text  field that is typed at a place of a text, which need not parse
flow_text   collections in flow style, and JSON, in such a text
quick_fixes fixes of findings, as edits of the editor
positions   positions of the protocol and of the linter
"""
