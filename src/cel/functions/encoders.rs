//! Texts for other formats: base64, keys in JSON Patch, hashes.

use super::{
    Function, Library, Overload,
    call::{Arguments, Cost, Size, Work, invalid},
};
use crate::cel::{error::Error, value::Val};
use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use sha2::{Digest, Sha256};

type Result<T> = std::result::Result<T, Error>;

pub(super) const FUNCTIONS: &[Function] = &[
    Function {
        name: "base64.encode",
        library: Library::Encoders,
        doc: "The bytes in base64, padded.",
        errors: "",
        overloads: &[Overload {
            signature: "base64.encode(bytes) -> string",
            run: encode,
            cost: Cost::new(Work::Read, Size::Sum),
        }],
    },
    Function {
        name: "base64.decode",
        library: Library::Encoders,
        doc: "The bytes that the text says in base64, padded or not.",
        errors: "when the text is no base64",
        overloads: &[Overload { signature: "base64.decode(string) -> bytes", run: decode, cost: Cost::COPY }],
    },
    Function {
        name: "jsonpatch.escapeKey",
        library: Library::JsonPatch,
        doc: "The key as it stands in a path of JSON Patch: `~` as `~0`, `/` as `~1`.",
        errors: "",
        overloads: &[Overload {
            signature: "jsonpatch.escapeKey(string) -> string",
            run: escape_key,
            cost: Cost::new(Work::Read, Size::Sum),
        }],
    },
    Function {
        name: "hash.sha256",
        library: Library::Hash,
        doc: "The SHA-256 of the bytes, or of the UTF-8 of the text: 64 hexadecimal digits in lower case.",
        errors: "",
        overloads: &[
            Overload { signature: "hash.sha256(string) -> string", run: sha256, cost: HASH },
            Overload { signature: "hash.sha256(bytes) -> string", run: sha256, cost: HASH },
        ],
    },
];

const HASH: Cost = Cost::new(Work::Read, Size::AtMost(64));

/// Standard base64, as lenient as Go: padding may be missing, unused bits may be set.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

fn encode<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let bytes = a.bytes(0)?;
    a.budget.create(bytes.len().div_ceil(3) * 4)?;
    Ok(Val::text(BASE64.encode(bytes)))
}

fn decode<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let text = a.str(0)?;
    a.budget.create(text.len())?;
    let text: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    let bytes = BASE64.decode(text).map_err(|error| invalid(0, format!("this is no base64: {error}")))?;
    Ok(Val::Bytes(bytes.into()))
}

fn escape_key<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let text = a.str(0)?.replace('~', "~0").replace('/', "~1");
    a.make_text(text)
}

fn sha256<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let digest = match a.value(0)? {
        Val::String(text) => Sha256::digest(text.as_bytes()),
        _ => Sha256::digest(a.bytes(0)?),
    };
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    a.make_text(digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect())
}
