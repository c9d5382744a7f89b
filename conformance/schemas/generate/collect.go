package main

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// templateMeta is the metadata that a CRD keeps of a template nested in it: five fields of ObjectMeta.
const (
	objectMeta   = "meta/v1.ObjectMeta"
	templateMeta = "meta/v1.TemplateMeta"
)

// packages are the Go packages of the API server's types, with the apiVersion that names their types here.
var packages = map[string]string{
	"k8s.io/api/core/v1":                   "v1",
	"k8s.io/api/autoscaling/v2":            "autoscaling/v2",
	"k8s.io/api/batch/v1":                  "batch/v1",
	"k8s.io/api/coordination/v1":           "coordination.k8s.io/v1",
	"k8s.io/api/node/v1":                   "node.k8s.io/v1",
	"k8s.io/api/scheduling/v1":             "scheduling.k8s.io/v1",
	"k8s.io/api/scheduling/v1alpha2":       "scheduling.k8s.io/v1alpha2",
	"k8s.io/apimachinery/pkg/apis/meta/v1": "meta/v1",
}

// collector gathers types by name. It walks a schema and the Go type that is written to it side by side.
type collector struct {
	server   *builtins
	types    map[string]*Facts
	walked   map[string]bool // types of a CRD with a Go type of their own
	grafts   map[string]bool // fields of the API server's types of which a CRD had the last word
	group    string          // apiVersion of the CRD being walked; empty among the API server's own types
	problems []error
}

func newCollector(server *builtins) *collector {
	return &collector{server: server, types: map[string]*Facts{}, walked: map[string]bool{}, grafts: map[string]bool{}}
}

func (c *collector) failure() error { return errors.Join(c.problems...) }

func (c *collector) problem(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf(format, args...))
}

// builtin adds a type of the API server and returns its name.
func (c *collector) builtin(t reflect.Type) string {
	name := packages[t.PkgPath()] + "." + t.Name()
	if c.types[name] != nil {
		return name
	}
	definition := "io." + strings.ReplaceAll(strings.Replace(t.PkgPath(), "k8s.io", "k8s", 1), "/", ".") + "." + t.Name()
	schema := c.server.definitions[definition]
	if schema == nil {
		c.problem("%s: no definition %s", name, definition)
		schema = &Schema{}
	}
	c.types[name] = &Facts{} // known before its fields are, so that a cycle ends
	*c.types[name] = *c.object(name, t, schema, c.server.kinds[name])
	return name
}

// crd adds the kind of a CRD, whose Go type is t if there is one.
func (c *collector) crd(definition *crd, t reflect.Type) {
	c.group = definition.apiVersion
	defer func() { c.group = "" }()
	name := c.group + "." + definition.kind
	c.types[name] = c.object(name, t, definition.schema, &definition.served)
}

// object describes a struct or a schema with properties.
func (c *collector) object(name string, t reflect.Type, schema *Schema, kind *Kind) *Facts {
	facts := c.limits(schema)
	facts.Kind = kind
	facts.Fields = map[string]*Facts{}
	tags := goFields(t)
	for _, field := range sortedKeys(schema.Properties) {
		tag, known := tags[field]
		delete(tags, field)
		if kind != nil && slices.Contains([]string{"apiVersion", "kind", "metadata"}, field) {
			continue
		}
		if t != nil && !known {
			c.problem("%s.%s: the Go type has no such field", name, field)
		}
		facts.Fields[field] = c.field(name+"."+field, tag, schema.Properties[field], slices.Contains(schema.Required, field))
	}
	for field := range tags {
		if c.group == "" || t.PkgPath() != "k8s.io/apimachinery/pkg/apis/meta/v1" {
			c.problem("%s.%s: in the Go type but not in the schema", name, field)
		}
	}
	if len(facts.Fields) == 0 {
		facts.Type, facts.Fields = "object", nil
	}
	return facts
}

// field describes a property together with how its Go field is written.
func (c *collector) field(path string, tag goField, schema *Schema, required bool) *Facts {
	facts := c.value(path, tag.Type, schema)
	scalar := true
	switch {
	case tag.Type == nil, tag.Type.Kind() == reflect.Pointer:
		facts.Type = "*" + facts.Type
		scalar = false
	case tag.Type.Kind() == reflect.Struct:
		facts.OmitZero = tag.omitZero
		scalar = false
	}
	if required {
		facts.Type += "!"
	}
	if scalar && tag.omitEmpty == required {
		facts.OmitEmpty = &tag.omitEmpty
	}
	if c.group != "" {
		facts.PatchMergeKey, facts.PatchStrategy = tag.mergeKey, tag.strategy
	}
	return facts
}

// value describes a schema; t is the Go type of the value, or nil.
func (c *collector) value(path string, t reflect.Type, schema *Schema) *Facts {
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	facts := c.limits(schema)
	schema = c.resolve(schema)
	if primitive := c.primitive(path, t, schema); primitive != "" {
		facts.Type = primitive
		return facts
	}
	switch {
	case schema.Type == "array":
		c.nested(facts, "[]", &facts.Items, c.value(path+"[]", element(t), schema.Items))
	case schema.AdditionalProperties != nil:
		c.nested(facts, "{}", &facts.AdditionalProperties, c.value(path+"{}", element(t), schema.AdditionalProperties))
	case t == nil:
		inline := c.object(path, nil, schema, nil)
		facts.Type, facts.Fields = "object", inline.Fields
	case packages[t.PkgPath()] == "":
		facts = c.named(t, schema, facts)
	case c.group == "":
		facts.Type = c.builtin(t)
	default:
		facts = c.grafted(path, t, schema, facts)
	}
	return facts
}

