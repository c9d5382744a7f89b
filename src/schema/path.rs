//! Where a walk through a value is, as Kubernetes writes it: `spec.trainer.env[2].name`, `metadata.labels[a/b]`.

use std::fmt;

/// A place in a value, as the step from the place around it. Costs nothing until it is printed.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    step: Step<'a>,
    around: Option<&'a At<'a>>,
    /// How many steps lead here.
    pub(super) depth: usize,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Field(&'a str),
    Key(&'a str),
    Index(usize),
}

impl<'a> At<'a> {
    pub(super) const ROOT: At<'static> = At { step: Step::Root, around: None, depth: 0 };

    pub(super) fn field(&'a self, name: &'a str) -> At<'a> {
        self.step(Step::Field(name))
    }

    pub(super) fn key(&'a self, key: &'a str) -> At<'a> {
        self.step(Step::Key(key))
    }

    pub(super) fn index(&'a self, index: usize) -> At<'a> {
        self.step(Step::Index(index))
    }

    fn step(&'a self, step: Step<'a>) -> At<'a> {
        At { step, around: Some(self), depth: self.depth + 1 }
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut steps = Vec::with_capacity(self.depth);
        let mut place = Some(self);
        while let Some(at) = place {
            steps.push(at.step);
            place = at.around;
        }
        let mut first = true;
        for step in steps.into_iter().rev() {
            match step {
                Step::Root => continue,
                Step::Field(name) if first => f.write_str(name)?,
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Key(key) => write!(f, "[{key}]")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
            first = false;
        }
        Ok(())
    }
}
