//! The objects of one kind, as little of them as is needed.

use super::cluster::FIELD_MANAGER;
use kube::core::ApiResource;
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
};
use trainmaster::{
    api,
    object::{
        Gvk, ObjectRef, metadata,
        owned::{self, Digest},
    },
    schema::Typed,
};

/// Namespace and name; the namespace is empty for what lives in none.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    pub(super) namespace: Box<str>,
    pub(super) name: Box<str>,
}

impl Key {
    pub(super) fn new(namespace: Option<&str>, name: &str) -> Key {
        Key { namespace: namespace.unwrap_or_default().into(), name: name.into() }
    }

    pub(super) fn of(object: &Value) -> Option<Key> {
        let metadata = metadata(object);
        Some(Key::new(metadata.namespace(), metadata.name()?))
    }

    pub(super) fn namespace(&self) -> Option<&str> {
        Some(&*self.namespace).filter(|it| !it.is_empty())
    }

    fn hash(&self) -> u64 {
        hash(&(&self.namespace, &self.name))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace() {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// A number for a value, the same each time.
pub(super) fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// How much is kept of the objects of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    /// Nothing: it is enough that the kind is served.
    Served,
    /// Of those that a TrainJob controls, what their metadata say of whose they are.
    Owned,
    /// Of those that a TrainJob controls, besides that, whether they are suspended, and their status.
    Observed,
    /// Everything but who manages which field.
    Whole,
}

/// What is kept of an object.
pub(super) struct Entry {
    /// The object as JSON text, cut down to its role.
    pub(super) text: Box<str>,
    /// Its resourceVersion. Kubernetes orders them as numbers.
    pub(super) version: u64,
    /// Which fields we have applied, and when.
    pub(super) mark: Option<Digest>,
    /// What we have applied, as far as it is known.
    pub(super) applied: Option<Digest>,
    /// The listing that it was last seen in.
    round: u32,
}

impl Entry {
    pub(super) fn tree(&self, gvk: &Gvk) -> Value {
        let mut tree: Value = serde_json::from_str(&self.text).unwrap_or_default();
        if let Value::Object(object) = &mut tree {
            object.insert("apiVersion".to_owned(), json!(gvk.api_version));
            object.insert("kind".to_owned(), json!(gvk.kind));
        }
        tree
    }
}

/// What became of an object that was put into a store.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Put {
    /// As it was, as far as is known of it.
    Same,
    /// It is new, or another object than before of that name.
    New,
    /// It differs from what it was. `mark` tells whether the fields that we have applied may differ.
    Changed { mark: bool },
    /// It is none of ours, but for a name that is taken; `was_ours` if it was until now.
    Foreign { was_ours: bool },
}

/// The objects of one kind.
pub(super) struct Store {
    pub(super) gvk: Gvk,
    pub(super) resource: ApiResource,
    pub(super) role: Role,
    pub(super) objects: BTreeMap<Key, Entry>,
    /// Of the objects that are none of ours, no more than a number each, with the listing that it was last seen in.
    foreign: BTreeMap<u64, u32>,
    round: u32,
    /// Whether everything was listed once.
    pub(super) synced: bool,
}

impl Store {
    pub(super) fn new(gvk: Gvk, resource: ApiResource, role: Role) -> Store {
        let synced = role == Role::Served;
        Store { gvk, resource, role, objects: BTreeMap::new(), foreign: BTreeMap::new(), round: 0, synced }
    }

    pub(super) fn reference(&self, key: &Key) -> ObjectRef {
        ObjectRef {
            gvk: self.gvk.clone(),
            namespace: key.namespace().map(str::to_owned),
            name: key.name.to_string(),
        }
    }

    /// Whether the name seems to be taken by an object that is none of ours.
    pub(super) fn is_foreign(&self, key: &Key) -> bool {
        self.foreign.contains_key(&key.hash())
    }

    /// Takes note that there is no object of that name.
    pub(super) fn is_free(&mut self, key: &Key) {
        self.foreign.remove(&key.hash());
    }

    /// A listing begins.
    pub(super) fn begin(&mut self) {
        self.round = self.round.wrapping_add(1);
    }

    /// The listing is complete: returns the objects that it did not contain, which are gone.
    pub(super) fn finish(&mut self) -> Vec<(Key, Entry)> {
        self.synced = true;
        let round = self.round;
        self.foreign.retain(|_, seen| *seen == round);
        self.objects.extract_if(.., |_, entry| entry.round != round).collect()
    }

