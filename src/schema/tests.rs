//! The four functions on a type small enough to see whole. What Kubernetes' own types are like is tested against the
//! API server's code in `conformance/schemas`.

use serde_json::{Value, json};

use super::{Schemas, TypeId, canonical, default, diagnostics, prune, unreadable_quantities, validate};
use crate::diagnostic::{Place, Source};
use crate::yaml;

/// One data file with a type of every shape.
const FILE: &str = r#"{
    "apiVersion": "example.com/v1",
    "types": {
        "Thing": {"kind": {"plural": "things", "namespaced": true, "custom": true}, "fields": {"spec": "Spec"}},
        "Spec": {"minProperties": 1, "fields": {
            "suspend": {"type": "*boolean", "default": false},
            "name": {"type": "string!", "minLength": 1, "maxLength": 5, "pattern": "^[a-z]*$"},
            "mode": {"type": "string", "enum": ["soft", "hard"]},
            "count": {"type": "int32", "minimum": 0, "maximum": 100},
            "big": "*int64",
            "ratio": "*number",
            "at": "*time",
            "port": "*intOrString",
            "memory": "*quantity",
            "limits": "{}quantity",
            "extra": {"type": "*any", "nullable": true},
            "tags": {"type": "[]string", "listType": "set", "maxItems": 3},
            "args": {"type": "[]string", "items": {"maxLength": 4}},
            "ports": {"type": "[]Port", "listType": "map", "listMapKeys": ["port", "protocol"]},
            "parts": {"type": "{}Part", "maxProperties": 2},
            "open": {"type": "*object", "preserveUnknownFields": true, "fields": {"known": "Part"}},
            "always": "Part",
            "inner": "*Spec"
        }},
        "Port": {"fields": {"port": "int32!", "protocol": {"type": "string", "default": "TCP"}}},
        "Part": {"fields": {"size": {"type": "*int32", "default": 1}, "unit": "string"}},
        "meta/v1.ObjectMeta": {"fields": {
            "name": "string", "generateName": "string", "namespace": "string", "labels": "{}string",
            "annotations": "{}string", "finalizers": "[]string", "ownerReferences": "[]meta/v1.OwnerReference"
        }},
        "meta/v1.OwnerReference": {"fields": {"name": "string", "uid": "string", "controller": "*boolean"}}
    }
}"#;

fn schemas() -> (Schemas, TypeId) {
    let schemas = Schemas::load(&[FILE]).unwrap();
    let spec = schemas.named("example.com/v1.Spec").unwrap();
    (schemas, spec)
}

fn parse(text: &str) -> Value {
    let (nodes, diagnostics) = yaml::parse(&Source::new("test", text));
    assert!(diagnostics.is_empty(), "{text}: {diagnostics:?}");
    nodes[0].to_json()
}

/// A value nested far deeper than any text can make it.
fn deep() -> Value {
    (0..1000).fold(json!({}), |inner, _| json!({"inner": inner, "null": null}))
}

mod defaulting {
    use super::*;

    fn check(value: &str, wanted: &str) {
        let (schemas, ty) = schemas();
        let mut filled = parse(value);
        default(&schemas, ty, &mut filled);
        assert_eq!(filled, parse(wanted), "{value}");
    }

    #[test]
    fn a_missing_field_gets_its_default() {
        check("{}", "{suspend: false}");
        check("{suspend: true}", "{suspend: true}");
        check("{ports: [{port: 1}]}", "{suspend: false, ports: [{port: 1, protocol: TCP}]}");
        check("{parts: {a: {}, b: {size: 2}}}", "{suspend: false, parts: {a: {size: 1}, b: {size: 2}}}");
        check("{inner: {}}", "{suspend: false, inner: {suspend: false}}");
    }

    #[test]
    fn a_null_counts_as_missing_unless_it_is_a_value() {
        check("{suspend: null, name: null, extra: null}", "{suspend: false, extra: null}");
        check("{parts: {a: null}, ports: [null]}", "{suspend: false, parts: {}, ports: [null]}");
    }

    #[test]
    fn a_value_of_the_wrong_type_and_an_unknown_field_stay_as_they_are() {
        check("{ports: 5, odd: null}", "{suspend: false, ports: 5, odd: null}");
        check("[1]", "[1]");
    }
}

mod pruning {
    use super::*;

