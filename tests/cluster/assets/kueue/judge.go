package main

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	config "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/features"
	"sigs.k8s.io/kueue/pkg/resources"
	"sigs.k8s.io/kueue/pkg/scheduler/flavorassigner"
	"sigs.k8s.io/kueue/pkg/scheduler/preemption"
	"sigs.k8s.io/kueue/pkg/workload"
)

// rounds is how often a situation is assigned: Kueue tries resources in the random order of Go's maps, which decides what is told first.
const rounds = 600

type podSetAnswer struct {
	Name    string                               `json:"name"`
	Count   int32                                `json:"count"`
	Flavors map[corev1.ResourceName]flavorAnswer `json:"flavors"`
	Reasons []string                             `json:"reasons"` // told in some order of the resources
	Always  []string                             `json:"always"`  // told in every order
}

type flavorAnswer struct {
	Name string `json:"name"`
	Mode string `json:"mode"`
}

type targetAnswer struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// answer is what Kueue says. Of a workload that is not nominated there is only Inadmissible.
type answer struct {
	Name          string                      `json:"name"`
	Inadmissible  *string                     `json:"inadmissible"`
	Inactive      []string                    `json:"inactive"` // reason and message of the condition Active
	Mode          string                      `json:"mode,omitempty"`
	PodSets       []podSetAnswer              `json:"podSets,omitempty"`
	Borrowing     int                         `json:"borrowing"`
	Usage         map[string]map[string]int64 `json:"usage,omitempty"`   // by flavor and resource; cpu in thousandths
	Message       *string                     `json:"message,omitempty"` // of the condition of the workload, if it is always the same
	Targets       []targetAnswer              `json:"preemptionTargets,omitempty"`
	ReducedCounts []int32                     `json:"reducedCounts,omitempty"`
	Fits          bool                        `json:"fits"`
}

func judge(given *situation) (*answer, error) {
	restore, err := setGates(given.Gates)
	if err != nil {
		return nil, err
	}
	defer restore()
	loaded, err := load(given)
	if err != nil {
		return nil, err
	}
	result := &answer{Name: given.Name}
	wl := loaded.workload
	cqName, message := checkQueues(loaded, wl)
	if message == "" {
		info := workload.NewInfo(wl, given.infoOptions()...)
		info.ClusterQueue = cqName
		message, err = nominate(loaded, info, result)
		if err != nil {
			return nil, err
		}
	}
	if message != "" {
		result.Inadmissible = &message
	}
	if cqName != "" && !loaded.cache.ClusterQueueActive(cqName) && loaded.clusterQueues[string(cqName)] != nil {
		// A queue below a cycle of cohorts has no reason.
		if _, reason, text := loaded.cache.ClusterQueueReadiness(cqName); reason != kueue.ClusterQueueActiveReasonReady {
			result.Inactive = []string{reason, text}
		}
	}
	return result, nil
}

// checkQueues does what the reconciler of workloads does before a workload is queued (pkg/controller/core/workload_controller.go).
func checkQueues(loaded *loading, wl *kueue.Workload) (kueue.ClusterQueueReference, string) {
	local := loaded.localQueues[wl.Namespace+"/"+string(wl.Spec.QueueName)]
	if local == nil {
		return "", fmt.Sprintf("LocalQueue %s doesn't exist", wl.Spec.QueueName)
	}
	name := local.Spec.ClusterQueue
	if ptr.Deref(local.Spec.StopPolicy, kueue.None) != kueue.None {
		return name, fmt.Sprintf("LocalQueue %s is inactive", wl.Spec.QueueName)
	}
	if loaded.clusterQueues[string(name)] == nil {
		return name, fmt.Sprintf("ClusterQueue %s doesn't exist", name)
	}
	if !loaded.cache.ClusterQueueActive(name) {
		return name, fmt.Sprintf("ClusterQueue %s is inactive", name)
	}
	return name, ""
}

