package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Facts are what is known of one value: a field, an item, a type. The words are OpenAPI's and its Kubernetes
// extensions', except for Type, which also says how Go's encoding/json writes the field:
//
//	T        a Go value; dropped when it is zero (omitempty), unless it is a struct, which is always written
//	*T       a pointer, or a field whose Go type nobody knows: written as it stands
//	[]T {}T  a list, a map with string keys
//	T!       required by the schema, and always written unless OmitEmpty says otherwise
type Facts struct {
	Type                  string            `json:"type,omitempty"`
	OmitEmpty             *bool             `json:"omitempty,omitempty"` // where it is not as Type would have it
	OmitZero              bool              `json:"omitzero,omitempty"`
	Default               json.RawMessage   `json:"default,omitempty"`
	Enum                  []string          `json:"enum,omitempty"`
	Minimum               *int64            `json:"minimum,omitempty"`
	Maximum               *int64            `json:"maximum,omitempty"`
	MinLength             *int64            `json:"minLength,omitempty"`
	MaxLength             *int64            `json:"maxLength,omitempty"`
	Pattern               string            `json:"pattern,omitempty"`
	MinItems              *int64            `json:"minItems,omitempty"`
	MaxItems              *int64            `json:"maxItems,omitempty"`
	MinProperties         *int64            `json:"minProperties,omitempty"`
	MaxProperties         *int64            `json:"maxProperties,omitempty"`
	Nullable              bool              `json:"nullable,omitempty"`
	ListType              string            `json:"listType,omitempty"`
	ListMapKeys           []string          `json:"listMapKeys,omitempty"`
	MapType               string            `json:"mapType,omitempty"`
	PatchMergeKey         string            `json:"patchMergeKey,omitempty"`
	PatchStrategy         string            `json:"patchStrategy,omitempty"`
	PreserveUnknownFields bool              `json:"preserveUnknownFields,omitempty"`
	Validations           []Rule            `json:"validations,omitempty"`
	Items                 *Facts            `json:"items,omitempty"`
	AdditionalProperties  *Facts            `json:"additionalProperties,omitempty"`
	Kind                  *Kind             `json:"kind,omitempty"`
	Fields                map[string]*Facts `json:"fields,omitempty"`
}

// Rule is one of x-kubernetes-validations.
type Rule struct {
	Rule              string `json:"rule"`
	Message           string `json:"message,omitempty"`
	MessageExpression string `json:"messageExpression,omitempty"`
	Reason            string `json:"reason,omitempty"`
	FieldPath         string `json:"fieldPath,omitempty"`
	OptionalOldSelf   *bool  `json:"optionalOldSelf,omitempty"`
}

// Kind marks a type that the API server serves. Its apiVersion, kind and metadata go without saying.
type Kind struct {
	Plural     string `json:"plural"`
	Namespaced bool   `json:"namespaced"`
	Custom     bool   `json:"custom,omitempty"` // defined by a CRD
}

// MarshalJSON writes facts that are a type and nothing else as that type's name.
func (f *Facts) MarshalJSON() ([]byte, error) {
	type plain Facts
	if text, err := plainJSON((*plain)(f)); err != nil || f.Type == "" || string(text) != fmt.Sprintf(`{"type":%q}`, f.Type) {
		return text, err
	}
	return plainJSON(f.Type)
}

func plainJSON(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSpace(out.Bytes()), err
}

// write makes one file per apiVersion, one line per type. A file whose apiVersion is in `replace` opens with what its
// references to the API server's types mean instead.
func write(dir string, types map[string]*Facts, replace map[string]map[string]string) error {
	files := map[string][]string{}
	for name := range types {
		apiVersion := name[:strings.LastIndex(name, ".")]
		files[apiVersion] = append(files[apiVersion], name)
	}
	for apiVersion, names := range files {
		slices.Sort(names)
		var out bytes.Buffer
		out.WriteString("{\n")
		if replaced := replace[apiVersion]; replaced != nil {
			text, err := plainJSON(replaced)
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, "\"replace\":%s,\n", text)
		}
		out.WriteString("\"types\":{\n")
		for i, name := range names {
			text, err := plainJSON(types[name])
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, "%q:%s%s\n", name, text, strings.Repeat(",", min(1, len(names)-1-i)))
		}
		out.WriteString("}}\n")
		file := filepath.Join(dir, strings.ReplaceAll(apiVersion, "/", "_")+".json")
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
