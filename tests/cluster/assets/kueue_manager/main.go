// Kueue's manager without leader election and metrics, for tests: its own program reads the certificate of its metrics from a fixed folder
// of the machine.  It runs the controllers, the webhooks and the scheduler of Kueue, wired as cmd/kueue does; MultiKueue, provisioning and
// topologies are left out.
package main

import (
	"context"
	"flag"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	configapi "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueuev1beta1 "sigs.k8s.io/kueue/apis/kueue/v1beta1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/config"
	"sigs.k8s.io/kueue/pkg/constants"
	"sigs.k8s.io/kueue/pkg/controller/core"
	"sigs.k8s.io/kueue/pkg/controller/core/indexer"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	_ "sigs.k8s.io/kueue/pkg/controller/jobs"
	"sigs.k8s.io/kueue/pkg/scheduler"
	preemptexpectations "sigs.k8s.io/kueue/pkg/scheduler/preemption/expectations"
	"sigs.k8s.io/kueue/pkg/util/kubeversion"
	"sigs.k8s.io/kueue/pkg/webhooks"
)

const gatesOff = "MultiKueue=false,TopologyAwareScheduling=false,VisibilityOnDemand=false"

var setupLog = ctrl.Log.WithName("setup")

func main() {
	file := flag.String("config", "", "file with the configuration")
	options := zap.Options{Development: true}
	options.BindFlags(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&options)))
	if err := run(ctrl.SetupSignalHandler(), *file); err != nil {
		setupLog.Error(err, "ended")
		os.Exit(1)
	}
}

func run(ctx context.Context, file string) error {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(kueue.AddToScheme(scheme))
	utilruntime.Must(kueuev1beta1.AddToScheme(scheme))
	utilruntime.Must(configapi.AddToScheme(scheme))
	utilruntime.Must(utilfeature.DefaultMutableFeatureGate.Set(gatesOff))
	options, cfg, err := config.Load(scheme, file)
	if err != nil {
		return err
	}
	utilruntime.Must(jobframework.ForEachIntegration(func(_ string, each jobframework.IntegrationCallbacks) error {
		if each.AddToScheme != nil {
			return each.AddToScheme(scheme)
		}
		return nil
	}))
	config.AddWebhookSettingsTo(&options, &cfg)
	options.Metrics = metricsserver.Options{BindAddress: "0"}
	restConfig := ctrl.GetConfigOrDie()
	mgr, err := ctrl.NewManager(restConfig, options)
	if err != nil {
		return err
	}
	expectations := preemptexpectations.New()
	cache := schdcache.New(mgr.GetClient())
	requeuer := qcache.NewRequeuer()
	queues := qcache.NewManager(mgr.GetClient(), cache, requeuer, qcache.WithPreemptionExpectations(expectations))
	if err := indexer.Setup(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	frameworks := jobframework.WithEnabledFrameworks(cfg.Integrations.Frameworks)
	if err := jobframework.SetupIndexes(ctx, mgr.GetFieldIndexer(), frameworks); err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		return err
	}
	discovered, err := discovery.NewDiscoveryClientForConfig(restConfig)
	if err != nil {
		return err
	}
	version := kubeversion.NewServerVersionFetcher(discovered)
	if err := version.FetchServerVersion(); err != nil {
		return err
	}
	if _, err := core.SetupControllers(mgr, queues, cache, &cfg, nil, expectations, nil); err != nil {
		return err
	}
	selector, err := metav1.LabelSelectorAsSelector(cfg.ManagedJobsNamespaceSelector)
	if err != nil {
		return err
	}
	if err := jobframework.SetupControllers(ctx, mgr, setupLog, frameworks,
		jobframework.WithManageJobsWithoutQueueName(cfg.ManageJobsWithoutQueueName),
		jobframework.WithKubeServerVersion(version),
		jobframework.WithManagerName(constants.KueueName),
		jobframework.WithCache(cache),
		jobframework.WithQueues(queues),
		jobframework.WithManagedJobsNamespaceSelector(selector),
	); err != nil {
		return err
	}
	if _, err := webhooks.Setup(mgr, nil); err != nil {
		return err
	}
	go queues.CleanUpOnContext(ctx)
	go cache.CleanUpOnContext(ctx)
	sched := scheduler.New(queues, cache, mgr.GetClient(), mgr.GetEventRecorderFor(constants.AdmissionName),
		scheduler.WithPreemptionExpectations(expectations))
	for _, each := range []interface {
		Start(context.Context) error
	}{requeuer, version, sched} {
		if err := mgr.Add(each); err != nil {
			return err
		}
	}
	return mgr.Start(ctx)
}
