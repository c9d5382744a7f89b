//! Tests on a real control plane: `cargo test --test cluster`.

#[path = "../testbed/mod.rs"]
mod testbed;

use testbed::{ControlPlane, Options};

#[test]
fn starts() {
    let t = std::time::Instant::now();
    let cp = ControlPlane::start(&Options::default()).unwrap();
    std::io::Write::write_all(&mut std::io::stderr(), format!("{:?} {:?}\n", cp, t.elapsed()).as_bytes())
        .unwrap();
    std::thread::sleep(std::time::Duration::from_secs(
        std::env::var("SLEEP").map_or(0, |s| s.parse().unwrap()),
    ));
}
