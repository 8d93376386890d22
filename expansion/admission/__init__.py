"""New objects as the API server admits them: what its admission plugins set in pods and claims, and why they would refuse one.

new_objects    new pods of controllers' objects, and given objects that are not in the cluster yet
admit          all plugins for pods, in the order of the API server (Kubernetes 1.37.1)
amounts        amounts in the objects that admission reads, and their errors
limit_ranges   LimitRanger: defaults and limits of containers, pods and claims
new_claims     new PersistentVolumeClaims: default class, volumes, and LimitRanges
static_volumes  existing volumes that new claims are bound to before their pods are scheduled
storage_classes  default StorageClass of new claims, and the volumes of classes that bind at once
admission_plugins  plugins that are off by default, and that an option turns on
pod_defaults   default PriorityClass, and overhead and scheduling of a RuntimeClass
service_accounts  ServiceAccounts that new pods name
quotas         ResourceQuota: what is left, and what the new objects need
quota_scopes   scopes of quotas, and the usage of the objects that they select
quota_charges  the objects that quotas count
quota_usage    usage of objects by the names of resources in quotas
created_objects  objects other than pods that new objects bring with them
new_values     values of new objects that decide on the placement, for simulations that are not complete
validation     versions, fields and values that the API server refuses
"""
