// Command kueue_topology tells whether podsets fit, by the topology snapshot of Kueue 0.17.0.
//
// Each line of standard input is a situation; each line of standard output is the reason why it does not fit, or an empty string. It is built
// in a module that requires sigs.k8s.io/kueue v0.17.0, and has recorded the answers of tests/muster/test_kueue_recorded.py.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/resources"
)

type situation struct {
	Nodes []struct {
		Name, Block, Rack string
		Cpu               int64
	}
	PodSets []struct {
		Name                   string
		Count                  int32
		Cpu                    int64
		Required, Slice, Group string
		Size                   int32
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 1<<24)
	scheme := runtime.NewScheme()
	must(clientgoscheme.AddToScheme(scheme))
	must(kueue.AddToScheme(scheme))
	ctx, log := context.Background(), logr.Discard()
	for in.Scan() {
		var s situation
		must(json.Unmarshal(in.Bytes(), &s))
		c := schdcache.New(fake.NewClientBuilder().WithScheme(scheme).WithIndex(&kueue.LocalQueue{}, "spec.clusterQueue", func(o client.Object) []string { return nil }).WithIndex(&kueue.Workload{}, "status.admission.clusterQueue", func(o client.Object) []string { return nil }).Build())
		c.AddOrUpdateTopology(log, &kueue.Topology{ObjectMeta: metav1.ObjectMeta{Name: "t"}, Spec: kueue.TopologySpec{Levels: []kueue.TopologyLevel{{NodeLabel: "block"}, {NodeLabel: "rack"}, {NodeLabel: corev1.LabelHostname}}}})
		name := kueue.TopologyReference("t")
		c.AddOrUpdateResourceFlavor(log, &kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "f"}, Spec: kueue.ResourceFlavorSpec{TopologyName: &name}})
		must(c.AddClusterQueue(ctx, &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: kueue.ClusterQueueSpec{ResourceGroups: []kueue.ResourceGroup{{CoveredResources: []corev1.ResourceName{"cpu"}, Flavors: []kueue.FlavorQuotas{{Name: "f", Resources: []kueue.ResourceQuota{{Name: "cpu", NominalQuota: resource.MustParse("1000")}}}}}}}}))
		for _, n := range s.Nodes {
			c.TASCache().SyncNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: map[string]string{"block": n.Block, "rack": n.Rack, corev1.LabelHostname: n.Name}}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{"cpu": *resource.NewQuantity(n.Cpu, resource.DecimalSI), "pods": resource.MustParse("110")}, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}})
		}
		snap, err := c.Snapshot(ctx)
		must(err)
		requests := schdcache.FlavorTASRequests{}
		for i := range s.PodSets {
			p := s.PodSets[i]
			r := &kueue.PodSetTopologyRequest{}
			if p.Required != "" {
				r.Required = &p.Required
			}
			if p.Slice != "" {
				r.PodSetSliceRequiredTopology, r.PodSetSliceSize = &p.Slice, &p.Size
			}
			var group *string
			if p.Group != "" {
				group = &p.Group
				r.PodSetGroupName = group
			}
			if p.Required == "" && p.Slice == "" {
				yes := true
				r.Unconstrained = &yes
			}
			requests = append(requests, schdcache.TASPodSetRequests{PodSet: &kueue.PodSet{Name: kueue.PodSetReference(p.Name), Count: p.Count, TopologyRequest: r}, SinglePodRequests: resources.Requests{"cpu": p.Cpu * 1000}, Count: p.Count, Flavor: "f", PodSetGroupName: group})
		}
		result := snap.ClusterQueue("q").FindTopologyAssignmentsForWorkload(schdcache.WorkloadTASRequests{"f": requests})
		reason := ""
		if f := result.Failure(); f != nil {
			reason = f.Reason
		}
		out, _ := json.Marshal(reason)
		fmt.Println(string(out))
	}
}
