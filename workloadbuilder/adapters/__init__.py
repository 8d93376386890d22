"""Adapters from controllers' objects, as plain JSON, to trees of ``WorkloadItem``; they import the rest of ``workloadbuilder``.

shared            common parts: fields of an object, pod templates, a Job's spec, Kueue's annotations
job               Job (batch/v1)
jobset            JobSet (jobset.x-k8s.io)
leaderworkerset   LeaderWorkerSet (leaderworkerset.x-k8s.io)
trainjob          TrainJob (trainer.kubeflow.org)
grove             PodCliqueSet (grove.io)
other_schedulers  PodGroups of scheduler-plugins, Volcano and KAI, Volcano's Job
kubeflow          MPIJob, PyTorchJob, TFJob and others (kubeflow.org)
ray               RayCluster, RayJob, RayService (ray.io)
kserve            InferenceService, LLMInferenceService (serving.kserve.io)
spark             SparkApplication, ScheduledSparkApplication (sparkoperator.k8s.io)
argo              Workflow, CronWorkflow (argoproj.io)
appwrapper        AppWrapper (workload.codeflare.dev)
declared_kinds    any kind whose pod templates are declared by their paths
kueue_pod_group   pod group of Kueue: pods with its label
cronjob           CronJob (batch/v1)
apps              Deployment, ReplicaSet, StatefulSet, DaemonSet, ReplicationController
kinds             kinds that can be compiled, each with its adapter
skipped_kinds     kinds without an adapter: those that create pods
compiled          compilation of one object
members           labels by which the pods of an object are told apart by group
group_objects     the Workload and the groups of an object on a live cluster, and the steps to them
group_instances   groups of a tree's leaves, and their pods
built_kinds       kinds of objects for which groups are built on a live cluster, and the pods that join them
explained         source of each block of a template
"""
