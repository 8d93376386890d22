module muster.dev/cluster-assets/crds

go 1.26.0

require (
	github.com/cert-manager/cert-manager v1.21.2
	github.com/kubeflow/mpi-operator v0.8.0
	github.com/kubeflow/trainer/v2 v2.2.0
	github.com/kubeflow/training-operator v1.9.3
	github.com/prometheus-operator/prometheus-operator v0.85.0
	github.com/ray-project/kuberay/ray-operator v1.6.0
	sigs.k8s.io/jobset v0.11.1
	sigs.k8s.io/kueue v0.17.0
	sigs.k8s.io/lws v0.9.0
)
