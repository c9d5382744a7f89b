//! How long the library's work takes, by criterion.
//!
//! `make bench` runs all cases; `cargo bench --no-default-features --bench time -- torch` those whose name has that word.

#![allow(clippy::unwrap_used, reason = "a benchmark stops if its data is wrong")]

mod cases;

use cases::Measure;
use criterion::Criterion;
use std::{hint::black_box, time::Duration};

struct Time(Criterion);

impl Measure for Time {
    fn case<T>(&mut self, name: &str, mut run: impl FnMut() -> T) {
        self.0.bench_function(name, |bencher| bencher.iter(|| drop(black_box(run()))));
    }
}

fn main() {
    let criterion = Criterion::default()
        .without_plots()
        .sample_size(40)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    cases::run(&mut Time(criterion));
}
