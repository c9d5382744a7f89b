//! Who may talk to an API server: users with tokens, as its token file and as kubeconfig files.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::json;

/// The user a person or a test is, unless it says otherwise.
pub(crate) const ADMIN: &str = "admin";
/// The group that may do everything.
pub(crate) const MASTERS: &str = "system:masters";

/// A user of the API server, known to the audit log by its name.
#[derive(Clone, Debug)]
pub(crate) struct User {
    pub(crate) name: String,
    /// What RBAC grants, besides to the name: [`MASTERS`], or groups that a test binds to a role.
    pub(crate) groups: Vec<String>,
}

impl User {
    /// A user that may do everything.
    pub(crate) fn master(name: &str) -> Self {
        Self { name: name.to_owned(), groups: vec![MASTERS.to_owned()] }
    }
}

/// Draws a token for each user and writes them as `--token-auth-file` wants them. Returns them in the same order.
pub(crate) fn write_tokens(users: &[User], path: &Path) -> io::Result<Vec<String>> {
    let tokens = users.iter().map(|_| token()).collect::<io::Result<Vec<_>>>()?;
    let lines = users.iter().zip(&tokens).map(|(user, token)| {
        let User { name, groups } = user;
        format!("{token},{name},{name},\"{}\"\n", groups.join(","))
    });
    write_private(path, &lines.collect::<String>())?;
    Ok(tokens)
}

/// Writes a kubeconfig for the user with `token`; `server` and `authority` say where and whom to trust.
pub(crate) fn write_kubeconfig(
    path: &Path,
    server: &str,
    authority: &str,
    user: &str,
    token: &str,
) -> io::Result<()> {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": "testbed",
            "cluster": { "server": server, "certificate-authority-data": STANDARD.encode(authority) },
        }],
        "users": [{ "name": user, "user": { "token": token } }],
        "contexts": [{ "name": "testbed", "context": { "cluster": "testbed", "user": user } }],
        "current-context": "testbed",
    });
    write_private(path, &format!("{config:#}\n"))
}

/// Writes a file that only this user can read.
pub(crate) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    io::Write::write_all(&mut file, text.as_bytes())
}

/// 144 random bits: the server listens where every user of the machine can knock.
fn token() -> io::Result<String> {
    let mut bytes = [0; 18];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