    fn check(value: &str, kept: &str, dropped: &[&str]) {
        let (schemas, ty) = schemas();
        let mut pruned = parse(value);
        let paths: Vec<String> = prune(&schemas, ty, &mut pruned).iter().map(ToString::to_string).collect();
        assert_eq!(paths, dropped, "{value}");
        assert_eq!(pruned, parse(kept), "{value}");
    }

    #[test]
    fn what_no_schema_knows_is_dropped_and_named() {
        check("{name: a, nmae: b}", "{name: a}", &["nmae"]);
        check("{ports: [{port: 1}, {prot: 2}]}", "{ports: [{port: 1}, {}]}", &["ports[1].prot"]);
        check("{parts: {a.b: {x: 1}}, a: 1}", "{parts: {a.b: {}}}", &["a", "parts[a.b].x"]);
    }

    #[test]
    fn what_an_open_object_or_any_value_holds_is_kept() {
        check("{extra: {a: [{b: 1}]}}", "{extra: {a: [{b: 1}]}}", &[]);
        check("{open: {new: {a: 1}, known: {x: 1}}}", "{open: {new: {a: 1}, known: {}}}", &["open.known.x"]);
    }
}

mod canonical_form {
    use super::*;

    fn check(value: &str, wanted: &str) {
        let (schemas, ty) = schemas();
        let mut written = parse(value);
        canonical(&schemas, ty, &mut written);
        assert_eq!(written, parse(wanted), "{value}");
    }

    #[test]
    fn zero_values_go_and_structs_come() {
        check("{}", "{always: {}}");
        check("{count: 0, mode: '', tags: [], limits: {}, always: {unit: ''}}", "{always: {}}");
        check("{count: 1, tags: [''], always: {size: 0}}", "{count: 1, tags: [''], always: {size: 0}}");
    }

    #[test]
    fn pointers_and_required_fields_stay_whatever_they_are() {
        check(
            "{suspend: false, big: 0, name: '', inner: {}}",
            "{suspend: false, big: 0, name: '', always: {}, inner: {always: {}}}",
        );
    }

    #[test]
    fn nulls_go_and_unknown_fields_stay() {
        check(
            "{suspend: null, tags: null, always: null, extra: null, odd: null}",
            "{always: {}, extra: null, odd: null}",
        );
        check(
            "{memory: 1000m, limits: {a: 1, b: '01', c: odd}}",
            "{memory: '1', limits: {a: '1', b: '01', c: odd}, always: {}}",
        );
        check("{at: '2026-01-02T03:04:05.6+01:00'}", "{at: '2026-01-02T02:04:05Z', always: {}}");
        check("{odd: {}, ports: [{port: 0, protocol: ''}]}", "{odd: {}, always: {}, ports: [{port: 0}]}");
    }
}

mod validation {
    use super::*;

    fn check(value: &str, wanted: &[&str]) {
        check_update(value, None, wanted);
    }

    fn check_update(value: &str, old: Option<&str>, wanted: &[&str]) {
        let (schemas, ty) = schemas();
        let old = old.map(parse);
        let errors = validate(&schemas, ty, &parse(value), old.as_ref());
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(errors, wanted, "{value}");
    }

    #[test]
    fn every_error_is_reported_in_the_order_of_the_fields() {
        check(
            "{count: many, ports: [{}], tags: [a, a]}",
            &[
                r#"count: Invalid value: "string": count in body must be of type integer: "string""#,
                "name: Required value",
                "ports[0].port: Required value",
                r#"tags[1]: Duplicate value: "a""#,
            ],
        );
    }

