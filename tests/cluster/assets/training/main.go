// Command training runs the controllers of Kubeflow's training operator, alone: its own command makes certificates at a fixed path.
package main

import (
	"flag"
	"log"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	kubeflowv1 "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/config"
	controllers "github.com/kubeflow/training-operator/pkg/controller.v1"
	"github.com/kubeflow/training-operator/pkg/controller.v1/common"
)

func main() {
	qps := flag.Float64("kube-api-qps", 20, "")
	burst := flag.Int("kube-api-burst", 30, "")
	health := flag.String("health-probe-bind-address", ":8081", "")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(kubeflowv1.AddToScheme(scheme))
	config.Config.PyTorchInitContainerImage = config.PyTorchInitContainerImageDefault
	config.Config.PyTorchInitContainerTemplateFile = config.PyTorchInitContainerTemplateFileDefault
	config.Config.PyTorchInitContainerMaxTries = config.PyTorchInitContainerMaxTriesDefault
	rest := ctrl.GetConfigOrDie()
	rest.QPS, rest.Burst = float32(*qps), *burst
	options := ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: *health}
	manager, err := ctrl.NewManager(rest, options)
	if err != nil {
		log.Fatal(err)
	}
	for kind, setUp := range controllers.SupportedSchemeReconciler {
		// The MPI operator has the kind MPIJob in a newer version.
		if kind != kubeflowv1.MPIJobKind {
			if err := setUp(manager, common.GenNonGangSchedulerSetupFunc(), 1); err != nil {
				log.Fatal(err)
			}
		}
	}
	if err := manager.Start(ctrl.SetupSignalHandler()); err != nil {
		log.Fatal(err)
	}
}
