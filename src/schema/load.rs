//! From data files to [`Schemas`].
//!
//! A file may say that its references mean something else than elsewhere: within JobSet's template `meta/v1.ObjectMeta`
//! is the five fields that a CRD keeps. A replacement goes all the way through: a type that refers to a replaced one at
//! any depth is made once more for that file, every other type is shared.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::facts::{Facts, File, shape_of};
use super::types::{Field, Map, Object, Shape, TextFormat, Type, Wire};
use super::{Schemas, TypeId};

pub(super) const OBJECT_META: &str = "meta/v1.ObjectMeta";

/// Why schema data cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It does not have the form of a data file, or of the facts of a type.
    #[error("not schema data")]
    Form(#[from] serde_json::Error),
    /// It refers to a type that nobody defines.
    #[error("{user}: unknown type {name}")]
    Unknown {
        /// The type or field that does.
        user: String,
        /// The name.
        name: String,
    },
    /// It says something of a type that such a type cannot have.
    #[error("{user}: {problem}")]
    Contradiction {
        /// The type or field.
        user: String,
        /// What is wrong.
        problem: &'static str,
    },
}

pub(super) fn load(texts: &[&str]) -> Result<Schemas, LoadError> {
    let parse = |text: &&str| serde_json::from_str(text).map(File::with_full_names);
    let files = texts.iter().map(parse).collect::<Result<Vec<File>, _>>()?;
    let mut loader = Loader::new(Schemas::default(), &files);
    for name in files.iter().flat_map(|file| file.types.keys()) {
        let id = loader.reference(name, name, &Meanings::new())?;
        loader.schemas.names.insert(name.as_str().into(), id);
    }
    Ok(loader.schemas)
}

pub(super) fn add(schemas: &mut Schemas, name: Option<&str>, facts: &Value) -> Result<TypeId, LoadError> {
    let facts: Facts = serde::Deserialize::deserialize(facts)?;
    let mut loader = Loader::new(std::mem::take(schemas), &[]);
    let made = loader.value(name.unwrap_or("type"), &facts, &Meanings::new());
    *schemas = loader.schemas;
    let id = made?;
    if let Some(name) = name {
        schemas.names.insert(name.into(), id);
    }
    Ok(id)
}

/// What names of types mean instead. Empty outside the files that replace something.
type Meanings<'a> = BTreeMap<&'a str, &'a str>;

struct Loader<'a> {
    schemas: Schemas,
    files: &'a [File],
    /// The definition of a name, and the file it stands in.
    definitions: BTreeMap<&'a str, (&'a Facts, &'a File)>,
    /// The types made so far, by name and the meanings that hold within them.
    made: BTreeMap<(&'a str, Meanings<'a>), TypeId>,
    /// The types without structure and limits made so far.
    primitives: BTreeMap<String, TypeId>,
    /// The types within which meanings make a difference.
    affected: BTreeMap<Meanings<'a>, BTreeSet<&'a str>>,
}

impl<'a> Loader<'a> {
    fn new(schemas: Schemas, files: &'a [File]) -> Self {
        let definitions = files
            .iter()
            .flat_map(|file| file.types.iter().map(move |(name, facts)| (name.as_str(), (facts, file))))
            .collect();
        Loader {
            schemas,
            files,
            definitions,
            made: BTreeMap::new(),
            primitives: BTreeMap::new(),
            affected: BTreeMap::new(),
        }
    }

    /// The type that `name` means where `meanings` hold; `user` refers to it.
    fn reference(&mut self, user: &str, name: &str, meanings: &Meanings<'a>) -> Result<TypeId, LoadError> {
        let name = meanings.get(name).copied().unwrap_or(name);
        let Some((&name, &(facts, file))) = self.definitions.get_key_value(name) else {
            let unknown = || LoadError::Unknown { user: user.to_owned(), name: name.to_owned() };
            return self.schemas.named(name).ok_or_else(unknown);
        };
        let within = self.within(name, file, meanings);
        if let Some(id) = self.made.get(&(name, within.clone())) {
            return Ok(*id);
        }
        // Known before it is complete, so that a type may contain itself.
        let id = self.schemas.add(None, Type::new(Shape::Any));
        self.made.insert((name, within.clone()), id);
        let mut ty = self.make(name, facts, &within)?;
        if let (Some(_), Shape::Object(object)) = (&facts.kind, &mut ty.shape) {
            // Its metadata is what its user means, not what the templates within it keep of theirs.
            self.add_type_and_metadata(object, meanings)?;
        }
        ty.name = Some(name.into());
        ty.doc.clone_from(&facts.doc);
        self.schemas.set(id, ty);
        Ok(id)
    }

