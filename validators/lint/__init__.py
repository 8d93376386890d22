"""Linter: reads manifests, validates all documents together, and removes suppressed findings.

``documents`` parses the bytes of one file, ``lint_files`` validates the documents, ``suppress`` removes the findings that
annotations and comments hide, ``finding`` has the results.  Only ``files`` accesses the file system.
"""
