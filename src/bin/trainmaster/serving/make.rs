//! A certificate for a server, with an authority of its own.

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, Error, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use time::OffsetDateTime;

/// Upstream's names of an authority and its organisation.
const AUTHORITY: &str = "kubeflow-trainer-ca";
const ORGANISATION: &str = "kubeflow-trainer";
/// How long both are good: a year, as upstream has it.
pub(super) const LIFETIME: SignedDuration = SignedDuration::from_hours(365 * 24);
/// How far clocks may differ.
const BACKDATED: SignedDuration = SignedDuration::from_hours(1);

/// A certificate, its key, and the authority that has signed it and can sign nothing else: all PEM.
pub(super) struct Made {
    pub(super) certificate: String,
    pub(super) key: String,
    pub(super) authority: String,
}

/// Makes a certificate for the server `name` that is good from `now` for `lifetime`.
pub(super) fn make(name: &str, now: Timestamp, lifetime: SignedDuration) -> Result<Made, Error> {
    let mut params = CertificateParams::new([AUTHORITY.to_owned()])?;
    describe(&mut params, AUTHORITY, now, lifetime);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;

    let mut params = CertificateParams::new([name.to_owned()])?;
    // A common name has at most 64 characters; who matters is the alternative name.
    describe(&mut params, ORGANISATION, now, lifetime);
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, &authority)?.pem();
    Ok(Made { certificate, key: key.serialize_pem(), authority: authority.pem() })
}

fn describe(params: &mut CertificateParams, name: &str, now: Timestamp, lifetime: SignedDuration) {
    params.distinguished_name.push(DnType::CommonName, name);
    params.distinguished_name.push(DnType::OrganizationName, ORGANISATION);
    let moment = |shift: SignedDuration| {
        let seconds = now.as_second().saturating_add(shift.as_secs());
        OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH)
    };
    params.not_before = moment(-BACKDATED);
    params.not_after = moment(lifetime);
}

#[cfg(test)]
mod tests {
    use super::super::{authorities::Authorities, identity::Identity};
    use super::*;

    #[test]
    fn what_is_made_is_taken_by_clients_of_its_authority_only_for_its_name_and_time() {
        let now: Timestamp = "2030-01-01T00:00:00Z".parse().unwrap();
        let made = || {
            let made = make("a.b.svc", now, LIFETIME).unwrap();
            Identity::read(made.certificate.as_bytes(), made.key.as_bytes(), made.authority.as_bytes())
                .unwrap()
        };
        let (one, other) = (made(), made());
        let check = |authorities: &Authorities, name, at: Timestamp| one.check(authorities, name, at);
        let later = now + LIFETIME;
        assert_eq!(one.ends(), Some(later));
        check(&one.authorities, "a.b.svc", now).unwrap();
        check(&other.authorities.clone().and(&one.authorities), "a.b.svc", later).unwrap();
        assert!(check(&one.authorities, "a.c.svc", now).is_err());
        assert!(check(&other.authorities, "a.b.svc", now).is_err());
        assert!(check(&Authorities::default(), "a.b.svc", now).is_err());
        let second = SignedDuration::from_secs(1);
        assert!(check(&one.authorities, "a.b.svc", later + second).is_err());
        assert!(check(&one.authorities, "a.b.svc", now - BACKDATED - second).is_err());
    }

    #[test]
    fn a_certificate_that_a_client_trusts_itself_is_taken_in_its_time() {
        let now: Timestamp = "2030-01-01T00:00:00Z".parse().unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(["a.b.svc".to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        describe(&mut params, "own", now, LIFETIME);
        let pem = params.self_signed(&key).unwrap().pem();
        let own = Identity::read(pem.as_bytes(), key.serialize_pem().as_bytes(), pem.as_bytes()).unwrap();
        own.check(&own.authorities, "a.b.svc", now).unwrap();
        assert!(own.check(&own.authorities, "b.svc", now).is_err());
        assert!(own.check(&own.authorities, "a.b.svc", now + LIFETIME + LIFETIME).is_err());
    }

    #[test]
    fn a_bundle_is_read_as_it_is_written_and_what_is_no_certificate_is_passed_over() {
        let now = Timestamp::UNIX_EPOCH + LIFETIME;
        let made = || make("a.b.svc", now, LIFETIME).unwrap();
        let (one, other) = (made(), made());
        let text = format!("# one\n{}junk\n{}{}", one.authority, other.authority, one.authority);
        let read = Authorities::read(text.as_bytes());
        assert_eq!(read.to_string(), format!("{}{}", one.authority, other.authority).replace("\r\n", "\n"));
        assert_eq!(read.only_good(now, 1).to_string(), one.authority.replace("\r\n", "\n"));
        assert_eq!(read.only_good(now + LIFETIME + LIFETIME, 2), Authorities::default());
        assert_eq!(Authorities::read(b"-----BEGIN CERTIFICATE-----\nx\n"), Authorities::default());
    }

    #[test]
    fn a_key_of_another_certificate_does_not_serve() {
        let now = Timestamp::UNIX_EPOCH;
        let (one, other) = (make("a", now, LIFETIME).unwrap(), make("a", now, LIFETIME).unwrap());
        for (certificate, key) in [(&*one.certificate, &*other.key), ("", &one.key), (&one.certificate, "")] {
            assert!(Identity::read(certificate.as_bytes(), key.as_bytes(), b"").is_err());
        }
    }
}
