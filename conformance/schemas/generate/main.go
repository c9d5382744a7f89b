// Command generate writes what the library must know of Kubernetes' and other projects' types, as facts without
// descriptions: the API server's OpenAPI document and CRDs say what a value may be, the Go types how it is written.
//
//	go run ./generate DIRECTORY
package main

import (
	"fmt"
	"os"
	"reflect"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

// roots are the API server's types that are wanted; what they refer to follows.
var roots = []any{
	corev1.ConfigMap{}, corev1.Event{}, corev1.LimitRange{}, corev1.Namespace{}, corev1.PersistentVolumeClaim{},
	corev1.Pod{}, corev1.PodTemplateSpec{}, corev1.Secret{}, corev1.Service{}, corev1.ServiceAccount{},
	autoscalingv2.MetricSpec{}, batchv1.Job{}, batchv1.JobTemplateSpec{}, coordinationv1.Lease{}, nodev1.RuntimeClass{},
	schedulingv1.PriorityClass{}, schedulingv1alpha2.PodGroup{}, schedulingv1alpha2.Workload{},
}

var groupVersions = []string{
	"api/v1", "apis/autoscaling/v2", "apis/batch/v1", "apis/coordination.k8s.io/v1", "apis/node.k8s.io/v1",
	"apis/scheduling.k8s.io/v1", "apis/scheduling.k8s.io/v1alpha2",
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate DIRECTORY")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	server, err := readBuiltins(groupVersions...)
	if err != nil {
		return err
	}
	c := newCollector(server)
	for _, root := range roots {
		c.builtin(reflect.TypeOf(root))
	}
	jobset, err := readCRD("sigs.k8s.io/jobset", "v1alpha2", "config", "components", "crd", "bases", "jobset.x-k8s.io_jobsets.yaml")
	if err != nil {
		return err
	}
	c.crd(jobset, reflect.TypeOf(jobsetv1alpha2.JobSet{}))
	coscheduling, err := readCRD("sigs.k8s.io/scheduler-plugins", "v1alpha1", "manifests", "coscheduling", "crd.yaml")
	if err != nil {
		return err
	}
	c.crd(coscheduling, nil)
	volcano, err := readCRD("volcano.sh/volcano", "v1beta1", "config", "crd", "volcano", "bases", "scheduling.volcano.sh_podgroups.yaml")
	if err != nil {
		return err
	}
	c.crd(volcano, nil)
	if err := c.failure(); err != nil {
		return err
	}
	return write(dir, c.types, map[string]map[string]string{jobset.apiVersion: {objectMeta: templateMeta}})
}
