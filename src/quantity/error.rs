//! What is wrong with a text that is no quantity.

use std::fmt;

use super::suffix::meant_by;
use super::{MAX_EXPONENT, MAX_LENGTH};

/// Why something is no quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuantityError {
    /// Not text, nor a number.
    #[error("a quantity is text or a number, not {0}")]
    Type(&'static str),
    /// No text at all.
    #[error("a quantity must not be empty")]
    Empty,
    /// More than [`MAX_LENGTH`] bytes.
    #[error("a quantity has at most {MAX_LENGTH} bytes, not {0}")]
    TooLong(usize),
    /// No digits where a number should be.
    #[error("quantity `{0}` does not start with a number")]
    Number(Excerpt),
    /// What follows the number is nothing that a quantity can end in.
    #[error("quantity `{text}` has an unknown suffix `{suffix}`{hint}")]
    Suffix {
        /// The whole text.
        text: Excerpt,
        /// What follows the number.
        suffix: Excerpt,
        /// What may have been meant.
        hint: Hint,
    },
    /// An exponent that is not a whole number: `1e1.5`.
    #[error("the exponent of quantity `{0}` is not a whole number")]
    Exponent(Excerpt),
    /// An exponent beyond [`MAX_EXPONENT`].
    #[error("quantity `{0}` has an exponent beyond {MAX_EXPONENT}")]
    ExponentTooLarge(Excerpt),
}

/// The beginning of a text, for a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt(Box<str>);

impl Excerpt {
    pub(super) fn new(text: &str) -> Excerpt {
        const LONGEST: usize = 40; // characters
        match text.char_indices().nth(LONGEST) {
            Some((end, _)) => Excerpt(format!("{}…", text.get(..end).unwrap_or_default()).into()),
            None => Excerpt(text.into()),
        }
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A suffix that may have been meant, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint(Option<&'static str>);

impl Hint {
    pub(super) fn new(wrong: &str) -> Hint {
        Hint(meant_by(wrong))
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(suffix) => write!(f, "; did you mean `{suffix}`?"),
            None => Ok(()),
        }
    }
}
