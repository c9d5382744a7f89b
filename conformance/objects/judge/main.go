// Command judge prints pod templates, patches for them, and what Kubernetes' strategic merge makes of the two: one case
// a line, three JSON documents separated by tabs.
//
//	go run ./judge > strategic.tsv
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

const cases = 90

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for seed := range cases {
		r := random{rand.New(rand.NewSource(int64(seed)))}
		original, patch := document(r.template()), document(r.template())
		result := must(strategicpatch.StrategicMergePatch(original, patch, corev1.PodTemplateSpec{}))
		fmt.Fprintf(out, "%s\t%s\t%s\n", original, patch, result)
	}
}

// document is a template as JSON, without the null that Go writes for no containers.
func document(template corev1.PodTemplateSpec) []byte {
	return bytes.Replace(must(json.Marshal(template)), []byte(`"containers":null`), []byte(`"dnsPolicy":"None"`), 1)
}

func must(text []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return text
}

type random struct{ *rand.Rand }

// some picks a few of names, in any order, each at most once.
func (r random) some(most int, names ...string) []string {
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names[:r.Intn(min(most, len(names))+1)]
}

func (r random) one(names ...string) string {
	return names[r.Intn(len(names))]
}

func (r random) strings(names ...string) map[string]string {
	values := map[string]string{}
	for _, name := range r.some(2, names...) {
		values[name] = fmt.Sprint(r.Intn(10))
	}
	return values
}

func (r random) template() corev1.PodTemplateSpec {
	var template corev1.PodTemplateSpec
	template.Labels = r.strings("a", "b", "c")
	template.Finalizers = r.some(3, "f/1", "f/2", "f/3", "f/4")
	spec := &template.Spec
	spec.NodeSelector = r.strings("x", "y", "z")
	for _, name := range r.some(3, "main", "side", "log", "new") {
		spec.Containers = append(spec.Containers, r.container(name))
	}
	for _, name := range r.some(3, "v1", "v2", "v3", "v4") {
		source := &corev1.ConfigMapVolumeSource{}
		source.Name = r.one("c1", "c2")
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{ConfigMap: source}})
	}
	for _, key := range r.some(2, "t1", "t2", "t3") {
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
	}
	for _, name := range r.some(3, "s1", "s2", "s3") {
		spec.ImagePullSecrets = append(spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	for _, name := range r.some(2, "g1", "g2", "g3") {
		spec.SchedulingGates = append(spec.SchedulingGates, corev1.PodSchedulingGate{Name: name})
	}
	return template
}

func (r random) container(name string) corev1.Container {
	container := corev1.Container{Name: name, Args: r.some(2, "x", "y")}
	for _, name := range r.some(5, "A", "B", "C", "D", "E", "F") {
		container.Env = append(container.Env, corev1.EnvVar{Name: name, Value: fmt.Sprint(r.Intn(10))})
	}
	for _, path := range r.some(2, "/a", "/b", "/c") {
		mount := corev1.VolumeMount{MountPath: path, Name: fmt.Sprint("v", r.Intn(4)+1), ReadOnly: r.Intn(2) == 0}
		container.VolumeMounts = append(container.VolumeMounts, mount)
	}
	for _, name := range r.some(2, "http", "grpc", "ssh") {
		port := int32(map[string]int{"http": 80, "grpc": 90, "ssh": 22}[name])
		container.Ports = append(container.Ports, corev1.ContainerPort{Name: name, ContainerPort: port})
	}
	if r.Intn(2) == 0 {
		amount := resource.MustParse(fmt.Sprint(r.Intn(8)+1, "Gi"))
		container.Resources.Limits = corev1.ResourceList{corev1.ResourceName(r.one("cpu", "memory")): amount}
	}
	return container
}
