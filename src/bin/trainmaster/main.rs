//! The `trainmaster` command.

fn main() {}
