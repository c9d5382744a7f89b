//! What the fuzz targets share: how inputs are read and how they are changed.
//!
//! Inputs are texts a person can read: YAML, JSON, an expression. Changing single bytes of such a text mostly breaks its
//! form, and what lies behind the parser is never reached. So half of the changes are made to the tree or the tokens that
//! the text stands for ([`trees`], [`tokens`]), the others to bytes.

mod random;
pub mod tokens;
pub mod trees;

use libfuzzer_sys::fuzzer_mutate;
use random::Random;
use serde_json::Value;

/// The JSON documents of an input, one after the other; none if it is no JSON or too deep for `serde_json`.
pub fn documents(input: &[u8]) -> Option<Vec<Value>> {
    serde_json::Deserializer::from_slice(input).into_iter().collect::<Result<_, _>>().ok()
}

/// JSON documents as an input, one in a line.
pub fn lines(documents: &[Value]) -> String {
    documents.iter().map(|document| format!("{document}\n")).collect()
}

/// Changes an input of libFuzzer: its bytes, or what `change` makes of it if it can be read. Returns its new size.
pub fn mutate(
    data: &mut [u8],
    size: usize,
    max_size: usize,
    seed: u32,
    change: impl FnOnce(&[u8], &mut Random) -> Option<String>,
) -> usize {
    let mut random = Random::new(seed);
    if random.chance(50)
        && let Some(input) = data.get(..size)
        && let Some(changed) = change(input, &mut random)
        && changed.len() <= max_size
        && let Some(place) = data.get_mut(..changed.len())
    {
        place.copy_from_slice(changed.as_bytes());
        return changed.len();
    }
    fuzzer_mutate(data, size, max_size)
}
