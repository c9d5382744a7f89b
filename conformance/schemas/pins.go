//go:build pins

// Package pins keeps the modules whose files are read, and whose packages are not imported, in go.mod.
package pins

import (
	_ "k8s.io/kubernetes/third_party/forked/golang/expansion"
	_ "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	_ "volcano.sh/volcano/pkg/version"
)
