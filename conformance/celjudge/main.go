// Says what Kubernetes' own CEL environment makes of expressions.
//
// It reads one JSON object per line: the expression; schemas, OpenAPI schemas of variables by name (a variable without
// one is of type dyn); values, JSON values of variables by name. It writes one JSON object per line: how the expression
// ends (check, eval or value) with the error, or with the value and its type: {"int": 1}, {"list": [{"string": "a"}]}.
//
// The environment is that of the API server with what else the language has: cel.bind, mathematics, base64 and the
// escaping for JSON Patch, which the API server has for mutations only.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/api/resource"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/apiserver/pkg/cel/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

type question struct {
	Expression string                     `json:"expression"`
	Schemas    map[string]*spec.Schema    `json:"schemas"`
	Values     map[string]json.RawMessage `json:"values"`
}

type answer struct {
	Ends  string `json:"ends"`
	Value any    `json:"value,omitempty"`
	Error string `json:"error,omitempty"`
}

func main() {
	ours := environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        []cel.EnvOption{ext.Bindings(), ext.Math(), ext.Encoders(), library.JSONPatch()},
	}
	base, err := environment.MustBaseEnvSet(version.MajorMinor(1, 36)).Extend(ours)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var q question
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", lines.Text(), err)
			os.Exit(1)
		}
		if err := out.Encode(judge(base, q)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func judge(base *environment.EnvSet, q question) (a answer) {
	defer func() {
		if panicked := recover(); panicked != nil {
			a = answer{Ends: "eval", Error: fmt.Sprintf("panic: %v", panicked)}
		}
	}()
	options := environment.VersionedOptions{IntroducedVersion: version.MajorMinor(1, 0)}
	values := map[string]any{}
	for _, name := range names(q) {
		celType := cel.DynType
		var value any
		if raw, found := q.Values[name]; found {
			if err := k8sjson.Unmarshal(raw, &value); err != nil {
				return answer{Ends: "check", Error: err.Error()}
			}
		}
		if schema := q.Schemas[name]; schema != nil {
			declared := openapi.SchemaDeclType(schema, false)
			if declared == nil {
				return answer{Ends: "check", Error: "no type for the schema of " + name}
			}
			if declared.IsObject() {
				declared = declared.MaybeAssignTypeName("trainmaster." + name)
				options.DeclTypes = append(options.DeclTypes, declared)
			}
			celType = declared.CelType()
			values[name] = common.UnstructuredToVal(value, &openapi.Schema{Schema: schema})
		} else {
			values[name] = value
		}
		options.EnvOptions = append(options.EnvOptions, cel.Variable(name, celType))
	}
	set, err := base.Extend(options)
	if err != nil {
		return answer{Ends: "check", Error: err.Error()}
	}
	env := set.NewExpressionsEnv()
	ast, issues := env.Compile(q.Expression)
	if issues.Err() != nil {
		return answer{Ends: "check", Error: issues.Err().Error()}
	}
	program, err := env.Program(ast)
	if err != nil {
		return answer{Ends: "check", Error: err.Error()}
	}
	value, _, err := program.Eval(values)
	if err != nil {
		return answer{Ends: "eval", Error: err.Error()}
	}
	return answer{Ends: "value", Value: tagged(value)}
}

func names(q question) []string {
	var names []string
	for name := range q.Values {
		names = append(names, name)
	}
	for name := range q.Schemas {
		if _, found := q.Values[name]; !found {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

func tagged(value ref.Val) any {
	tag := func(kind string, value any) any { return map[string]any{kind: value} }
	switch v := value.(type) {
	case types.Null:
		return tag("null", nil)
	case types.Bool:
		return tag("bool", bool(v))
	case types.Int:
		return tag("int", int64(v))
	case types.Uint:
		return tag("uint", uint64(v))
	case types.Double:
		return tag("double", strconv.FormatFloat(float64(v), 'g', -1, 64))
	case types.String:
		return tag("string", string(v))
	case types.Bytes:
		bytes := []int{}
		for _, b := range v {
			bytes = append(bytes, int(b))
		}
		return tag("bytes", bytes)
	case types.Timestamp:
		return tag("timestamp", v.ConvertToType(types.StringType).Value())
	case types.Duration:
		return tag("duration", v.ConvertToType(types.StringType).Value())
	case *types.Optional:
		if !v.HasValue() {
			return tag("optional", nil)
		}
		return tag("optional", tagged(v.GetValue()))
	case apiservercel.Quantity:
		return tag("quantity", v.String())
	case *apiservercel.Quantity:
		return tag("quantity", v.String())
	case apiservercel.Semver:
		return tag("semver", v.String())
	case apiservercel.URL:
		return tag("url", v.String())
	case apiservercel.IP:
		return tag("ip", v.String())
	case apiservercel.CIDR:
		return tag("cidr", v.String())
	case apiservercel.Format:
		return tag("format", v.Name)
	case traits.Lister:
		items := []any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			items = append(items, tagged(it.Next()))
		}
		return tag("list", items)
	case traits.Mapper:
		entries := [][2]any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			entries = append(entries, [2]any{tagged(key), tagged(v.Get(key))})
		}
		return tag("map", entries)
	case traits.Iterator:
		return tag("iterator", nil)
	}
	if q, ok := value.Value().(*resource.Quantity); ok {
		return tag("quantity", q.String())
	}
	if t, ok := value.(ref.Type); ok {
		return tag("type", t.TypeName())
	}
	return tag("other", fmt.Sprintf("%T %v", value, value))
}
