"""New pods as the API server admits them: what its admission plugins set, and why they would refuse a pod.

path           new pods of controllers' objects, and Pods that are not in the cluster yet
admit          all plugins, in the order of the API server (Kubernetes 1.37.1)
limit_ranges   LimitRanger: defaults and limits of containers and pods
storage_classes  default StorageClass of new claims, and the volumes of classes that bind at once
pod_defaults   default PriorityClass, and overhead and scheduling of a RuntimeClass
quotas         ResourceQuota: what is left, and what the pods need
validation     versions, fields and values that the API server refuses
"""
