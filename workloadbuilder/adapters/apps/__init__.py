"""Controllers of apps/v1 and core/v1: their pods are scheduled one by one, without a group.

replicas      Deployment, ReplicaSet, ReplicationController
statefulset   StatefulSet, with its claims
daemonset     DaemonSet: a pod for each node that it selects
"""
