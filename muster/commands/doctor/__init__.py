"""``muster doctor``: the checks of ``muster.doctor`` on an installation in files or on a live cluster.

command              options and exit status
manifest_files       the installation in files
live_installation    the installation on a live cluster; nothing is written to it
dry_runs             dry runs of the creation of groups
live_objects         objects of a live cluster, and problems for those that cannot be read
observations         TLS handshakes with replicas, and metrics of webhook servers
diagnosis_report     results as text and JSON
"""
