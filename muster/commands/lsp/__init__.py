"""``muster lsp``: the linter as a language server, for editors.

command     options
server      the protocol: requests and notifications of the editor, diagnostics
checked_messages  messages that break the protocol, and their error responses
session     files of the workspace, on disk and open in the editor, and their findings
field_help  hover, and the definition of what a field refers to
quick_fixes fixes of findings, as edits of the editor
positions   positions of the protocol and of the linter
"""
