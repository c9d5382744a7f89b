//! Keys, made of random bytes that the caller brings: the same bytes give the same key.

use super::{
    call::{Arguments, Cost, Size, Work, invalid},
    library,
};
use crate::cel::{
    error::{Error, ErrorKind},
    value::{Key, Map, Str, Val},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use p521::elliptic_curve::{pkcs8::LineEnding, sec1::ToSec1Point};
use sha2::{Digest, Sha256};
use std::{fmt::Write, sync::Arc};
use x25519_dalek::{PublicKey, StaticSecret};

type Result<T> = std::result::Result<T, Error>;

/// Fewer random bytes make keys that can be guessed.
const LEAST: usize = 32;
/// Making a key takes about as long as so many steps.
const MAKE: Cost = Cost::new(Work::Steps(10_000), Size::AtMost(2));

library! {
    Keys;
    "keys.ecdsaP521": "A key pair for SSH made of at least 32 random bytes: `private` is an ECDSA key on the curve P-521 in PEM (`EC PRIVATE KEY`), `public` the line of an authorized_keys file.",
        "when there are too few bytes" {
        "keys.ecdsaP521(bytes) -> map(string, string)" => ecdsa_p521, MAKE;
    }
    "keys.curve25519": "A key pair for CURVE, the encryption of ZeroMQ, made of at least 32 random bytes: `private` and `public` are 40 characters of Z85 each.",
        "when there are too few bytes" {
        "keys.curve25519(bytes) -> map(string, string)" => curve25519, MAKE;
    }
}

/// The random bytes of a call.
fn seed(a: &Arguments<'_, '_>) -> Result<Arc<[u8]>> {
    let seed = a.bytes(0)?;
    if seed.len() < LEAST {
        let message = format!("a key needs {LEAST} random bytes, these are {}", seed.len());
        return Err(Error::new(ErrorKind::InvalidArgument, message).in_argument(0));
    }
    Ok(seed)
}

/// 32 bytes that follow from the seed, others for each purpose and number.
fn derive(seed: &[u8], purpose: &str, number: u64) -> [u8; 32] {
    let hash = Sha256::new().chain_update(purpose).chain_update(number.to_be_bytes());
    hash.chain_update(seed).finalize().into()
}

fn ecdsa_p521<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let secret = p521_secret(&seed(a)?).ok_or_else(|| invalid(0, "no key follows from these bytes"))?;
    let private = secret.to_sec1_pem(LineEnding::LF).map_err(|error| invalid(0, error.to_string()))?;
    let point = secret.public_key().to_sec1_point(false);
    pair(a, &private, &authorized_key("nistp521", point.as_bytes()))
}

/// The first number below the order of the curve among those that follow from the seed.
fn p521_secret(seed: &[u8]) -> Option<p521::SecretKey> {
    (0..100).step_by(3).find_map(|number| {
        let mut scalar = [0; 66];
        for (part, bytes) in scalar.chunks_mut(32).zip(number..) {
            let random = derive(seed, "ecdsa-p521", bytes);
            part.copy_from_slice(random.get(..part.len())?);
        }
        // 521 bits: one of the first byte.
        *scalar.first_mut()? &= 1;
        p521::SecretKey::from_slice(&scalar).ok()
    })
}

/// The line of an `authorized_keys` file: RFC 5656, section 3.1.
fn authorized_key(curve: &str, point: &[u8]) -> String {
    let algorithm = format!("ecdsa-sha2-{curve}");
    let mut blob = Vec::new();
    for part in [algorithm.as_bytes(), curve.as_bytes(), point] {
        blob.extend(u32::try_from(part.len()).unwrap_or(0).to_be_bytes());
        blob.extend(part);
    }
    format!("{algorithm} {}\n", STANDARD.encode(blob))
}

fn curve25519<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let secret = StaticSecret::from(derive(&seed(a)?, "curve25519", 0));
    let public = PublicKey::from(&secret);
    pair(a, &z85(secret.as_bytes()), &z85(public.as_bytes()))
}

/// Z85 of bytes whose number is a multiple of four: RFC 32 of `ZeroMQ`.
fn z85(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 85] =
        b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
    let mut text = String::new();
    for chunk in bytes.chunks(4) {
        let number = chunk.iter().fold(0, |number: u32, byte| number << 8 | u32::from(*byte));
        for power in [52_200_625, 614_125, 7_225, 85, 1] {
            let digit = DIGITS.get((number / power % 85) as usize).copied().unwrap_or_default();
            // Writing into a string never fails.
            let _ = text.write_char(char::from(digit));
        }
    }
    text
}

fn pair<'a>(a: &mut Arguments<'_, 'a>, private: &str, public: &str) -> Result<Val<'a>> {
    a.budget.create(private.len() + public.len())?;
    let entry = |name: &'static str, text: &str| (Key::String(Str::Borrowed(name)), Val::text(text));
    Map::new([entry("private", private), entry("public", public)].into()).map(Val::Map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z85_is_that_of_the_specification() {
        assert_eq!(z85(&[0x86, 0x4F, 0xD2, 0x6F, 0xB5, 0x59, 0xF7, 0x5B]), "HelloWorld");
    }

    #[test]
    fn an_ssh_key_reads_back_and_its_public_half_fits() {
        let secret = p521_secret(&[7; 32]).unwrap();
        let pem = secret.to_sec1_pem(LineEnding::LF).unwrap();
        assert!(pem.starts_with("-----BEGIN EC PRIVATE KEY-----\n"), "{}", pem.as_str());
        assert_eq!(p521::SecretKey::from_sec1_pem(&pem).unwrap(), secret);
        let line = authorized_key("nistp521", secret.public_key().to_sec1_point(false).as_bytes());
        // 4+19 for the algorithm, 4+8 for the curve, 4 and 133 for the uncompressed point.
        let blob = STANDARD.decode(line.split_whitespace().last().unwrap()).unwrap();
        assert_eq!(blob.len(), 172);
        assert_eq!(blob[39], 4, "an uncompressed point");
    }

    #[test]
    fn other_bytes_are_another_key_and_the_same_the_same() {
        assert_eq!(p521_secret(&[7; 32]), p521_secret(&[7; 32]));
        assert_ne!(p521_secret(&[7; 32]), p521_secret(&[8; 32]));
        assert_ne!(derive(&[7; 32], "ecdsa-p521", 0), derive(&[7; 32], "curve25519", 0));
    }
}