    #[test]
    fn a_value_of_another_type_is_named_by_its_type() {
        check("[]", &[r#"Invalid value: "array":  in body must be of type object: "array""#]);
        check(
            "{name: 1}",
            &[r#"name: Invalid value: "integer": name in body must be of type string: "integer""#],
        );
        check(
            "{name: a, suspend: 'no'}",
            &[r#"suspend: Invalid value: "string": suspend in body must be of type boolean: "string""#],
        );
        check(
            "{name: a, args: {}}",
            &[r#"args: Invalid value: "object": args in body must be of type array: "object""#],
        );
        check(
            "{name: a, args: [null]}",
            &[r#"args[0]: Invalid value: "null": args[0] in body must be of type string: "null""#],
        );
        check(
            "{name: a, port: 1.5}",
            &[r#"port: Invalid value: "number": port in body must be of type integer,string: "number""#],
        );
        check(
            "{name: a, count: 1.5}",
            &[r#"count: Invalid value: "number": count in body must be of type integer: "number""#],
        );
        check(
            "{name: a, at: now}",
            &[r#"at: Invalid value: "now": at in body must be of type date-time: "now""#],
        );
        check("{name: a, extra: null, ratio: 1.5, port: http, memory: 1Gi, count: 2.0}", &[]);
    }

    #[test]
    fn limits_are_inclusive() {
        check("{name: abcde, count: 100, tags: [a, b, c], args: [äöüß], parts: {a: {}, b: {}}}", &[]);
        check("{name: abcdef}", &["name: Too long: may not be more than 5 bytes"]);
        check("{name: ''}", &[r#"name: Invalid value: "": name in body should be at least 1 chars long"#]);
        check("{name: A}", &[r#"name: Invalid value: "A": name in body should match '^[a-z]*$'"#]);
        check(
            "{name: a, mode: firm}",
            &[r#"mode: Unsupported value: "firm": supported values: "soft", "hard""#],
        );
        check(
            "{name: a, count: -1}",
            &["count: Invalid value: -1: count in body should be greater than or equal to 0"],
        );
        check(
            "{name: a, count: 101}",
            &["count: Invalid value: 101: count in body should be less than or equal to 100"],
        );
        check("{name: a, tags: [a, b, c, d]}", &["tags: Too many: 4: must have at most 3 items"]);
        check("{name: a, parts: {a: {}, b: {}, c: {}}}", &["parts: Too many: 3: must have at most 2 items"]);
        check(
            "{}",
            &["Invalid value: 0:  in body should have at least 1 properties", "name: Required value"],
        );
        check(
            "{name: a, count: 3000000000}",
            &[
                "count: Invalid value: 3000000000: Checked value must be of type integer with format int32 in count",
            ],
        );
    }

    #[test]
    fn a_list_map_item_is_known_by_all_its_keys() {
        check("{name: a, ports: [{port: 1, protocol: TCP}, {port: 1, protocol: UDP}]}", &[]);
        check(
            "{name: a, ports: [{port: 1, protocol: TCP}, {port: 1, protocol: TCP}, {port: 1, protocol: TCP}]}",
            &[r#"ports[1]: Duplicate value: {"port":1,"protocol":"TCP"}"#],
        );
    }

    #[test]
    fn what_did_not_change_is_not_held_against_an_update() {
        check_update("{name: LOUD, count: 5}", Some("{name: LOUD, count: 1}"), &[]);
        check_update("{name: LOUD, tags: [a, a, b]}", Some("{name: LOUD, tags: [a, a]}"), &[]);
        check_update(
            "{name: a, ports: [{port: -1}, {}]}",
            Some("{name: a, ports: [{port: -1}]}"),
            &["ports[1].port: Required value"],
        );
        check_update(
            "{name: LOUDER}",
            Some("{name: LOUD}"),
            &["name: Too long: may not be more than 5 bytes"],
        );
    }

    #[test]
    fn a_long_value_is_cut_and_a_long_list_of_errors_ends() {
        let (schemas, ty) = schemas();
        let errors = validate(&schemas, ty, &json!({"name": "a", "at": "ä".repeat(100_000)}), None);
        assert!(errors[0].to_string().len() < 1000, "{}", errors[0]);

        let errors = validate(&schemas, ty, &json!({"name": "a", "args": vec!["too long"; 5000]}), None);
        assert_eq!(errors.len(), 101);
        assert_eq!(errors[100].detail, "4900 more errors are not listed");
    }

    #[test]
    fn metadata_is_checked_whatever_the_schema_says() {
        let (schemas, _) = schemas();
        let thing = schemas.kind("example.com/v1", "Thing").unwrap();
        let check = |metadata: &str, wanted: &[&str]| {
            let thing_value = json!({"metadata": parse(metadata), "spec": {"name": "a"}});
            let paths: Vec<String> = validate(&schemas, thing, &thing_value, None)
                .into_iter()
                .map(|error| error.path.to_string())
                .collect();
            assert_eq!(paths, wanted, "{metadata}");
        };
        check("{name: a.b-c}", &[]);
        check("{generateName: a-}", &[]);
        check("{}", &["metadata.name"]);
        check("{name: A}", &["metadata.name"]);
        check("{name: a, namespace: a.b}", &["metadata.namespace"]);
        check("{name: a, labels: {a: '', b/c: x.y_z}, annotations: {A/b: any thing}}", &[]);
        check("{name: a, labels: {a b: ''}}", &["metadata.labels"]);
        check("{name: a, labels: {a: 'b c'}}", &["metadata.labels"]);
        check("{name: a, annotations: {a/b/c: ''}}", &["metadata.annotations"]);
        check("{name: a, finalizers: [a b]}", &["metadata.finalizers"]);
        check("{name: a, ownerReferences: [{name: '', uid: x}]}", &["metadata.ownerReferences.name"]);
        check(
            "{name: a, ownerReferences: [{controller: true}, {controller: true}]}",
            &["metadata.ownerReferences"],
        );
    }
}

#[test]
fn users_are_told_what_is_refused_and_what_is_dropped() {
    let (schemas, ty) = schemas();
    let mut value = parse("{nmae: a, ports: [{prot: 1, port: a}], parts: {a: {}}}");
    let dropped = prune(&schemas, ty, &mut value);
    let dropped = dropped.iter().map(|path| diagnostics::dropped(&schemas, ty, "Spec a", path));
    let errors = validate(&schemas, ty, &value, None);
    let refused = errors.iter().map(|error| diagnostics::refused("Spec a", error));
    let messages: Vec<String> = dropped
        .chain(refused)
        .map(|found| {
            let Place::Field { object, path } = &found.place else { panic!("{found:?}") };
            format!("{object}, {path}: {} {:?}", found.message, found.help.unwrap_or_default())
        })
        .collect();
    assert_eq!(
        messages,
        [
            r#"Spec a, nmae: there is no field `nmae` here; it is dropped "did you mean `name`?""#,
            r#"Spec a, ports[0].prot: there is no field `prot` here; it is dropped "did you mean `port`?""#,
            r#"Spec a, name: Required value """#,
            r#"Spec a, ports[0].port: Invalid value: "string": ports[0].port in body must be of type integer: "string" """#,
        ]
    );
}

#[test]
fn a_quantity_that_passes_a_crd_and_cannot_be_read_is_found() {
    let (schemas, ty) = schemas();
    let check = |value: &str, wanted: &[&str]| {
        let value = parse(value);
        assert_eq!(validate(&schemas, ty, &value, None), []);
        let errors = unreadable_quantities(&schemas, ty, &value);
        assert_eq!(
            errors.into_iter().map(|error| error.path.to_string()).collect::<Vec<_>>(),
            wanted,
            "{value}"
        );
    };
    check("{name: a, memory: 1Gi, limits: {cpu: '1e3', memory: 2}}", &[]);
    check("{name: a, memory: '1e1.5', limits: {cpu: '1e999999999'}}", &["limits.cpu", "memory"]);
}

#[test]
fn a_value_deeper_than_any_type_ends() {
    let (schemas, ty) = schemas();
    let mut value = deep();
    prune(&schemas, ty, &mut value);
    default(&schemas, ty, &mut value);
    canonical(&schemas, ty, &mut value);
    let errors = validate(&schemas, ty, &value, Some(&deep()));
    assert!(errors.iter().any(|error| error.detail == "nested deeper than 128 levels"), "{errors:?}");
}

mod loading {
    use super::*;
    use crate::schema::{Shape, structural_schema};

    fn problem(file: &str) -> String {
        Schemas::load(&[file]).unwrap_err().to_string()
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        assert_eq!(problem("[]"), "not schema data");
        assert_eq!(problem(r#"{"types": {"a.A": {"fields": {"x": "a.B"}}}}"#), "a.A.x: unknown type a.B");
        assert_eq!(problem(r#"{"types": {"a.A": {"extends": "a.B"}}}"#), "a.A: unknown type a.B");
        let brackets = "[]".repeat(5000);
        let nested = format!(r#"{{"types": {{"a.A": {{"fields": {{"x": "{brackets}string"}}}}}}}}"#);
        assert_eq!(problem(&nested), "a.A.x: lists and maps are nested too deep");
        let keyless = r#"{"types": {"a.A": {"fields": {"x": {"type": "[]string", "listType": "map"}}}}}"#;
        assert_eq!(problem(keyless), "a.A.x: a list is of no known type, or a map without keys");
    }

    #[test]
    fn a_replacement_holds_within_the_types_it_is_reached_through_and_nowhere_else() {
        let base = r#"{"types": {
            "v1.Pod": {"fields": {"meta": "v1.Meta", "spec": "v1.Spec"}},
            "v1.Meta": {"fields": {"name": "string", "uid": "string"}},
            "v1.Spec": {"fields": {"image": "string"}}
        }}"#;
        let ours = r#"{"apiVersion": "x", "replace": {"v1.Meta": "Meta"}, "types": {
            "Job": {"fields": {"pod": "v1.Pod", "pods": "[]v1.Pod"}},
            "Meta": {"extends": "v1.Meta", "fields": {"uid": "int32"}}
        }}"#;
        let schemas = Schemas::load(&[base, ours]).unwrap();
        let find = |name, path: &[&str]| schemas.find(schemas.named(name).unwrap(), path).unwrap();
        let is_text = |id| matches!(schemas.get(id).shape, Shape::String(_));
        assert!(is_text(find("v1.Pod", &["meta", "uid"])));
        assert!(!is_text(find("x.Job", &["pod", "meta", "uid"])));
        assert!(is_text(find("x.Job", &["pod", "meta", "name"])));
        assert_eq!(
            find("x.Job", &["pod", "spec"]),
            find("v1.Pod", &["spec"]),
            "what is not affected is shared"
        );
        assert_eq!(find("x.Job", &["pod"]), find("x.Job", &["pods"]));
    }

    #[test]
    fn callers_add_types_to_a_set_that_stays_as_it_is() {
        let base = crate::api::schemas();
        let mut more = Schemas::extend(base);
        let params = json!({"type": "object", "fields": {"port": {"type": "int32", "minimum": 1}, "env": "[]v1.EnvVar"}});
        let params = more.add_facts(Some("params"), &params).unwrap();
        assert_eq!(more.named("params"), Some(params));
        assert_eq!(base.named("params"), None);
        assert_eq!(more.find(params, &["env"]), base.named("v1.EnvVar"));
        assert!(more.add_facts(None, &json!({"type": "v1.Nothing"})).is_err());
        assert!(matches!(base.get(params).shape, Shape::Any), "an id of another set");
    }

    #[test]
    fn a_type_that_contains_itself_ends_as_an_open_schema() {
        let (schemas, ty) = schemas();
        let text = structural_schema(&schemas, ty).to_string();
        assert!(text.contains(r#""inner":{"x-kubernetes-preserve-unknown-fields":true}"#));
    }
}

mod expressions {
    use std::sync::Arc;

    use super::*;
    use crate::cel::{Bounds, Env, Type};
    use crate::diagnostic::Severity;
    use crate::schema::{Shape, cel_bounds, cel_type};

    /// The type of an expression about a `TrainJob` named `job` and a runtime named `runtime`, or what is wrong with it.
    fn check(expression: &str, wanted: &str) {
        let schemas = crate::api::schemas();
        let mut env = Env::new();
        for (name, kind) in [("job", "TrainJob"), ("runtime", "TrainingRuntime")] {
            let ty = schemas.kind("trainer.kubeflow.org/v1alpha1", kind).unwrap();
            env.declare(name, &cel_type(schemas, ty), cel_bounds(schemas, ty));
        }
        let compiled = env.compile(expression);
        let error = compiled.issues.first().map(|issue| format!("{}: {}", issue.severity, issue.code.name));
        assert_eq!(error.unwrap_or_else(|| compiled.ty.to_string()), wanted, "{expression}");
    }

    #[test]
    fn fields_have_the_types_of_their_schema() {
        check("job.metadata.name", "string");
        check("job.spec.?trainer.?numNodes.orValue(1)", "int");
        check("job.spec.suspend", "bool");
        check("job.?status.?conditions[0].lastTransitionTime", "optional(timestamp)");
        check("job.spec.?trainer.?numProcPerNode.orValue('auto')", "dyn");
        check("job.spec.?labels.orValue({})", "map(string, string)");
        check("job.spec.?trainer.?env.orValue([])", "list(v1.EnvVar)");
        check("job.spec.?trainer.?resourcesPerNode.?limits.orValue({})", "map(string, dyn)");
        check("runtime.spec.?mlPolicy.?torch", "optional(trainer.kubeflow.org/v1alpha1.TorchPolicy)");
        check("runtime.spec.?mlPolicy.?horovod.?slots", "optional(dyn)");
    }

    #[test]
    fn a_field_that_no_schema_has_is_an_error() {
        check("job.spec.trianer", "error: no-such-field");
        check("job.spec.runtimeRef.name + 1", "error: no-overload");
    }

    #[test]
    fn a_field_that_may_be_absent_earns_a_warning() {
        check("job.spec.trainer.image", "warning: unguarded-field");
    }

    #[test]
    fn limits_of_a_schema_bound_the_cost() {
        let schemas = crate::api::schemas();
        let trainer = schemas.named("trainer.kubeflow.org/v1alpha1.Trainer").unwrap();
        let bounds = |field: &str| cel_bounds(schemas, schemas.child(trainer, field).unwrap());
        assert_eq!(bounds("args"), Bounds::size(128).of(Bounds::size(4 * 1_572_864)));
        assert_eq!(bounds("numNodes"), Bounds::default());
    }

    #[test]
    fn every_rule_of_every_schema_is_well_typed() {
        let schemas = crate::api::schemas();
        let mut rules = 0;
        for id in (0..schemas.end()).map(TypeId) {
            let ty = cel_type(schemas, id);
            for rule in &schemas.get(id).rules {
                let mut env = Env::new();
                env.declare("self", &ty, cel_bounds(schemas, id));
                env.declare("oldSelf", &ty, cel_bounds(schemas, id));
                let compiled = env.compile(&rule.rule);
                let errors: Vec<_> =
                    compiled.issues.iter().filter(|issue| issue.severity == Severity::Error).collect();
                assert!(errors.is_empty(), "{}: {errors:?}", rule.rule);
                assert_eq!(compiled.ty, Type::Bool, "{}", rule.rule);
                rules += 1;
            }
        }
        assert!(rules > 40, "{rules}");
    }

    #[test]
    fn a_type_that_contains_itself_is_a_type() {
        let (schemas, ty) = schemas();
        let schemas = Arc::new(schemas);
        assert!(matches!(schemas.get(ty).shape, Shape::Object(_)));
        let mut env = Env::new();
        env.declare("x", &cel_type(&schemas, ty), cel_bounds(&schemas, ty));
        assert_eq!(env.compile("x.?inner.?inner.?inner.?name").ty.to_string(), "optional(string)");
    }
}

mod merging {
    use super::*;
    use crate::object::merge::{strategic, upsert};

    /// Both merges of a fragment, by the types of the API server.
    fn check(ty: &str, tree: &str, fragment: &str, upserted: &str, patched: &str) {
        let schemas = crate::api::schemas();
        let ty = schemas.typed(schemas.named(ty).unwrap());
        let (mut one, mut other) = (parse(tree), parse(tree));
        upsert(&mut one, parse(fragment), ty, &mut |_| {}).unwrap();
        strategic(&mut other, &parse(fragment), ty, &mut |_| {}).unwrap();
        assert_eq!((one, other), (parse(upserted), parse(patched)), "{tree} and {fragment}");
    }

    #[test]
    fn lists_merge_by_the_keys_of_their_schema() {
        check(
            "v1.Container",
            "{env: [{name: A, value: '1'}, {name: B, value: '1'}]}",
            "{env: [{name: C, value: '2'}, {name: A, value: '2'}]}",
            "{env: [{name: A, value: '2'}, {name: B, value: '1'}, {name: C, value: '2'}]}",
            "{env: [{name: C, value: '2'}, {name: A, value: '2'}, {name: B, value: '1'}]}",
        );
        check(
            "v1.PodSpec",
            "{tolerations: [{key: a}], nodeSelector: {a: b}}",
            "{tolerations: [{key: b}], nodeSelector: {c: d}}",
            "{tolerations: [{key: b}], nodeSelector: {a: b, c: d}}",
            "{tolerations: [{key: b}], nodeSelector: {a: b, c: d}}",
        );
    }

    #[test]
    fn a_port_without_protocol_is_tcp() {
        let merged =
            "{ports: [{containerPort: 1, protocol: TCP, name: x}, {containerPort: 1, protocol: UDP}]}";
        check(
            "v1.Container",
            "{ports: [{containerPort: 1}, {containerPort: 1, protocol: UDP}]}",
            "{ports: [{containerPort: 1, protocol: TCP, name: x}]}",
            merged,
            merged,
        );
    }

    #[test]
    fn a_volume_has_one_source() {
        check(
            "v1.PodSpec",
            "{volumes: [{name: v, emptyDir: {}}]}",
            "{volumes: [{name: v, configMap: {name: c}}]}",
            "{volumes: [{name: v, configMap: {name: c}}]}",
            "{volumes: [{name: v, configMap: {name: c}}]}",
        );
    }
}
