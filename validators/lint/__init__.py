"""Linter: reads manifests, validates all documents together, and removes suppressed findings.

Findings: ``engine`` validates each document by itself, then with the other objects, and makes the report.  It has three drivers, whose
reports are equal: ``lint_files`` for files in memory, ``batch`` for many files in little memory, and ``workspace`` for files that change, as
in an editor.

engine         the two passes over documents, and the report
examination    results of the first pass: findings with their positions, annotations, comments and counts
finding        findings, and the report of one run
object_index   index of objects in memory, and the lookup in an index, which records what is looked up
object_store   lookup in the objects of many files, which are encoded outside of Python's memory
object_columns the encoded objects, with numbers about them in arrays
lint_files     driver for files in memory
batch          driver for many files and several processes
workspace      driver for files that change
suppress       findings that annotations and comments hide
comments       comments of a YAML document that are meant for the linter
baseline       baseline: findings that a repository already has and that are not reported, so that only new ones are
against        objects before a change, matched with those after it
fixes          edits of the text that resolve findings
configuration  configuration of the linter

Files: only these access the file system.

discovery      selection of the manifests of a repository
files          reading of the files of given paths
file_content   bytes of files, pipes and devices
folders        folders with their files, listed once
path_patterns  patterns of paths, as in ``.gitignore``
tool_files     files of other tools, such as charts and kustomizations
tool_content   files of other tools that only their content tells

Documents: the bytes of one file to objects, each with the positions of its fields.

documents         parsing of one file
large_files       large files, read and parsed a segment at a time
limits            limits of files: a linter in CI reads untrusted input
places            positions in a text: offsets to lines and columns, and field paths to the text of the field
json_text         parsing of JSON: a text to values and, on demand, to positions
yaml_stream       markers of a YAML stream, which end its documents
yaml_values       values of a YAML document, by the fast parser where it can
fast_yaml         values of documents in the usual layout of manifests, without the YAML library
fast_yaml_lines   the lines that such documents have
fast_yaml_places  positions in such documents: of all fields, or of one
yaml_text         values and positions of any YAML document
yaml_events       events of the YAML library, and a builder of one value for each document
scalars           values of YAML scalars, under the rules of the YAML parser of kubectl (sigs.k8s.io/yaml, its goyaml.v2)
"""
