// Pins the modules whose PodGroup CRDs a control plane gets; nothing of them is built.
module trainmaster.dev/testbed/podgroups

go 1.26.0

require (
	sigs.k8s.io/scheduler-plugins v0.35.4-devel
	volcano.sh/volcano v1.15.0
)
