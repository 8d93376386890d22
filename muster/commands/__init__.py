"""The subcommands of ``muster``: one module or one package each, imported only when it is called.

certs, explain, review, serve, sidecar, tree   one subcommand each
compile, demo, doctor, fit, lint, lsp, migrate, schema, simulate, snapshot, topology, why   a subcommand in several modules; ``command`` has its options
options         click's forms of declared options, options that several subcommands share, and the Settings made from them
described_nodes   ``--nodes``: nodes described in one line
known_objects   ``--objects``: cluster objects in files, for rules to look up
placement_plugins   plugins that other packages register by entry points
progress        progress on standard error, on a terminal only
device_selectors  compiler of device selectors for the linter
live_input  the live cluster as the source of objects
outputs  further outputs of a command: ``--output FORMAT=FILE``
pod_creation  creation of the pods of controllers' objects: ``--level``, ``--no-pods``
page_origin  origin of a page: the command line, the version of Muster, the time, and the source of the cluster
pod_slots  nodes that were written by hand without the number of pods that they take
topology_keys  topology keys on the command line: whole keys of node labels, or their names
scheduler_config  reader of the file of ``--scheduler-config``
tree  ``muster tree``: the hierarchy of Workloads, groups and pods in manifests, with the findings of the linter in place

Imports ``muster.render``, ``muster.html`` and every package below ``muster``; only ``muster.cli`` imports it.
"""
