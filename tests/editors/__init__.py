"""Tests of what editors get: the extension for Visual Studio Code in a real editor, and the entry for SchemaStore.

assets       code-server and the packaged extension, built once
code_server  an editor in the browser, with the extension
"""