    /// Takes an object as it is now. What is older than what is known already changes nothing.
    pub(super) fn put(&mut self, key: &Key, object: &Value) -> Put {
        if self.role < Role::Whole && train_job_of(object).is_none() {
            self.foreign.insert(key.hash(), self.round);
            return Put::Foreign { was_ours: self.objects.remove(key).is_some() };
        }
        self.foreign.remove(&key.hash());
        let version = version(object);
        if let Some(known) = self.objects.get_mut(key)
            && version > 0
            && known.version >= version
        {
            known.round = self.round;
            return Put::Same;
        }
        let text = reduced(object, self.role).into();
        let mark = owned::mark(object, FIELD_MANAGER);
        let Some(old) = self.objects.get_mut(key) else {
            let applied = self.applied(object);
            self.objects.insert(key.clone(), Entry { text, version, mark, applied, round: self.round });
            return Put::New;
        };
        old.round = self.round;
        let marked = old.mark != mark;
        let changed = marked || old.text != text;
        let recreated = changed && uid_of(&old.text) != uid_of(&text);
        (old.version, old.text, old.mark) = (version, text, mark);
        if marked {
            let applied = self.applied(object);
            if let Some(entry) = self.objects.get_mut(key) {
                entry.applied = applied;
            }
        }
        match (recreated, changed) {
            (true, _) => Put::New,
            (false, true) => Put::Changed { mark: marked },
            (false, false) => Put::Same,
        }
    }

    /// What we have applied of a whole object; metadata alone do not tell.
    fn applied(&self, object: &Value) -> Option<Digest> {
        match self.role {
            Role::Served | Role::Owned => None,
            Role::Observed | Role::Whole => applied(&self.gvk, object),
        }
    }

    /// The object is gone; returns what was kept of it, as it last was.
    pub(super) fn take_last(&mut self, key: &Key, last: &Value) -> Option<Entry> {
        self.is_free(key);
        let entry = self.objects.remove(key)?;
        Some(Entry { text: reduced(last, self.role).into(), ..entry })
    }
}

/// What we have applied of an object.
pub(super) fn applied(gvk: &Gvk, object: &Value) -> Option<Digest> {
    let schemas = api::schemas();
    let ty: Option<Typed<'_>> = schemas.kind(&gvk.api_version, &gvk.kind).map(|ty| schemas.typed(ty));
    owned::owned(object, FIELD_MANAGER, ty).map(|part| owned::digest(&part))
}

fn version(object: &Value) -> u64 {
    let text = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
    text.and_then(|it| it.parse().ok()).unwrap_or_default()
}

fn uid_of(text: &str) -> Option<String> {
    let object: Value = serde_json::from_str(text).ok()?;
    metadata(&object).uid().map(str::to_owned)
}

/// Name and UID of the TrainJob that controls an object.
pub(super) fn train_job_of(object: &Value) -> Option<(&str, &str)> {
    let owner = metadata(object).controller()?;
    let group = owner.api_version()?.split('/').next();
    (group == Some(api::GROUP) && owner.kind() == Some("TrainJob")).then_some(())?;
    Some((owner.name()?, owner.uid()?))
}

/// The metadata that say whose an object is, and since when it is there.
const WHOSE: [&str; 6] =
    ["name", "namespace", "uid", "ownerReferences", "creationTimestamp", "deletionTimestamp"];

/// The object cut down to what the role keeps.
fn reduced(object: &Value, role: Role) -> String {
    let metadata = object.get("metadata").and_then(Value::as_object);
    let kept = |names: &[&str]| -> Map<String, Value> {
        let named = names.iter().filter_map(|name| Some(((*name).to_owned(), metadata?.get(*name)?.clone())));
        named.collect()
    };
    match role {
        Role::Served | Role::Owned => json!({ "metadata": kept(&WHOSE) }).to_string(),
        Role::Observed => {
            let mut tree = json!({ "metadata": kept(&WHOSE) });
            if let Some(suspend) = object.pointer("/spec/suspend") {
                tree["spec"] = json!({ "suspend": suspend });
            }
            if let Some(status) = object.get("status") {
                tree["status"] = status.clone();
            }
            tree.to_string()
        }
        Role::Whole => {
            let mut tree = object.clone();
            if let Some(Value::Object(metadata)) = tree.get_mut("metadata") {
                metadata.remove("resourceVersion");
                metadata.remove("managedFields");
            }
            if let Value::Object(object) = &mut tree {
                object.remove("apiVersion");
                object.remove("kind");
            }
            tree.to_string()
        }
    }
}
