package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	"sigs.k8s.io/controller-runtime/pkg/client"
	config "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/controller/core/indexer"
	"sigs.k8s.io/kueue/pkg/scheduler/preemption"
	utiltesting "sigs.k8s.io/kueue/pkg/util/testing"
	"sigs.k8s.io/kueue/pkg/workload"
)

// situation is a cluster with Kueue's objects, and a workload that waits in a queue.
type situation struct {
	Name             string                          `json:"name"`
	Gates            map[string]bool                 `json:"gates"`
	FairSharing      bool                            `json:"fairSharing"`
	ExcludedPrefixes []string                        `json:"excludeResourcePrefixes"`
	Transformations  []config.ResourceTransformation `json:"transformations"`
	Objects          []json.RawMessage               `json:"objects"`
	Workload         kueue.Workload                  `json:"workload"`
}

func (given *situation) infoOptions() []workload.InfoOption {
	return []workload.InfoOption{
		workload.WithExcludedResourcePrefixes(given.ExcludedPrefixes), workload.WithResourceTransformations(given.Transformations),
	}
}

// loading is a situation in the cache of Kueue.
type loading struct {
	ctx           context.Context
	log           logr.Logger
	given         *situation
	client        client.Client
	cache         *schdcache.Cache
	preemptor     *preemption.Preemptor
	localQueues   map[string]*kueue.LocalQueue
	clusterQueues map[string]*kueue.ClusterQueue
	workload      *kueue.Workload
}

type objects struct {
	flavors    []*kueue.ResourceFlavor
	topologies []*kueue.Topology
	nodes      []*corev1.Node
	checks     []*kueue.AdmissionCheck
	cohorts    []*kueue.Cohort
	clusters   []*kueue.ClusterQueue
	locals     []*kueue.LocalQueue
	workloads  []*kueue.Workload
	others     []client.Object
}

func (all *objects) add(raw json.RawMessage) error {
	var meta metav1.TypeMeta
	if err := json.Unmarshal(raw, &meta); err != nil {
		return err
	}
	switch meta.Kind {
	case "ResourceFlavor":
		return decode(raw, &all.flavors)
	case "Topology":
		return decode(raw, &all.topologies)
	case "Node":
		return decode(raw, &all.nodes)
	case "AdmissionCheck":
		return decode(raw, &all.checks)
	case "Cohort":
		return decode(raw, &all.cohorts)
	case "ClusterQueue":
		return decode(raw, &all.clusters)
	case "LocalQueue":
		return decode(raw, &all.locals)
	case "Workload":
		return decode(raw, &all.workloads)
	case "Namespace":
		return decodeOther(raw, &corev1.Namespace{}, &all.others)
	case "LimitRange":
		return decodeOther(raw, &corev1.LimitRange{}, &all.others)
	}
	return fmt.Errorf("unknown kind %q", meta.Kind)
}

func decode[T any](raw json.RawMessage, into *[]*T) error {
	object := new(T)
	if err := json.Unmarshal(raw, object); err != nil {
		return err
	}
	*into = append(*into, object)
	return nil
}

func decodeOther(raw json.RawMessage, object client.Object, into *[]client.Object) error {
	if err := json.Unmarshal(raw, object); err != nil {
		return err
	}
	*into = append(*into, object)
	return nil
}

// load puts the objects into the cache in the order in which none misses another.
func load(given *situation) (*loading, error) {
	all := objects{}
	for _, raw := range given.Objects {
		if err := all.add(raw); err != nil {
			return nil, err
		}
	}
	ctx := context.Background()
	builder := utiltesting.NewClientBuilder().WithIndex(&corev1.LimitRange{}, indexer.LimitRangeHasContainerType, indexer.IndexLimitRangeHasContainerType)
	cl := builder.WithObjects(all.others...).Build()
	result := &loading{
		ctx: ctx, log: logr.Discard(), given: given, client: cl, preemptor: newPreemptor(cl, given),
		cache: schdcache.New(cl, schdcache.WithFairSharing(given.FairSharing), schdcache.WithExcludedResourcePrefixes(given.ExcludedPrefixes),
			schdcache.WithResourceTransformations(given.Transformations)),
		localQueues: map[string]*kueue.LocalQueue{}, clusterQueues: map[string]*kueue.ClusterQueue{},
	}
	if err := result.fill(&all); err != nil {
		return nil, err
	}
	result.workload = given.Workload.DeepCopy()
	workload.AdjustResources(ctx, cl, result.workload)
	return result, nil
}

func (loaded *loading) fill(all *objects) error {
	cache, log := loaded.cache, loaded.log
	for _, topology := range all.topologies {
		cache.AddOrUpdateTopology(log, topology)
	}
	for _, node := range all.nodes {
		cache.TASCache().SyncNode(node)
	}
	for _, flavor := range all.flavors {
		cache.AddOrUpdateResourceFlavor(log, flavor)
	}
	for _, check := range all.checks {
		cache.AddOrUpdateAdmissionCheck(log, check)
	}
	for _, cohort := range all.cohorts {
		if err := cache.AddOrUpdateCohort(cohort); err != nil && !errors.Is(err, schdcache.ErrCohortHasCycle) {
			return err
		}
	}
	for _, cluster := range all.clusters {
		setDefaults(cluster)
		loaded.clusterQueues[cluster.Name] = cluster
		if err := cache.AddClusterQueue(loaded.ctx, cluster); err != nil && !errors.Is(err, schdcache.ErrCohortHasCycle) {
			return err
		}
	}
	for _, local := range all.locals {
		loaded.localQueues[local.Namespace+"/"+local.Name] = local
		if err := cache.AddLocalQueue(local); err != nil {
			return err
		}
	}
	for _, admitted := range all.workloads {
		cache.AddOrUpdateWorkload(log, admitted)
	}
	return nil
}

// setDefaults sets what the API server sets by the schema of ClusterQueue.
func setDefaults(queue *kueue.ClusterQueue) {
	if queue.Spec.Preemption == nil {
		queue.Spec.Preemption = &kueue.ClusterQueuePreemption{}
	}
	set(&queue.Spec.Preemption.ReclaimWithinCohort, kueue.PreemptionPolicyNever)
	set(&queue.Spec.Preemption.WithinClusterQueue, kueue.PreemptionPolicyNever)
	if queue.Spec.Preemption.BorrowWithinCohort == nil {
		queue.Spec.Preemption.BorrowWithinCohort = &kueue.BorrowWithinCohort{}
	}
	set(&queue.Spec.Preemption.BorrowWithinCohort.Policy, kueue.BorrowWithinCohortPolicyNever)
}

func set[T ~string](field *T, value T) {
	if *field == "" {
		*field = value
	}
}

// setGates sets feature gates of Kueue; the function that it returns sets them back.
func setGates(gates map[string]bool) (func(), error) {
	given := utilfeature.DefaultMutableFeatureGate
	before := map[string]bool{}
	restore := func() {
		for name, value := range before {
			_ = given.Set(fmt.Sprintf("%s=%t", name, value))
		}
	}
	for name, value := range gates {
		before[name] = given.Enabled(featuregate.Feature(name))
		if err := given.Set(fmt.Sprintf("%s=%t", name, value)); err != nil {
			restore()
			return nil, err
		}
	}
	return restore, nil
}
