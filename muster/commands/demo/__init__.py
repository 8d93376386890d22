"""``muster demo``: linter, webhook server and simulator on one machine; with ``--cluster`` on a real control plane.

command          the demonstration without a cluster
cluster_demo     the demonstration on a control plane
local_control_plane  etcd and kube-apiserver on free ports of the loopback
installation     Muster installed on it from the manifests of deploy/
webhook_server   ``muster serve`` in its own process, and a client of it
kubectl_shell    runs the commands that are shown, and shows their output
terminal         output of the demonstration
wording          answers as kubectl prints them, lines that fit
data             objects of the demonstration
"""
