// Command mpi runs the controller of MPIJobs of the MPI operator, alone: its own command elects a leader, and serves its health at a fixed port.
package main

import (
	"flag"

	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/kubeflow/mpi-operator/cmd/mpi-operator/app/options"
	jobs "github.com/kubeflow/mpi-operator/pkg/client/clientset/versioned"
	jobscheme "github.com/kubeflow/mpi-operator/pkg/client/clientset/versioned/scheme"
	jobinformers "github.com/kubeflow/mpi-operator/pkg/client/informers/externalversions"
	"github.com/kubeflow/mpi-operator/pkg/controller"
)

func main() {
	klog.InitFlags(nil)
	given := options.NewServerOption()
	given.AddFlags(flag.CommandLine)
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags(given.MasterURL, given.Kubeconfig)
	if err != nil {
		klog.Fatal(err)
	}
	config.QPS, config.Burst = float32(given.QPS), given.Burst
	runtime.Must(jobscheme.AddToScheme(scheme.Scheme))
	ctx := server.SetupSignalContext()
	client, jobClient := kubernetes.NewForConfigOrDie(config), jobs.NewForConfigOrDie(config)
	factory, jobFactory := informers.NewSharedInformerFactory(client, 0), jobinformers.NewSharedInformerFactory(jobClient, 0)
	core := factory.Core().V1()
	// The two clients without a value are those of other schedulers' groups.
	created, err := controller.NewMPIJobController(ctx, client, jobClient, nil, nil, core.ConfigMaps(), core.Secrets(), core.Services(),
		factory.Batch().V1().Jobs(), core.Pods(), factory.Scheduling().V1().PriorityClasses(), jobFactory.Kubeflow().V2beta1().MPIJobs(), given)
	if err != nil {
		klog.Fatal(err)
	}
	factory.Start(ctx.Done())
	jobFactory.Start(ctx.Done())
	if err := created.Run(given.Threadiness, ctx.Done()); err != nil {
		klog.Fatal(err)
	}
}