// nominate does what Scheduler.nominate and Scheduler.schedule do with one workload.
func nominate(loaded *loading, info *workload.Info, result *answer) (string, error) {
	ctx := loaded.ctx
	snapshot, err := loaded.cache.Snapshot(ctx)
	if err != nil {
		return "", err
	}
	cq := snapshot.ClusterQueue(info.ClusterQueue)
	ns := corev1.Namespace{}
	switch {
	case workload.HasRetryChecks(info.Obj) || workload.HasRejectedChecks(info.Obj):
		return "The workload has failed admission checks", nil
	case snapshot.InactiveClusterQueueSets.Has(info.ClusterQueue):
		return fmt.Sprintf("ClusterQueue %s is inactive", info.ClusterQueue), nil
	case cq == nil:
		return fmt.Sprintf("ClusterQueue %s not found", info.ClusterQueue), nil
	}
	if err := loaded.client.Get(ctx, client.ObjectKey{Name: info.Obj.Namespace}, &ns); err != nil {
		return fmt.Sprintf("Could not obtain workload namespace: %v", err), nil
	}
	if !cq.NamespaceSelector.Matches(labels.Set(ns.Labels)) {
		return "Workload namespace doesn't match ClusterQueue selector", nil
	}
	if err := workload.ValidateResources(info); err != nil {
		return "resources validation failed: " + described(err), nil
	}
	if err := workload.ValidateLimitRange(ctx, loaded.client, info); err != nil {
		return "resources didn't satisfy LimitRange constraints: " + described(err), nil
	}
	return "", assignOften(loaded, info, snapshot, result)
}

// described leaves out the resources, which Kueue lists in a random order.
func described(list field.ErrorList) string {
	var result []string
	for _, each := range list {
		result = append(result, each.Field+": "+each.Detail)
	}
	return strings.Join(result, ", ")
}

// assignOften describes an assignment, with the reasons of many. It is an error if they differ in more than that.
func assignOften(loaded *loading, info *workload.Info, snapshot *schdcache.Snapshot, result *answer) error {
	told, messages := map[string]map[string]int{}, map[string]bool{}
	for round := range rounds {
		found := assign(loaded, info, snapshot)
		messages[found.assignment.Message()] = true
		for _, podSet := range found.assignment.PodSets {
			if told[string(podSet.Name)] == nil {
				told[string(podSet.Name)] = map[string]int{}
			}
			for _, reason := range reasonsOf(&podSet) {
				told[string(podSet.Name)][reason]++
			}
		}
		described := &answer{Name: result.Name}
		describe(found, snapshot.ClusterQueue(info.ClusterQueue), snapshot, described)
		if round == 0 {
			*result = *described
		} else if !reflect.DeepEqual(result, described) {
			return fmt.Errorf("an assignment is %+v, another %+v", result, described)
		}
	}
	for message := range messages {
		if len(messages) == 1 {
			result.Message = &message
		}
	}
	for at := range result.PodSets {
		podSet := &result.PodSets[at]
		podSet.Reasons, podSet.Always = []string{}, []string{}
		for reason, times := range told[podSet.Name] {
			podSet.Reasons = append(podSet.Reasons, reason)
			if times == rounds {
				podSet.Always = append(podSet.Always, reason)
			}
		}
		slices.Sort(podSet.Reasons)
		slices.Sort(podSet.Always)
	}
	return nil
}

// inside matches what follows a comma inside of a reason: of quotas, or of nodes that a topology has to do without.
var inside = regexp.MustCompile(`^previously considered | more needed$|^(nodeSelector|affinity|topologyDomain|taint .*|resource .*): \d+$`)

// reasonsOf returns each reason once. The package lets out only all of them joined by ", ", which some reasons have inside.
func reasonsOf(podSet *flavorassigner.PodSetAssignment) []string {
	var result []string
	for part := range strings.SplitSeq(podSet.Status.Message(), ", ") {
		if inside.MatchString(part) && len(result) > 0 {
			result[len(result)-1] += ", " + part
		} else if part != "" {
			result = append(result, part)
		}
	}
	return slices.Compact(result)
}

