"""Validation of the built-in kinds that create pods, beyond the shape that their schemas describe.

It reads objects as JSON whose shape is valid, with and without the defaults of the API server.  The errors are those of the API
server (Kubernetes 1.37.1, ``pkg/apis/core/validation``, ``apps/validation``, ``batch/validation``), for mistakes that decide
whether it creates an object.

Imports: other modules of ``validators``.

shared_checks        parts of JSON objects, and errors that all modules use
names                names, labels and annotations
selectors            label selectors and node selectors
placement            affinity, tolerations, topology spread, scheduling gates
resources            requests and limits
downward             references to fields of a pod in variables and files
volume_claims        PersistentVolumeClaims
volume_files         files of ConfigMaps, Secrets, tokens and certificates in volumes
volume_sources       sources of volumes
volumes              volumes, and what containers mount
windows              options of Windows
security             security contexts, user namespaces, operating system
probes               probes and handlers
containers           containers: names, images, ports, environment, mounts, probes
pod_spec             specifications of pods
cron                 schedules of CronJobs
jobs                 Jobs and CronJobs
apps                 Deployments, ReplicaSets, StatefulSets, DaemonSets, ReplicationControllers
shapes               shapes by kind and version, from the published schemas
other_project_rules  what the webhooks and operators of other projects refuse
whole_objects        whole objects: shape first, then all of the above
"""
