"""``muster lint``: findings in manifests.

command         options, reports and exit status
inputs          files that are read, and the report on them
batches         the report on many files, by several processes
processes       work that is shared by several processes
configuration   ``.muster.yaml`` and ``pyproject.toml``: their search, defaults of options, severities by file
against         ``--against``: the objects before a change
git_tree        files of a revision of git
rendering       ``--helm`` and ``--kustomize``
live            ``--cluster`` and ``--gates auto``
baseline_file   ``--baseline`` and ``--write-baseline``
fix_files       ``--fix``
"""