// nested puts what is known of the items of a list or map beyond their type into `place`.
func (c *collector) nested(facts *Facts, prefix string, place **Facts, item *Facts) {
	facts.Type = prefix + item.Type
	item.Type = ""
	if !reflect.DeepEqual(*item, Facts{}) {
		*place = item
	}
}

// named describes a struct of the CRD's own Go package as a type of its own.
func (c *collector) named(t reflect.Type, schema *Schema, facts *Facts) *Facts {
	name := c.group + "." + t.Name()
	described := c.object(name, t, schema, nil)
	if c.walked[name] && !reflect.DeepEqual(described, c.types[name]) {
		c.problem("%s: the CRD says different things of it in different places", name)
	}
	c.walked[name], c.types[name] = true, described
	return &Facts{Type: name, Default: facts.Default}
}

// grafted refers to a type of the API server from within a CRD, which inlines it. What the CRD says of it otherwise
// than the API server wins, since the CRD is what defaults and prunes on a cluster; anything unexpected is a problem.
func (c *collector) grafted(path string, t reflect.Type, schema *Schema, facts *Facts) *Facts {
	if t.Name() == "ObjectMeta" {
		meta := c.object(path, t, schema, nil)
		if known := c.types[templateMeta]; known != nil && !reflect.DeepEqual(known, meta) {
			c.problem("%s: not the template metadata found elsewhere", path)
		}
		c.types[templateMeta] = meta
		return &Facts{Type: objectMeta}
	}
	name := c.builtin(t)
	ours := c.types[name]
	theirs := c.object(path, t, schema, ours.Kind)
	for _, field := range sortedKeys(ours.Fields) {
		if theirs.Fields[field] == nil {
			c.problem("%s.%s: missing in the CRD", path, field)
			continue
		}
		ours.Fields[field] = c.reconciled(name+"."+field, ours.Fields[field], theirs.Fields[field])
	}
	if facts.MapType == ours.MapType {
		facts.MapType = ""
	}
	return &Facts{Type: name, MapType: facts.MapType, Default: facts.Default}
}

// reconciled is what the CRD says of a field, provided that it is the same type of value, in every place alike.
func (c *collector) reconciled(field string, ours, theirs *Facts) *Facts {
	theirs.PatchMergeKey, theirs.PatchStrategy = ours.PatchMergeKey, ours.PatchStrategy
	same := ours.Type == theirs.Type && ours.ListType == theirs.ListType && slices.Equal(ours.ListMapKeys, theirs.ListMapKeys)
	if c.grafts[field] {
		same = reflect.DeepEqual(ours, theirs)
	}
	if !same {
		a, _ := ours.MarshalJSON()
		b, _ := theirs.MarshalJSON()
		c.problem("%s: the API server says %s, the CRD %s", field, a, b)
	}
	c.grafts[field] = true
	return theirs
}

// resolve follows a reference to a definition.
func (c *collector) resolve(schema *Schema) *Schema {
	ref := schema.Ref
	if len(schema.AllOf) == 1 && ref == "" {
		ref = schema.AllOf[0].Ref
	}
	if ref == "" {
		return schema
	}
	resolved := c.server.definitions[ref[strings.LastIndex(ref, "/")+1:]]
	if resolved == nil {
		c.problem("no definition %s", ref)
		return schema
	}
	return resolved
}

const quantityPattern = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

// primitive is the name of a type without structure, or empty.
func (c *collector) primitive(path string, t reflect.Type, schema *Schema) string {
	goName := ""
	if t != nil {
		goName = t.Name()
	}
	switch {
	case goName == "Quantity", schema.IntOrString && schema.Pattern == quantityPattern:
		return "quantity"
	case schema.IntOrString, schema.Format == "int-or-string":
		return "intOrString"
	case goName == "MicroTime":
		return "microTime"
	case goName == "FieldsV1":
		return "any"
	}
	switch schema.Type + "/" + schema.Format {
	case "string/":
		return "string"
	case "string/date-time":
		return "time"
	case "string/byte":
		return "bytes"
	case "boolean/":
		return "boolean"
	case "integer/int32":
		return "int32"
	case "integer/int64":
		return "int64"
	case "integer/":
		return "integer"
	case "number/":
		return "number"
	case "object/", "array/":
		return ""
	}
	c.problem("%s: unknown type %q with format %q", path, schema.Type, schema.Format)
	return ""
}

// limits copies what a schema says of a value besides its type.
func (c *collector) limits(s *Schema) *Facts {
	facts := &Facts{
		Default: s.Default, Enum: s.Enum, Minimum: s.Minimum, Maximum: s.Maximum, MinLength: s.MinLength,
		MaxLength: s.MaxLength, Pattern: s.Pattern, MinItems: s.MinItems, MaxItems: s.MaxItems,
		MinProperties: s.MinProperties, MaxProperties: s.MaxProperties, Nullable: s.Nullable, ListType: s.ListType,
		ListMapKeys: s.ListMapKeys, MapType: s.MapType, PatchMergeKey: s.PatchMergeKey,
		PatchStrategy: s.PatchStrategy, PreserveUnknownFields: s.PreserveUnknownFields, Validations: s.Validations,
	}
	if facts.Pattern == quantityPattern {
		facts.Pattern = ""
	}
	if c.group == "" && slices.Contains([]string{`""`, `0`, `{}`, `false`}, string(facts.Default)) {
		facts.Default = nil // Go's zero value of a field that is not a pointer; nobody fills it in
	}
	if s.EmbeddedResource {
		c.problem("embedded resources are not described")
	}
	return facts
}
