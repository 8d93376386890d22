"""Controllers' own objects, as plain JSON, to trees of ``WorkloadItem``; imports the rest of ``workloadbuilder``.

shared            what adapters have in common: fields of an object, pod templates, a Job's spec, Kueue's annotations
job               Job (batch/v1)
jobset            JobSet (jobset.x-k8s.io)
leaderworkerset   LeaderWorkerSet (leaderworkerset.x-k8s.io)
trainjob          TrainJob (trainer.kubeflow.org)
grove             PodCliqueSet (grove.io)
other_schedulers  PodGroups of scheduler-plugins, Volcano and KAI
kinds             the kinds that can be compiled, each with its adapter
compiled          one object compiled
group_instances   the groups that are made of a tree's leaves, and their pods
explained         which block of a template came from where
"""