type assigned struct {
	assignment flavorassigner.Assignment
	targets    []*preemption.Target
	reduced    []int32
}

// assign does what Scheduler.getAssignments does, without slices of workloads.
func assign(loaded *loading, info *workload.Info, snapshot *schdcache.Snapshot) assigned {
	cq := snapshot.ClusterQueue(info.ClusterQueue)
	info.LastAssignment = nil
	oracle := preemption.NewOracle(loaded.preemptor, snapshot)
	assigner := flavorassigner.New(info, cq, snapshot.ResourceFlavors, loaded.given.FairSharing, oracle, nil)
	full := assigner.Assign(loaded.log, nil)
	switch full.RepresentativeMode() {
	case flavorassigner.Fit:
		return assigned{assignment: full}
	case flavorassigner.Preempt:
		if targets := loaded.preemptor.GetTargets(loaded.log, *info, full, snapshot); len(targets) > 0 {
			return assigned{assignment: full, targets: targets}
		}
	}
	if features.Enabled(features.PartialAdmission) && info.CanBePartiallyAdmitted() {
		reducer := flavorassigner.NewPodSetReducer(info.Obj.Spec.PodSets, func(counts []int32) (*assigned, bool) {
			partial := assigner.Assign(loaded.log, counts)
			found := &assigned{assignment: partial, reduced: slices.Clone(counts)}
			switch partial.RepresentativeMode() {
			case flavorassigner.Fit:
				return found, true
			case flavorassigner.Preempt:
				found.targets = loaded.preemptor.GetTargets(loaded.log, *info, partial, snapshot)
				return found, len(found.targets) > 0
			}
			return nil, false
		})
		if found, ok := reducer.Search(); ok {
			return *found
		}
	}
	return assigned{assignment: full}
}

func describe(found assigned, cq *schdcache.ClusterQueueSnapshot, snapshot *schdcache.Snapshot, result *answer) {
	assignment := found.assignment
	result.Mode = assignment.RepresentativeMode().String()
	result.Borrowing = assignment.Borrows()
	result.ReducedCounts = found.reduced
	for _, podSet := range assignment.PodSets {
		flavors := map[corev1.ResourceName]flavorAnswer{}
		for resource, flavor := range podSet.Flavors {
			flavors[resource] = flavorAnswer{string(flavor.Name), flavor.Mode.String()}
		}
		result.PodSets = append(result.PodSets, podSetAnswer{Name: string(podSet.Name), Count: podSet.Count, Flavors: flavors})
	}
	var removed []*workload.Info
	for _, target := range found.targets {
		removed = append(removed, target.WorkloadInfo)
		result.Targets = append(result.Targets, targetAnswer{string(workload.Key(target.WorkloadInfo.Obj)), target.Reason})
	}
	slices.SortFunc(result.Targets, func(a, b targetAnswer) int { return strings.Compare(a.Name, b.Name) })
	result.Usage = quantities(assignment.Usage.Quota)
	if assignment.RepresentativeMode() != flavorassigner.NoFit {
		restore := snapshot.SimulateWorkloadRemoval(removed)
		result.Fits = cq.Fits(workload.Usage{Quota: assignment.Usage.Quota})
		restore()
	}
}

func quantities(usage resources.FlavorResourceQuantities) map[string]map[string]int64 {
	result := map[string]map[string]int64{}
	for at, value := range usage {
		if result[string(at.Flavor)] == nil {
			result[string(at.Flavor)] = map[string]int64{}
		}
		result[string(at.Flavor)][string(at.Resource)] = value
	}
	return result
}

func newPreemptor(cl client.Client, given *situation) *preemption.Preemptor {
	var fairSharing *config.FairSharing
	if given.FairSharing {
		fairSharing = &config.FairSharing{}
	}
	return preemption.New(cl, workload.Ordering{PodsReadyRequeuingTimestamp: config.EvictionTimestamp}, record.NewFakeRecorder(1), fairSharing,
		false, clock.RealClock{}, nil, nil, nil)
}
