// Command judge says what the API server makes of objects of our kinds, by the API server's own code. It reads one
// question per line and answers each with one line:
//
//	{"crd": {…}}                                          what is wrong with a CustomResourceDefinition; later
//	                                                      questions are about objects of its kind
//	{"kind": "TrainJob", "object": {…}, "old": {…}}       what is stored, what was dropped, what is refused
//	{"wire": "JobSetSpec", "object": {…}}                 the object written by the Go type
//	{"patch": {…}, "object": {…}}                         a JobSetSpec with a strategic merge patch
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	jobsetv1alpha2 "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metavalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
)

type question struct {
	CRD    json.RawMessage `json:"crd"`
	Kind   string          `json:"kind"`
	Wire   string          `json:"wire"`
	Object json.RawMessage `json:"object"`
	Old    json.RawMessage `json:"old"`
	Patch  json.RawMessage `json:"patch"`
}

type answer struct {
	Object  any      `json:"object,omitempty"`
	Dropped []string `json:"dropped,omitempty"`
	Errors  []cause  `json:"errors,omitempty"`
	Failure string   `json:"failure,omitempty"` // the question could not be answered
}

type cause struct {
	Field   string `json:"field"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

func main() {
	judge := &judge{kinds: map[string]*kind{}, scheme: runtime.NewScheme()}
	install.Install(judge.scheme)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for lines.Scan() {
		text, err := json.Marshal(judge.answer(lines.Bytes()))
		if err != nil {
			text = []byte(fmt.Sprintf(`{"failure":%q}`, err))
		}
		out.Write(append(text, '\n'))
		out.Flush()
	}
}

type judge struct {
	scheme *runtime.Scheme
	kinds  map[string]*kind
}

type kind struct {
	structural *schema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

func (j *judge) answer(line []byte) answer {
	var q question
	if err := json.Unmarshal(line, &q); err != nil {
		return answer{Failure: err.Error()}
	}
	result, err := answer{}, error(nil)
	switch {
	case q.CRD != nil:
		result, err = j.define(q.CRD)
	case q.Patch != nil:
		var patched []byte
		patched, err = strategicpatch.StrategicMergePatch(q.Object, q.Patch, jobsetv1alpha2.JobSetSpec{})
		result.Object = json.RawMessage(patched)
	case q.Wire != "":
		result, err = wire(q.Wire, q.Object)
	default:
		result, err = j.admit(q)
	}
	if err != nil {
		result.Failure = err.Error()
	}
	return result
}

// define takes a CRD the way the API server does.
func (j *judge) define(text []byte) (answer, error) {
	external := &apiextensionsv1.CustomResourceDefinition{}
	if err := utiljson.Unmarshal(text, external); err != nil {
		return answer{}, err
	}
	j.scheme.Default(external)
	external.Status.StoredVersions = []string{external.Spec.Versions[0].Name}
	crd := &apiextensions.CustomResourceDefinition{}
	if err := j.scheme.Convert(external, crd, nil); err != nil {
		return answer{}, err
	}
	errors := crdvalidation.ValidateCustomResourceDefinition(context.Background(), crd)
	if len(errors) > 0 {
		return answer{Errors: causes(errors)}, nil
	}
	properties := crd.Spec.Validation
	if properties == nil {
		properties = crd.Spec.Versions[0].Schema
	}
	structural, err := schema.NewStructural(properties.OpenAPIV3Schema)
	if err != nil {
		return answer{}, err
	}
	validator, _, err := validation.NewSchemaValidator(properties.OpenAPIV3Schema)
	if err != nil {
		return answer{}, err
	}
	rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)
	j.kinds[crd.Spec.Names.Kind] = &kind{structural: structural, schema: validator, rules: rules}
	return answer{}, nil
}

// admit stores an object as a create does, or as an update of an object that is stored already.
func (j *judge) admit(q question) (answer, error) {
	kind := j.kinds[q.Kind]
	if kind == nil {
		return answer{}, fmt.Errorf("no CRD of kind %s", q.Kind)
	}
	object, old := map[string]any{}, map[string]any(nil)
	if err := utiljson.Unmarshal(q.Object, &object); err != nil {
		return answer{}, err
	}
	if q.Old != nil {
		if err := utiljson.Unmarshal(q.Old, &old); err != nil {
			return answer{}, err
		}
	}
	track := schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	dropped := pruning.PruneWithOptions(object, kind.structural, true, track)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, kind.structural)
	defaulting.Default(object, kind.structural)
	return answer{Object: object, Dropped: dropped, Errors: causes(kind.validate(object, old))}, nil
}

func (k *kind) validate(object, old map[string]any) field.ErrorList {
	var errors field.ErrorList
	var options []cel.Option
	lists := true
	meta, path := &unstructured.Unstructured{Object: object}, field.NewPath("metadata")
	if old == nil {
		namespaced := meta.GetNamespace() != "" // whether there must be one is not asked
		errors = metavalidation.ValidateObjectMetaAccessor(meta, namespaced, metavalidation.NameIsDNSSubdomain, path)
	} else {
		errors = metav1validation.ValidateLabels(meta.GetLabels(), path.Child("labels"))
		errors = append(errors, metavalidation.ValidateAnnotations(meta.GetAnnotations(), path.Child("annotations"))...)
		errors = append(errors, metavalidation.ValidateOwnerReferences(meta.GetOwnerReferences(), path.Child("ownerReferences"))...)
	}
	if old == nil {
		errors = append(errors, validation.ValidateCustomResource(nil, object, k.schema)...)
	} else {
		correlated := common.NewCorrelatedObject(object, old, &model.Structural{Structural: k.structural})
		found := validation.ValidateCustomResourceUpdate(nil, object, old, k.schema, validation.WithRatcheting(correlated))
		errors = append(errors, found...)
		options = append(options, cel.WithRatcheting(correlated))
		lists = len(listtype.ValidateListSetsAndMaps(nil, k.structural, old)) == 0
	}
	if lists {
		errors = append(errors, listtype.ValidateListSetsAndMaps(nil, k.structural, object)...)
	}
	for _, err := range errors {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return errors // the API server leaves the rules unchecked
		}
	}
	var before any
	if old != nil {
		before = old
	}
	found, _ := k.rules.Validate(context.Background(), nil, k.structural, object, before, celconfig.RuntimeCELCostBudget, options...)
	return append(errors, found...)
}

func causes(errors field.ErrorList) []cause {
	var causes []cause
	for _, err := range errors {
		causes = append(causes, cause{Field: err.Field, Reason: string(err.Type), Message: err.ErrorBody()})
	}
	return causes
}

// wire writes an object the way a controller in Go does that has read it.
func wire(name string, text []byte) (answer, error) {
	var value any
	switch name {
	case "JobSetSpec":
		value = &jobsetv1alpha2.JobSetSpec{}
	case "PodSpec":
		value = &corev1.PodSpec{}
	default:
		return answer{}, fmt.Errorf("no type %s", name)
	}
	if err := utiljson.Unmarshal(text, value); err != nil {
		return answer{Errors: []cause{{Reason: "FieldValueInvalid", Message: err.Error()}}}, nil
	}
	return answer{Object: value}, nil
}