    /// The meanings that hold within the type `name` of `file`: none, where they would make no difference.
    fn within(&mut self, name: &str, file: &'a File, outer: &Meanings<'a>) -> Meanings<'a> {
        let mut inner: Meanings<'a> = file.replace.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        inner.extend(outer);
        let files = self.files;
        let affected = self.affected.entry(inner.clone()).or_insert_with(|| affected(files, &inner));
        if affected.contains(name) { inner } else { Meanings::new() }
    }

    /// The type of a value. One of which nothing is said but its name is shared.
    fn value(&mut self, user: &str, facts: &Facts, meanings: &Meanings<'a>) -> Result<TypeId, LoadError> {
        let (name, ..) = facts.unmarked();
        if !facts.says_only_a_name() {
            let ty = self.make(user, facts, meanings)?;
            return Ok(self.schemas.add(None, ty));
        }
        match shape_of(name) {
            Some(shape) => Ok(self.primitive(name, shape)),
            None => self.reference(user, name, meanings),
        }
    }

    fn primitive(&mut self, name: &str, shape: Shape) -> TypeId {
        if let Some(id) = self.primitives.get(name) {
            return *id;
        }
        let id = self.schemas.add(None, Type::new(shape));
        self.primitives.insert(name.to_owned(), id);
        id
    }

    fn make(&mut self, user: &str, facts: &Facts, meanings: &Meanings<'a>) -> Result<Type, LoadError> {
        let (name, ..) = facts.unmarked();
        let shape = if let Some(item) = name.strip_prefix("[]") {
            let item = self.nested(user, item, facts.items.as_deref(), meanings)?;
            Shape::List(facts.list(item).map_err(|problem| contradiction(user, problem))?)
        } else if let Some(values) = name.strip_prefix("{}") {
            let values = self.nested(user, values, facts.additional_properties.as_deref(), meanings)?;
            Shape::Map(Map {
                values,
                min_properties: facts.min_properties,
                max_properties: facts.max_properties,
            })
        } else if let Some(shape) = shape_of(name) {
            facts.limited(shape)
        } else if matches!(name, "" | "object") {
            Shape::Object(self.object(user, facts, meanings)?)
        } else {
            return self.variant(user, name, facts, meanings);
        };
        // An object without a name of its own is known by where it stands.
        let name = matches!(shape, Shape::Object(_)).then(|| user.into());
        Ok(Type { name, shape, nullable: facts.nullable, rules: facts.validations.clone(), doc: None })
    }

    fn nested(
        &mut self,
        user: &str,
        name: &str,
        more: Option<&Facts>,
        meanings: &Meanings<'a>,
    ) -> Result<TypeId, LoadError> {
        const DEEPEST: usize = 8; // lists of lists; bounds what a caller's text can ask for
        if name.matches(['[', '{']).count() > DEEPEST {
            return Err(contradiction(user, "lists and maps are nested too deep"));
        }
        let facts = Facts { ty: name.to_owned(), ..more.cloned().unwrap_or_default() };
        self.value(user, &facts, meanings)
    }

    /// A defined type of which more is said where it is used.
    fn variant(
        &mut self,
        user: &str,
        name: &str,
        facts: &Facts,
        meanings: &Meanings<'a>,
    ) -> Result<Type, LoadError> {
        let name = meanings.get(name).copied().unwrap_or(name);
        let unknown = || LoadError::Unknown { user: user.to_owned(), name: name.to_owned() };
        let (defined, file) = self.definitions.get(name).copied().ok_or_else(unknown)?;
        let within = self.within(name, file, meanings);
        let mut ty = Type { name: Some(name.into()), ..self.make(name, defined, &within)? };
        if let Shape::Object(object) = &mut ty.shape {
            object.atomic |= facts.map_type.as_deref() == Some("atomic");
            object.min_properties = facts.min_properties.or(object.min_properties);
        }
        ty.nullable |= facts.nullable;
        ty.rules = ty.rules.iter().chain(&facts.validations).cloned().collect();
        Ok(ty)
    }

    fn object(&mut self, user: &str, facts: &Facts, meanings: &Meanings<'a>) -> Result<Object, LoadError> {
        let mut fields = BTreeMap::new();
        if let Some(base) = &facts.extends {
            let unknown = || LoadError::Unknown { user: user.to_owned(), name: base.clone() };
            let (base, (inherited, file)) = self
                .definitions
                .get_key_value(base.as_str())
                .map(|(name, found)| (*name, *found))
                .ok_or_else(unknown)?;
            if inherited.extends.is_some() {
                return Err(contradiction(user, "it extends a type that extends another"));
            }
            let within = self.within(base, file, meanings);
            for (name, facts) in &inherited.fields {
                fields.insert(name.as_str(), self.field(user, name, facts, &within)?);
            }
        }
        for (name, facts) in &facts.fields {
            fields.insert(name.as_str(), self.field(user, name, facts, meanings)?);
        }
        Ok(Object {
            fields: fields.into_values().collect(),
            open: facts.preserve_unknown_fields,
            min_properties: facts.min_properties,
            max_properties: facts.max_properties,
            atomic: facts.map_type.as_deref() == Some("atomic"),
            kind: facts.kind.clone(),
        })
    }

    fn field(
        &mut self,
        user: &str,
        name: &str,
        facts: &Facts,
        meanings: &Meanings<'a>,
    ) -> Result<Field, LoadError> {
        let ty = self.value(&format!("{user}.{name}"), facts, meanings)?;
        let (_, pointer, required) = facts.unmarked();
        let always = match &self.schemas.get(ty).shape {
            _ if pointer => None,
            Shape::Object(_) | Shape::Quantity | Shape::IntOrString => Some(!facts.omit_zero),
            Shape::String(text) if matches!(text.format, Some(TextFormat::Time | TextFormat::MicroTime)) => {
                None
            }
            Shape::Any => None,
            _ => Some(!facts.omit_empty.unwrap_or(!required)),
        };
        let wire = match always {
            None => Wire::Kept,
            Some(true) => Wire::Always,
            Some(false) => Wire::NotZero,
        };
        let (default, doc) = (facts.default.clone(), facts.doc.clone());
        Ok(Field { name: name.into(), ty, required, default, wire, doc })
    }

    /// What goes without saying of a kind.
    fn add_type_and_metadata(
        &mut self,
        object: &mut Object,
        meanings: &Meanings<'a>,
    ) -> Result<(), LoadError> {
        let mut fields = std::mem::take(&mut object.fields).into_vec();
        for (name, ty) in [("apiVersion", "string"), ("kind", "string"), ("metadata", OBJECT_META)] {
            fields.push(self.field("kind", name, &Facts::of_type(ty), meanings)?);
        }
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        object.fields = fields.into();
        Ok(())
    }
}

fn contradiction(user: &str, problem: &'static str) -> LoadError {
    LoadError::Contradiction { user: user.to_owned(), problem }
}

/// The types that refer, at any depth, to one that means something else.
fn affected<'a>(files: &'a [File], meanings: &Meanings<'a>) -> BTreeSet<&'a str> {
    let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (user, facts) in files.iter().flat_map(|file| &file.types) {
        for name in facts.references() {
            users.entry(name).or_default().push(user);
        }
    }
    let mut affected = BTreeSet::new();
    let mut changed: Vec<&str> = meanings.keys().copied().collect();
    while let Some(name) = changed.pop() {
        let users = users.get(name).into_iter().flatten().copied();
        changed.extend(users.filter(|user| affected.insert(*user)));
    }
    affected
}
