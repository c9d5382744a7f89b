package main

import (
	"reflect"
	"strings"
)

// goField is how encoding/json writes a struct field.
type goField struct {
	reflect.Type
	omitEmpty, omitZero bool
	mergeKey, strategy  string
}

// goFields lists the fields of a struct by JSON name, those of inlined structs included; none for no type.
func goFields(t reflect.Type) map[string]goField {
	fields := map[string]goField{}
	if t == nil || t.Kind() != reflect.Struct {
		return fields
	}
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		options = "," + options + ","
		switch {
		case strings.Contains(options, ",inline,"):
			for name, inlined := range goFields(field.Type) {
				fields[name] = inlined
			}
		case name != "" && name != "-":
			fields[name] = goField{
				Type:      field.Type,
				omitEmpty: strings.Contains(options, ",omitempty,"),
				omitZero:  strings.Contains(options, ",omitzero,"),
				mergeKey:  field.Tag.Get("patchMergeKey"),
				strategy:  field.Tag.Get("patchStrategy"),
			}
		}
	}
	return fields
}

// element is the type of the items of a list or map; nil for none.
func element(t reflect.Type) reflect.Type {
	if t == nil || (t.Kind() != reflect.Slice && t.Kind() != reflect.Map) {
		return nil
	}
	return t.Elem()
}
