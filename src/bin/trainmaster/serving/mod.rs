//! What is answered over TLS, and with which certificate.
//!
//! [`keep`] sees to the certificate: it is made here and kept in a Secret that all replicas share, or it is brought in a
//! folder; the webhook configurations are told whom to trust ([`webhooks`]), and only then is it served. [`serve`]
//! answers on a listener by a function that is given for each.
//!
//! A certificate that is made here has an authority of its own, whose key is thrown away: nothing that can be stolen
//! vouches for another. To rotate is to make both anew while the old ones are good for weeks. The new authority is
//! trusted beside the old one before any replica changes over, so a request never meets a certificate that its client
//! does not know.

mod authorities;
mod folder;
mod identity;
mod keep;
mod make;
mod secret;
mod server;
mod tls;
mod webhooks;

pub(crate) use folder::DEFAULT_FOLDER;
pub(crate) use keep::{Keeper, Source, Trust, keep};
pub(crate) use server::{Answer, body, plain, serve};
pub(crate) use tls::{Serving, TlsSettings, acceptor};

/// Who writes the Secret and the configurations, as the API server notes it down.
const FIELD_MANAGER: &str = "trainer";
