//! What is measured.

mod documents;
mod expressions;
mod plans;
mod trees;

/// What is done with a case.
pub(crate) trait Measure {
    /// Measures `run`. What it gives is dropped within what is measured, as it is in real use.
    fn case<T>(&mut self, name: &str, run: impl FnMut() -> T);
}

/// Measures the cases, one after the other.
pub(crate) fn run(measure: &mut impl Measure) {
    plans::run(measure);
    expressions::run(measure);
    trees::run(measure);
}
