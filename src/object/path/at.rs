//! Where a walk through a tree is.

use std::fmt;

use serde_json::Value;

use super::{
    FieldPath, Scalar, Step,
    print::{self, Shown},
};

/// A place in a tree, as the step from the place around it, which a recursive walk keeps on its stack.
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    step: AtStep<'a>,
    around: Option<&'a At<'a>>,
    depth: usize,
}

#[derive(Clone, Copy, Debug)]
enum AtStep<'a> {
    Root,
    Field(&'a str),
    Index(usize),
    Item(&'a [&'a str], &'a Value),
}

impl<'a> At<'a> {
    /// The value that the walk starts with.
    pub const ROOT: At<'static> = At { step: AtStep::Root, around: None, depth: 0 };

    /// A field of this place.
    #[must_use]
    pub fn field(&'a self, name: &'a str) -> At<'a> {
        self.step(AtStep::Field(name))
    }

    /// The item of this place at a position, from 0.
    #[must_use]
    pub fn index(&'a self, index: usize) -> At<'a> {
        self.step(AtStep::Index(index))
    }

    /// The item of this place that has the values which `item` has at `keys`.
    #[must_use]
    pub fn item(&'a self, keys: &'a [&'a str], item: &'a Value) -> At<'a> {
        self.step(AtStep::Item(keys, item))
    }

    fn step(&'a self, step: AtStep<'a>) -> At<'a> {
        At { step, around: Some(self), depth: self.depth + 1 }
    }

    /// How many steps lead here.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The path from where the walk started.
    pub fn path(&self) -> FieldPath {
        let mut steps = Vec::with_capacity(self.depth);
        let mut place = Some(self);
        while let Some(at) = place {
            steps.extend(at.step.owned());
            place = at.around;
        }
        steps.reverse();
        FieldPath(steps)
    }
}

impl AtStep<'_> {
    fn owned(self) -> Option<Step> {
        match self {
            AtStep::Root => None,
            AtStep::Field(name) => Some(Step::Field(name.into())),
            AtStep::Index(index) => Some(Step::Index(index)),
            AtStep::Item(keys, item) => {
                let value = |key: &&str| Some(((*key).into(), Scalar::from_json(item.get(*key)?)?));
                Some(Step::Item(keys.iter().filter_map(value).collect()))
            }
        }
    }
}

impl<'a> fmt::Display for At<'a> {
    /// As the path is printed, without making it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(around) = self.around {
            around.fmt(f)?;
        }
        match self.step {
            AtStep::Root => Ok(()),
            AtStep::Field(name) => print::field(f, name, self.depth == 1),
            AtStep::Index(index) => write!(f, "[{index}]"),
            AtStep::Item(keys, item) => {
                let value = |key: &&'a str| Some((*key, Shown::from_json(item.get(*key)?)?));
                print::item(f, keys.iter().filter_map(value))
            }
        }
    }
}

impl From<At<'_>> for FieldPath {
    fn from(at: At<'_>) -> Self {
        at.path()
    }
}

impl From<&FieldPath> for FieldPath {
    fn from(path: &FieldPath) -> Self {
        path.clone()
    }
}
