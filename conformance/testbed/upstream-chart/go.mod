// The chart of Kubeflow Trainer, which ours takes the place of; nothing of the module is built.
// A new release: change the version, then `go mod download` and `go mod verify`.
module trainmaster.dev/testbed/upstream-chart

go 1.26.0

require github.com/kubeflow/trainer/v2 v2.3.0
