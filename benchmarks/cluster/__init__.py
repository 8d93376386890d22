"""Comparison of the sidecar with kube-scheduler on one API server, in one run: ``make bench-cluster``.

Etcd, kube-apiserver, the measured scheduler and the benchmark share the machine's processors, as in kube-scheduler's own
benchmark.  All pods exist before a scheduler starts, so nothing else uses the API server meanwhile.
"""
