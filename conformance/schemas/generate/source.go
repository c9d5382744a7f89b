package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// Schema is a node of an OpenAPI document, of the API server's or of a CRD's.
type Schema struct {
	Ref                  string             `json:"$ref"`
	AllOf                []*Schema          `json:"allOf"`
	AnyOf                []*Schema          `json:"anyOf"`
	OneOf                []*Schema          `json:"oneOf"`
	Type                 string             `json:"type"`
	Format               string             `json:"format"`
	Default              json.RawMessage    `json:"default"`
	Enum                 []string           `json:"enum"`
	Minimum              *int64             `json:"minimum"`
	Maximum              *int64             `json:"maximum"`
	MinLength            *int64             `json:"minLength"`
	MaxLength            *int64             `json:"maxLength"`
	Pattern              string             `json:"pattern"`
	MinItems             *int64             `json:"minItems"`
	MaxItems             *int64             `json:"maxItems"`
	MinProperties        *int64             `json:"minProperties"`
	MaxProperties        *int64             `json:"maxProperties"`
	Nullable             bool               `json:"nullable"`
	Required             []string           `json:"required"`
	Properties           map[string]*Schema `json:"properties"`
	Items                *Schema            `json:"items"`
	AdditionalProperties *Schema            `json:"additionalProperties"`

	ListType              string   `json:"x-kubernetes-list-type"`
	ListMapKeys           []string `json:"x-kubernetes-list-map-keys"`
	MapType               string   `json:"x-kubernetes-map-type"`
	PatchMergeKey         string   `json:"x-kubernetes-patch-merge-key"`
	PatchStrategy         string   `json:"x-kubernetes-patch-strategy"`
	IntOrString           bool     `json:"x-kubernetes-int-or-string"`
	PreserveUnknownFields bool     `json:"x-kubernetes-preserve-unknown-fields"`
	EmbeddedResource      bool     `json:"x-kubernetes-embedded-resource"`
	Validations           []Rule   `json:"x-kubernetes-validations"`
}

// moduleFile reads a file of a module that go.mod requires.
func moduleFile(module string, path ...string) ([]byte, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return nil, fmt.Errorf("find module %s: %w", module, err)
	}
	dir := strings.TrimSpace(string(out))
	if dir == "" {
		return nil, fmt.Errorf("module %s is not downloaded: go mod download %s", module, module)
	}
	return os.ReadFile(filepath.Join(append([]string{dir}, path...)...))
}

// builtins are the definitions and served kinds of the API server.
type builtins struct {
	definitions map[string]*Schema
	kinds       map[string]*Kind // by our name of the type
}

var servedPath = regexp.MustCompile(`^/apis?/[^{}]*?(namespaces/\{namespace\}/)?([a-z]+)/\{name\}$`)

func readBuiltins(groupVersions ...string) (*builtins, error) {
	b := &builtins{definitions: map[string]*Schema{}, kinds: map[string]*Kind{}}
	for _, groupVersion := range groupVersions {
		file := strings.ReplaceAll(groupVersion, "/", "__") + "_openapi.json"
		text, err := moduleFile("k8s.io/kubernetes", "api", "openapi-spec", "v3", file)
		if err != nil {
			return nil, err
		}
		if err := b.add(text); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return b, nil
}

func (b *builtins) add(text []byte) error {
	var document struct {
		Components struct{ Schemas map[string]*Schema }
		Paths      map[string]struct {
			Get *struct {
				GVK struct{ Group, Version, Kind string } `json:"x-kubernetes-group-version-kind"`
			}
		}
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return err
	}
	for name, schema := range document.Components.Schemas {
		b.definitions[name] = schema
	}
	for path, item := range document.Paths {
		match := servedPath.FindStringSubmatch(path)
		if match == nil || item.Get == nil {
			continue
		}
		gvk := item.Get.GVK
		name := strings.TrimPrefix(gvk.Group+"/"+gvk.Version, "/") + "." + gvk.Kind
		b.kinds[name] = &Kind{Plural: match[2], Namespaced: match[1] != ""}
	}
	return nil
}

// crd is what a CustomResourceDefinition says of one version.
type crd struct {
	apiVersion, kind string
	served           Kind
	schema           *Schema
}

// readCRD takes the definition of `version` out of a file that may hold several documents.
func readCRD(module, version string, path ...string) (*crd, error) {
	text, err := moduleFile(module, path...)
	if err != nil {
		return nil, err
	}
	for _, document := range strings.Split(string(text), "\n---\n") {
		found, err := parseCRD([]byte(document), version)
		if found != nil || err != nil {
			return found, err
		}
	}
	return nil, fmt.Errorf("%s: no CustomResourceDefinition with version %s in %v", module, version, path)
}

func parseCRD(text []byte, version string) (*crd, error) {
	var document struct {
		Kind string
		Spec struct {
			Group    string
			Scope    string
			Names    struct{ Kind, Plural string }
			Versions []struct {
				Name   string
				Schema struct {
					OpenAPIV3Schema *Schema `json:"openAPIV3Schema"`
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	spec := document.Spec
	for _, v := range spec.Versions {
		if document.Kind == "CustomResourceDefinition" && v.Name == version {
			return &crd{
				apiVersion: spec.Group + "/" + version,
				kind:       spec.Names.Kind,
				served:     Kind{Plural: spec.Names.Plural, Namespaced: spec.Scope == "Namespaced", Custom: true},
				schema:     v.Schema.OpenAPIV3Schema,
			}, nil
		}
	}
	return nil, nil
}
