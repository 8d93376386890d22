"""``muster demo``: linter, webhook server and simulator on one machine; with ``--cluster`` on a real control plane.

command              the demonstration without a cluster
cluster_demo         the demonstration on a control plane
local_control_plane  etcd and kube-apiserver on free ports of the loopback, with Muster installed from manifests
child_processes      commands and servers that the demonstration runs
terminal             output of the demonstration
data                 objects of the demonstration
"""
