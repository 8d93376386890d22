"""KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1) -> profiles of schedulers; imports ``model``.

Fields, defaults and validation are those of kube-scheduler 1.37.1 with its default feature gates.  All errors are reported, each with
its field path.  What is valid but not modelled is reported as a note.

scheduler_configuration  the configuration as a whole: profiles, extenders, notes
plugin_sets              enabled plugins of each extension point, expanded from multiPoint, and their weights
plugin_args              arguments of plugins
fields                   fields of the configuration and their types; reads values strictly
"""
