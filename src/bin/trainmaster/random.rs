//! Randomness: the one place where the process asks the operating system for it.

/// Fresh random bytes for the keys of one plan. Without them, where the system has none, a plan that makes a key fails.
pub(crate) fn fresh() -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).ok().map(|()| bytes)
}
