//! Merging and comparing objects: cases in `*.yaml`, cases that Kubernetes' own code answered in `strategic.tsv` (made
//! again by `go run ./judge > strategic.tsv` in this folder), and properties that hold for every tree.

mod cases;
mod pod;
mod properties;
