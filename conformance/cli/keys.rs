//! Keys that a policy makes: never shown unasked, never the same where they are shown.

use crate::command::BINARY;
use std::process::Command;

fn render(flags: &[&str]) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/conformance/cli/secrets");
    let output = Command::new(BINARY)
        .args(["render", "-f", "keys.yaml"])
        .args(flags)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn masked_keys_are_the_same_each_time_and_shown_ones_are_new() {
    let (masked, again) = (render(&[]), render(&[]));
    assert!(masked == again && masked.contains("ssh-privatekey: \"***\""), "{masked}");
    let (shown, another) = (render(&["--show-secrets"]), render(&["--show-secrets"]));
    assert!(!shown.contains("***") && shown != another);
}
