//! The webhook configurations, whose `caBundle` says whom the API server trusts.

use super::{FIELD_MANAGER, authorities::Authorities, identity::Identity};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use futures::{StreamExt as _, TryStreamExt as _, stream::BoxStream};
use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use kube::{
    Api, Client, Resource,
    api::{Patch, PatchParams},
    core::ObjectMeta,
    runtime::watcher::{self, watch_object},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Validating,
    Mutating,
}

impl Kind {
    /// The configuration's name: upstream's, compiled in there too.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Validating => "validator.trainer.kubeflow.org",
            Kind::Mutating => "defaulter.trainer.kubeflow.org",
        }
    }
}

/// A configuration, as far as it matters here: whom each of its webhooks trusts.
#[derive(Clone, Debug)]
pub(super) struct Configuration {
    kind: Kind,
    version: String,
    trusted: Vec<Option<Authorities>>,
}

impl Configuration {
    fn new<'a>(
        kind: Kind,
        metadata: &ObjectMeta,
        clients: impl Iterator<Item = &'a WebhookClientConfig>,
    ) -> Configuration {
        let trusted =
            clients.map(|it| it.ca_bundle.as_ref().map(|bundle| Authorities::read(&bundle.0))).collect();
        Configuration { kind, version: metadata.resource_version.clone().unwrap_or_default(), trusted }
    }

    /// Whether the API server takes `identity` for the server `name`. Without a bundle it asks its machine whom to trust,
    /// of which nothing is known here: `otherwise`.
    pub(super) fn takes(&self, identity: &Identity, name: &str, at: Timestamp, otherwise: bool) -> bool {
        self.trusted.iter().all(|trusted| match trusted {
            None => otherwise,
            Some(trusted) => identity.check(trusted, name, at).is_ok(),
        })
    }

    /// Has every webhook trust all of `wanted` and nobody else, unless each trusts them all. Whoever has changed the
    /// configuration meanwhile is not overwritten: news of it brings us back here.
    pub(super) async fn trust(&self, client: &Client, wanted: &Authorities) -> Result<(), kube::Error> {
        let lacks = |it: &Option<Authorities>| !it.as_ref().is_some_and(|trusted| trusted.have_all(wanted));
        let bundle = STANDARD.encode(wanted.to_string());
        let all = self.trusted.iter().enumerate().filter(|(_, trusted)| lacks(trusted));
        let mut patch: Vec<_> = all
            .map(|(index, _)| json!({ "op": "add", "path": format!("/webhooks/{index}/clientConfig/caBundle"), "value": bundle }))
            .collect();
        if patch.is_empty() {
            return Ok(());
        }
        patch.insert(
            0,
            json!({ "op": "replace", "path": "/metadata/resourceVersion", "value": self.version }),
        );
        let name = self.kind.name();
        let patched = match self.kind {
            Kind::Validating => patched::<ValidatingWebhookConfiguration>(client, name, &patch).await,
            Kind::Mutating => patched::<MutatingWebhookConfiguration>(client, name, &patch).await,
        };
        match patched {
            Ok(()) => tracing::info!(configuration = name, "the webhooks trust our certificate"),
            Err(kube::Error::Api(status)) if status.is_conflict() || status.is_not_found() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Changes a configuration by JSON Patch.
async fn patched<K>(client: &Client, name: &str, patch: &[Value]) -> Result<(), kube::Error>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
{
    let patch = serde_json::from_value(json!(patch)).map_err(kube::Error::SerdeError)?;
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    Api::<K>::all(client.clone()).patch_metadata(name, &params, &Patch::<()>::Json(patch)).await.map(drop)
}

/// The configuration as it is, again whenever it changes; none while there is none.
pub(super) fn follow(
    client: &Client,
    kind: Kind,
) -> BoxStream<'static, Result<Option<Configuration>, watcher::Error>> {
    match kind {
        Kind::Validating => {
            let api: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
            let configuration = move |it: ValidatingWebhookConfiguration| {
                let webhooks = it.webhooks.iter().flatten();
                Configuration::new(kind, &it.metadata, webhooks.map(|webhook| &webhook.client_config))
            };
            watch_object(api, kind.name()).map_ok(move |it| it.map(configuration)).boxed()
        }
        Kind::Mutating => {
            let api: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
            let configuration = move |it: MutatingWebhookConfiguration| {
                let webhooks = it.webhooks.iter().flatten();
                Configuration::new(kind, &it.metadata, webhooks.map(|webhook| &webhook.client_config))
            };
            watch_object(api, kind.name()).map_ok(move |it| it.map(configuration)).boxed()
        }
    }
}
