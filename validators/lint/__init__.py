"""Linter: reads manifests, validates all documents together, and removes suppressed findings.

``documents`` parses the bytes of one file, a YAML document (``yaml_stream``) at a time; ``yaml_values`` chooses between ``fast_yaml``, with its ``usual_lines``, and ``yaml_text``.
``examination`` validates each document by itself, ``lint_files`` all documents together in memory.  ``batch`` does the same for many
files in little memory: ``segments`` reads files in parts, ``neighbours`` validates the documents of a few files together, ``object_columns`` and
``object_store`` have the objects of all files, as ``blobs``.  ``suppress`` removes the findings that
annotations and comments hide, ``finding`` has the results.  ``workspace`` lints files that change, as in an editor, with the
objects in ``known_index``; ``cursor`` has the field at a position.  ``fixes`` has the edits that resolve findings.  ``against`` matches objects with
those before a change.  Only ``files`` and ``discovery`` access the file system:
``discovery`` selects the manifests of a repository, with ``other_tools`` and ``path_patterns``.
"""
