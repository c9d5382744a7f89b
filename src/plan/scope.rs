//! The values that the expressions of one policy see.
//!
//! [`Fixed`] holds what stays the same while a plan is made, [`Scope`] adds what rules change and what they have
//! selected. Both are lazy: a value is made when an expression asks for it, a variable is evaluated once as long as
//! what it reads stays the same.

use super::draft::Draft;
use crate::{
    cel::{Bindings, Budget, Error, ErrorKind, Val},
    object::ObjectRef,
    policy::{
        compiled::Policy,
        scope::{NAMES, slot},
    },
};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{cell::OnceCell, sync::Arc};

type Result<T> = std::result::Result<T, Error>;

/// What stays the same for one policy: the inputs, and the variables that only read those.
pub(crate) struct Fixed<'p> {
    pub(crate) policy: &'p Policy,
    pub(crate) inputs: Inputs<'p>,
    live: Live<'p>,
    variables: Cells<'p>,
}

/// The values of a policy's variables that have been asked for. Nothing is allocated before the first is.
#[derive(Clone, Default)]
struct Cells<'v>(OnceCell<Box<[Cell<'v>]>>);

type Cell<'v> = OnceCell<Result<Val<'v>>>;

impl<'v> Cells<'v> {
    fn get(
        &self,
        index: usize,
        policy: &Policy,
        evaluate: impl FnOnce() -> Result<Val<'v>>,
    ) -> Result<Val<'v>> {
        let cells = self.0.get_or_init(|| policy.variables.iter().map(|_| OnceCell::new()).collect());
        cells.get(index).map_or_else(|| Err(unbound(index)), |cell| cell.get_or_init(evaluate).clone())
    }
}

/// What is on the cluster, in the order of the policy's resources and references.
#[derive(Default)]
pub(crate) struct Live<'p> {
    /// The values of `live.ID`.
    pub(crate) resources: Vec<Val<'p>>,
    /// The values of `objects.NAME`.
    pub(crate) references: Vec<Val<'p>>,
}

/// The documents that expressions read.
#[derive(Clone, Copy)]
pub(crate) struct Inputs<'p> {
    pub(crate) train_job: &'p Value,
    pub(crate) old_train_job: Option<&'p Value>,
    pub(crate) runtime: &'p Value,
    pub(crate) config: &'p Value,
    pub(crate) params: &'p Value,
    pub(crate) event: Option<&'p Value>,
}

impl<'p> Fixed<'p> {
    pub(crate) fn new(policy: &'p Policy, inputs: Inputs<'p>, live: Live<'p>) -> Self {
        Fixed { policy, inputs, live, variables: Cells::default() }
    }

    /// The value of a slot that does not depend on rules.
    fn input(&self, slot: usize, budget: &mut Budget) -> Result<Val<'p>> {
        let Inputs { train_job, old_train_job, runtime, config, params, event } = self.inputs;
        let Some(after_names) = slot.checked_sub(NAMES.len()) else {
            return Ok(match slot {
                slot::TRAIN_JOB => Val::from_json(train_job),
                slot::OLD_TRAIN_JOB => Val::Optional(old_train_job.map(|old| Arc::new(Val::from_json(old)))),
                slot::RUNTIME => Val::from_json(runtime),
                slot::CONFIG => Val::from_json(config),
                slot::PARAMS => Val::from_json(params),
                slot::EVENT => event.map_or(Val::Null, Val::from_json),
                _ => return Err(unbound(slot)),
            });
        };
        let Some(resource) = after_names.checked_sub(self.policy.variables.len()) else {
            return self.variable(after_names, slot, budget);
        };
        let found = match resource.checked_sub(self.policy.resources.len()) {
            None => self.live.resources.get(resource),
            Some(reference) => self.live.references.get(reference),
        };
        found.cloned().ok_or_else(|| unbound(slot))
    }

    fn variable(&self, index: usize, slot: usize, budget: &mut Budget) -> Result<Val<'p>> {
        let Some(variable) = self.policy.variables.get(index) else { return Err(unbound(slot)) };
        self.variables.get(index, self.policy, || variable.expr.program.eval(self, budget))
    }
}

impl<'p> Bindings<'p> for Fixed<'p> {
    fn get(&self, slot: usize, budget: &mut Budget) -> Result<Val<'p>> {
        self.input(slot, budget)
    }
}

/// The check lets no expression reach a slot that its place does not have.
fn unbound(slot: usize) -> Error {
    Error::new(ErrorKind::Variable, format!("the name in slot {slot} has no value here"))
}

/// The random bytes of one object, computed from those of the plan when an expression asks for them.
#[derive(Clone, Copy)]
pub(crate) struct Random<'s> {
    pub(crate) seed: &'s [u8; 32],
    pub(crate) object: &'s ObjectRef,
}

