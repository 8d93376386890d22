"""Linter: reads manifests, validates all documents together, and removes suppressed findings.

``documents`` parses the bytes of one file, ``lint_files`` validates the documents, ``suppress`` removes the findings that
annotations and comments hide, ``finding`` has the results.  ``workspace`` lints files that change, as in an editor, with the
objects in ``known_index``; ``cursor`` has the field at a position.  ``fixes`` has the edits that resolve findings.  ``against`` matches objects with
those before a change.  Only ``files`` and ``discovery`` access the file system:
``discovery`` selects the manifests of a repository, with ``other_tools`` and ``path_patterns``.
"""
