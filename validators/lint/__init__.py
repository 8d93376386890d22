"""Linter: reads manifests, validates all documents together, and removes suppressed findings.

``documents`` parses the bytes of one file, a YAML document (``yaml_stream``) at a time; ``yaml_values`` chooses between ``fast_yaml``, with its ``usual_lines``, and
``yaml_text``; ``usual_fields`` has the extent of one field of a document that ``fast_yaml`` reads.
``engine`` validates each document by itself, then with the other objects, and makes the report; ``examination`` has the results.
``lint_files`` calls it for all documents in memory, ``batch`` for many files in little memory: ``segments`` reads files in parts, ``neighbours`` validates the documents of a few files together, ``object_columns`` and
``object_store`` have the objects of all files, as bytes in a ``byte_store``.  ``suppress`` removes the findings that
annotations and comments hide, ``finding`` has the results.  ``workspace`` lints files that change, as in an editor, with the
objects in ``known_index``; ``cursor`` has the field at a position.  ``fixes`` has the edits that resolve findings.  ``against`` matches objects with
those before a change.  Only ``files``, with ``file_content``, and ``discovery`` access the file system:
``discovery`` selects the manifests of a repository, with ``tool_files`` and ``path_patterns``.

folders        folders with their files, listed once
baseline       baseline: findings that a repository already has and that are not reported, so that only new ones are
comments       comments of a YAML document that are meant for the linter
configuration  configuration of the linter
fingerprint    fingerprints of findings that stay when lines move: for code scanning services and baselines
json_text      parsing of JSON: a text to values and, on demand, to positions
limits         limits of files: a linter in CI reads untrusted input
places         positions in a text: offsets to lines and columns, and field paths to the text of the field
rendered       manifests that a program has rendered, with positions in its output
scalars        values of YAML scalars, under the rules of the YAML parser of kubectl (sigs.k8s.io/yaml, its goyaml.v2)
usual_fields   positions of fields in the usual layout, without those of the other fields
yaml_events    events of the YAML library, and a builder of one value for each document
"""