impl Random<'_> {
    /// No two objects of a plan get the same.
    fn bytes(self) -> [u8; 32] {
        Sha256::new().chain_update(self.seed).chain_update(self.object.to_string()).finalize().into()
    }
}

/// What an expression sees at one moment of a plan.
pub(crate) struct Scope<'s, 'p> {
    pub(crate) fixed: &'s Fixed<'p>,
    /// What rules change; absent where names of it do not exist.
    draft: Option<&'s Draft>,
    /// Whether `template` means the template with its replicated jobs back.
    whole: bool,
    pod_set: Option<&'s Value>,
    container: Option<&'s Value>,
    /// The values of loop variables, outermost first.
    loops: Loops<'s>,
    /// Where fresh random bytes come from, if an object is made.
    random: Option<Random<'s>>,
    /// Variables that read what rules change.
    variables: Cells<'s>,
}

/// The values of loop variables.
#[derive(Clone, Copy)]
enum Loops<'s> {
    Json(&'s [Value]),
    Values(&'s [Val<'s>]),
}

impl<'s, 'p: 's> Scope<'s, 'p> {
    /// Before there is a draft: activation, names, status.
    pub(crate) fn of(fixed: &'s Fixed<'p>) -> Self {
        Scope {
            fixed,
            draft: None,
            whole: false,
            pod_set: None,
            container: None,
            loops: Loops::Json(&[]),
            random: None,
            variables: Cells::default(),
        }
    }

    /// With the draft as it is now.
    pub(crate) fn with_draft(mut self, draft: &'s Draft) -> Self {
        self.draft = Some(draft);
        self
    }

    /// With `template` as a whole.
    pub(crate) fn with_whole(mut self) -> Self {
        self.whole = true;
        self
    }

    /// Within loops.
    pub(crate) fn with_loops(mut self, loops: &'s [Value]) -> Self {
        self.loops = Loops::Json(loops);
        self
    }

    /// The same where what the loops go over stays as it is.
    pub(crate) fn with_values(mut self, loops: &'s [Val<'s>]) -> Self {
        self.loops = Loops::Values(loops);
        self
    }

    /// With fresh random bytes.
    pub(crate) fn with_random(mut self, random: Option<Random<'s>>) -> Self {
        self.random = random;
        self
    }

    /// With what a rule has selected.
    pub(crate) fn select(&self, pod_set: Option<&'s Value>, container: Option<&'s Value>) -> Self {
        let Scope { fixed, draft, whole, loops, random, .. } = *self;
        let variables = self.variables.clone();
        Scope { fixed, draft, whole, pod_set, container, loops, random, variables }
    }

    fn variable(&self, index: usize, slot: usize, budget: &mut Budget) -> Result<Val<'s>> {
        let Some(variable) = self.fixed.policy.variables.get(index) else { return Err(unbound(slot)) };
        if variable.reads_draft && self.draft.is_some() {
            let evaluate = || variable.expr.program.eval(self, budget);
            self.variables.get(index, self.fixed.policy, evaluate)
        } else {
            self.fixed.input(slot, budget)
        }
    }
}

impl<'s, 'p: 's> Bindings<'s> for Scope<'s, 'p> {
    fn get(&self, slot: usize, budget: &mut Budget) -> Result<Val<'s>> {
        let value = |value: Option<&'s Value>| value.map(Val::from_json).ok_or_else(|| unbound(slot));
        match slot {
            slot::TEMPLATE => match self.draft {
                Some(draft) if self.whole => draft.whole(),
                draft => value(draft.map(|draft| &draft.template)),
            },
            slot::POD_SETS => value(self.draft.map(|draft| &draft.pod_sets)),
            slot::POD_SET => value(self.pod_set),
            slot::CONTAINER => value(self.container),
            slot::RANDOM => match self.random {
                Some(random) => Ok(Val::Bytes(random.bytes().as_slice().into())),
                None => Err(Error::new(ErrorKind::Variable, "nothing random was given to this plan")),
            },
            _ => {
                let first_variable = NAMES.len();
                let first_resource = first_variable + self.fixed.policy.variables.len();
                let Policy { resources, references, .. } = self.fixed.policy;
                let first_loop = first_resource + resources.len() + references.len();
                match slot {
                    _ if slot >= first_loop => match self.loops {
                        Loops::Json(values) => value(values.get(slot - first_loop)),
                        Loops::Values(values) => {
                            values.get(slot - first_loop).cloned().ok_or_else(|| unbound(slot))
                        }
                    },
                    _ if (first_variable..first_resource).contains(&slot) => {
                        self.variable(slot - first_variable, slot, budget)
                    }
                    _ => self.fixed.input(slot, budget),
                }
            }
        }
    }
}
