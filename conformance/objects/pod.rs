//! A pod template's type, as far as the cases here go, made by hand.

use serde_json::{Value, json};
use std::sync::LazyLock;
use trainmaster::object::{ListKind, PatchKind, Shape, Union};

/// A type.
#[derive(Default)]
pub(crate) struct Type {
    /// Field, its type, its default. The name `*` stands for every key of a map.
    fields: Vec<(&'static str, Type, Option<Value>)>,
    item: Option<Box<Type>>,
    keys: Option<Vec<Box<str>>>,
    patch: Option<&'static str>,
    quantity: bool,
    name: &'static str,
}

impl<'s> Shape<'s> for &'s Type {
    fn field(self, name: &str) -> Option<Self> {
        self.fields.iter().find(|(field, ..)| *field == name || *field == "*").map(|(_, ty, _)| ty)
    }

    fn item(self) -> Option<Self> {
        self.item.as_deref()
    }

    fn default(self, name: &str) -> Option<&'s Value> {
        self.fields.iter().find(|(field, ..)| *field == name)?.2.as_ref()
    }

    fn list(self) -> ListKind<'s> {
        match &self.keys {
            None => ListKind::Atomic,
            Some(keys) if keys.is_empty() => ListKind::Set,
            Some(keys) => ListKind::Map(keys),
        }
    }

    fn patch(self) -> PatchKind<'s> {
        match self.patch {
            None => PatchKind::Replace,
            Some("") => PatchKind::Values,
            Some(key) => PatchKind::Items(key),
        }
    }

    fn union(self) -> Union<'s> {
        Union::of_kubernetes_type(self.name)
    }

    fn is_quantity(self) -> bool {
        self.quantity
    }
}

fn object<const N: usize>(name: &'static str, fields: [(&'static str, Type); N]) -> Type {
    let fields = fields.into_iter().map(|(field, ty)| (field, ty, None)).collect();
    Type { fields, name, ..Type::default() }
}

fn plain() -> Type {
    Type::default()
}

fn list(keys: &[&'static str], patch: &'static str, item: Type) -> Type {
    let keys = Some(keys.iter().map(|key| (*key).into()).collect());
    Type { keys, patch: Some(patch), item: Some(Box::new(item)), ..Type::default() }
}

fn atomic_list() -> Type {
    Type { item: Some(Box::default()), ..Type::default() }
}

fn container() -> Type {
    let source = object(
        "v1.EnvVarSource",
        [("secretKeyRef", plain()), ("fieldRef", plain()), ("fileKeyRef", plain())],
    );
    let env = object("v1.EnvVar", [("name", plain()), ("value", plain()), ("valueFrom", source)]);
    let mut port = object("v1.ContainerPort", [("containerPort", plain()), ("protocol", plain())]);
    port.fields[1].2 = Some(json!("TCP"));
    let quantities = || object("", [("*", Type { quantity: true, ..plain() })]);
    let resources =
        [("limits", quantities()), ("requests", quantities()), ("claims", list(&["name"], "name", plain()))];
    let probe = object("v1.Probe", [("exec", plain()), ("httpGet", plain())]);
    object(
        "v1.Container",
        [
            ("env", list(&["name"], "name", env)),
            ("ports", list(&["containerPort", "protocol"], "containerPort", port)),
            ("volumeMounts", list(&["mountPath"], "mountPath", plain())),
            ("args", atomic_list()),
            ("resources", object("v1.ResourceRequirements", resources)),
            ("livenessProbe", probe),
        ],
    )
}

fn pod_template() -> Type {
    let volume_claim = object("", [("claimName", plain())]);
    let volume = object(
        "v1.Volume",
        [("name", plain()), ("configMap", plain()), ("persistentVolumeClaim", volume_claim)],
    );
    let mut secret = object("v1.LocalObjectReference", [("name", plain())]);
    secret.fields[0].2 = Some(json!(""));
    let spec = object(
        "v1.PodSpec",
        [
            ("containers", list(&["name"], "name", container())),
            ("initContainers", list(&["name"], "name", container())),
            ("volumes", list(&["name"], "name", volume)),
            ("imagePullSecrets", list(&["name"], "name", secret)),
            ("schedulingGates", list(&["name"], "name", plain())),
            ("tolerations", atomic_list()),
            ("nodeSelector", object("", [("*", plain())])),
        ],
    );
    let metadata =
        object("meta/v1.ObjectMeta", [("finalizers", list(&[], "", plain())), ("labels", plain())]);
    object("v1.PodTemplateSpec", [("metadata", metadata), ("spec", spec)])
}

static POD_TEMPLATE: LazyLock<Type> = LazyLock::new(pod_template);

/// The type of a pod template.
pub(crate) fn shape() -> &'static Type {
    &POD_TEMPLATE
}

/// The type of a container.
pub(crate) fn container_shape() -> &'static Type {
    static CONTAINER: LazyLock<Type> = LazyLock::new(container);
    &CONTAINER
}
