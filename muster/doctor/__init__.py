"""Checks of an installation: webhooks, their certificates and servers, the sidecar, the control plane, and the webhooks of other programs.

Pure: the checks read a ``World``, which ``muster.commands.doctor`` collects from files or from a live cluster.  Lowest layer first:

finding        result of a check, and part of the world that a check could not see
manifests      fields of objects of any shape; selectors of labels; kubectl commands
requests       requests on which nodes, pods, groups and Muster depend; whether a webhook matches them
world          objects and observations that checks read
components     Deployments of the webhook server and the sidecar, and their options
budgets        PodDisruptionBudgets of a Deployment
entries        webhooks of the configurations, of Muster and of others: their server, rules, and trusted CAs
built_groups   objects that ask for groups of mode build, and pods that wait for one
control_plane  version, feature gates and served APIs of kube-apiserver and kube-scheduler
refusals       requests that a webhook refuses while its server is down
foreign        webhooks of other programs that such requests depend on
policies       ValidatingAdmissionPolicies that match such requests
call_failures  reasons why the API server cannot call a webhook
probes         objects of dry runs, and what their answers show
latencies      99th percentile of the duration of reviews, from metrics
leaves         certificates of replicas and Secrets, and the CAs on which the trust in them depends
rights         permissions that the components need, and those that roles grant
upgrade        answers of a newer version of Kubernetes about the stored objects of a cluster
checks         the checks, one file each
"""
