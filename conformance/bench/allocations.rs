//! What the library's work allocates, and a table with that and with the times that criterion has written down.
//!
//! A program of its own: counting would make every allocation slower.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark prints, reads what criterion wrote, and stops if its data is wrong"
)]

mod cases;

use allocation_counter::AllocationInfo;
use cases::Measure;
use serde_json::Value;
use std::{env, fs, hint::black_box, path::PathBuf};

struct Allocations {
    /// Only cases whose name has this in it.
    filter: String,
}

impl Measure for Allocations {
    fn case<T>(&mut self, name: &str, mut run: impl FnMut() -> T) {
        if !name.contains(&self.filter) {
            return;
        }
        drop(black_box(run())); // what is made once and kept does not count
        let found = allocation_counter::measure(|| drop(black_box(run())));
        let AllocationInfo { count_total, bytes_total, bytes_max, .. } = found;
        let time = measured(name).map_or("not measured".to_owned(), duration);
        println!("{name:44} {time:>12} {count_total:>12} {bytes_total:>12} {bytes_max:>12}");
    }
}

fn main() {
    let filter = env::args().skip(1).find(|arg| !arg.starts_with('-')).unwrap_or_default();
    println!("{:44} {:>12} {:>12} {:>12} {:>12}", "", "time", "allocations", "bytes", "peak bytes");
    cases::run(&mut Allocations { filter });
}

/// The median that criterion has written down, in nanoseconds.
fn measured(name: &str) -> Option<f64> {
    let target = env::current_exe().ok()?.ancestors().nth(3).map(PathBuf::from)?;
    let estimates = target.join("criterion").join(folder(name)).join("new/estimates.json");
    let estimates: Value = serde_json::from_str(&fs::read_to_string(estimates).ok()?).ok()?;
    estimates.pointer("/median/point_estimate")?.as_f64()
}

/// As criterion names the folder of a case.
fn folder(name: &str) -> String {
    name.chars().map(|char| if "?\"/\\*<>:|^".contains(char) { '_' } else { char }).collect()
}

fn duration(nanoseconds: f64) -> String {
    match nanoseconds {
        _ if nanoseconds < 1e3 => format!("{nanoseconds:.0} ns"),
        _ if nanoseconds < 1e6 => format!("{:.2} µs", nanoseconds / 1e3),
        _ => format!("{:.2} ms", nanoseconds / 1e6),
    }
}
