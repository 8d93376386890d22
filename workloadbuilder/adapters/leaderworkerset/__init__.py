"""LeaderWorkerSet (leaderworkerset.x-k8s.io).

leaderworkerset  the adapter
lws_pods         pods of its replicas
lws_subgroups    ``subGroupPolicy``
"""
