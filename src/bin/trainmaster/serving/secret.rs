//! The Secret that the replicas share a certificate by.

use super::{
    FIELD_MANAGER,
    authorities::Authorities,
    identity::{AUTHORITIES, CERTIFICATE, Error, Identity, KEY},
    make::{self, Made},
};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::{
    Api,
    api::{ObjectMeta, Patch, PatchParams, PostParams},
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// How long before its end a certificate is made anew; upstream's.
const RENEWED_BEFORE: SignedDuration = SignedDuration::from_hours(90 * 24);
/// Authorities of certificates that may still be served somewhere, beside the one that has signed.
const FORMER: usize = 2;

/// The certificate of a Secret.
pub(super) fn read(secret: &Secret) -> Result<Identity, Error> {
    let part = |name: &str| {
        secret.data.as_ref().and_then(|it| it.get(name)).map_or(&[][..], |bytes| bytes.0.as_slice())
    };
    Identity::read(part(CERTIFICATE), part(KEY), part(AUTHORITIES))
}

/// Whether the certificate must be made anew: clients would not take it for `name`, or will not soon.
pub(super) fn is_due(identity: &Identity, name: &str, now: Timestamp) -> bool {
    identity.check(&identity.authorities, name, now + RENEWED_BEFORE).is_err()
}

/// Makes a certificate and stores it in the place of what `before` has. Those that `former` trusts are kept, behind the
/// new authority. None if another replica was first.
pub(super) async fn renew(
    secrets: &Api<Secret>,
    before: Option<&Secret>,
    (secret, name): (&str, &str),
    former: &Authorities,
    now: Timestamp,
) -> Result<Option<Secret>, super::keep::Error> {
    let made = make::make(name, now, make::LIFETIME)?;
    let former = former.only_good(now, FORMER);
    let manager = Some(FIELD_MANAGER.to_owned());
    let stored = match before {
        None => {
            let params = PostParams { field_manager: manager, ..PostParams::default() };
            secrets.create(&params, &fresh(secret, &made, &former)).await
        }
        Some(before) => {
            let params = PatchParams { field_manager: manager, ..PatchParams::default() };
            secrets.patch(secret, &params, &Patch::Merge(change(before, &made, &former))).await
        }
    };
    match stored {
        Ok(stored) => {
            tracing::info!(secret, "made a certificate");
            Ok(Some(stored))
        }
        Err(kube::Error::Api(status))
            if status.is_conflict() || status.is_already_exists() || status.is_not_found() =>
        {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn fresh(name: &str, made: &Made, former: &Authorities) -> Secret {
    Secret {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        data: Some(data(made, former)),
        type_: Some("Opaque".to_owned()),
        ..Secret::default()
    }
}

/// What makes `before` hold the new certificate and nothing else, if it still is as it was.
fn change(before: &Secret, made: &Made, former: &Authorities) -> Value {
    let others = before.data.iter().flatten().map(|(name, _)| (name.clone(), Value::Null));
    let new = data(made, former).into_iter().map(|(name, bytes)| (name, json!(bytes)));
    let data: Map<String, Value> = others.chain(new).collect();
    json!({ "metadata": { "resourceVersion": before.metadata.resource_version }, "data": data })
}

fn data(made: &Made, former: &Authorities) -> BTreeMap<String, ByteString> {
    let authorities = Authorities::read(made.authority.as_bytes()).and(former).to_string();
    let parts = [(AUTHORITIES, &authorities), (CERTIFICATE, &made.certificate), (KEY, &made.key)];
    parts.map(|(name, text)| (name.to_owned(), ByteString(text.clone().into_bytes()))).into()
}
