"""The sidecar beside kube-scheduler, on one API server, in one run: ``make bench-cluster``.

Etcd, kube-apiserver, what is measured and who measures share the machine's processors, as in kube-scheduler's own
benchmark.  All that is to be bound is there before a scheduler starts: nothing else asks the API server meanwhile.
"""
