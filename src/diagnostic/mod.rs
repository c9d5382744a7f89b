//! One type for every message to a user: what is wrong, where, and what would be right.
//!
//! A [`Diagnostic`] is a value. The parts of the library that find problems return all of them, in source order;
//! [`render`] turns one into text with the source line underlined, or into JSON. What a code means at length stands
//! on its page ([`codes`]). Errors that are not the user's (a broken connection) are no diagnostics: the edges have
//! error enums for those.

pub mod codes;
mod nearest;
pub mod render;
mod source;

pub use codes::Code;
pub use nearest::nearest;
pub use render::Color;
pub use source::{Position, Source, Span};

use std::fmt;

/// How much a diagnostic matters: an error refuses the input, a warning does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The input is refused.
    Error,
    /// The input is accepted, and probably not what its author meant.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        })
    }
}

/// Where the problem is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a text that the user wrote: a policy, a manifest.
    Source(Span),
    /// In an object that the user wrote in a text.
    SourceField {
        /// The field in the text.
        span: Span,
        /// The object, as in `Field`.
        object: String,
        /// The field, as in `Field`.
        path: String,
    },
    /// In an object that has no text at hand, as in admission: `TrainJob ml/bert`, `spec.trainer.env[2].name`.
    Field {
        /// Kind and name of the object, as users write them.
        object: String,
        /// The field, in the notation of Kubernetes' own field errors; empty for the object as a whole.
        path: String,
    },
    /// Nowhere in particular: a missing file, an empty directory.
    Nowhere,
}

/// A second place that explains the first: "the other rule that writes this field".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What is there to see.
    pub text: String,
}

/// What sort of error a field has, as Kubernetes tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// A value that is malformed or out of bounds.
    Invalid,
    /// A value of another type.
    TypeInvalid,
    /// No value where there must be one.
    Required,
    /// A value that stands twice.
    Duplicate,
    /// A value that is none of those that are known.
    NotSupported,
    /// A value that could be right, but not here or not now.
    Forbidden,
    /// Text that is too long.
    TooLong,
    /// A list or map with too many entries.
    TooMany,
}

impl Reason {
    /// The `reason` of a cause in the API server's answer: `FieldValueInvalid`.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Invalid => "FieldValueInvalid",
            Reason::TypeInvalid => "FieldValueTypeInvalid",
            Reason::Required => "FieldValueRequired",
            Reason::Duplicate => "FieldValueDuplicate",
            Reason::NotSupported => "FieldValueNotSupported",
            Reason::Forbidden => "FieldValueForbidden",
            Reason::TooLong => "FieldValueTooLong",
            Reason::TooMany => "FieldValueTooMany",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Invalid | Reason::TypeInvalid => "Invalid value",
            Reason::Required => "Required value",
            Reason::Duplicate => "Duplicate value",
            Reason::NotSupported => "Unsupported value",
            Reason::Forbidden => "Forbidden",
            Reason::TooLong => "Too long",
            Reason::TooMany => "Too many",
        })
    }
}

/// One message to a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What kind of problem it is; each code has a page.
    pub code: Code,
    /// What sort of error the field at `place` has, where the message begins with it.
    pub reason: Option<Reason>,
    /// Error or warning.
    pub severity: Severity,
    /// One sentence, lower case, no full stop, with the offending name in backticks.
    pub message: String,
    /// Where it is.
    pub place: Place,
    /// Further places in texts that belong to it.
    pub labels: Vec<Label>,
    /// What would be right: the nearest valid name, the type that was wanted.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at `place`.
    pub fn error(code: Code, place: impl Into<Place>, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, place.into(), message.into())
    }

    /// A warning at `place`.
    pub fn warning(code: Code, place: impl Into<Place>, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, place.into(), message.into())
    }

    fn new(severity: Severity, code: Code, place: Place, message: String) -> Self {
        Diagnostic { code, reason: None, severity, message, place, labels: Vec::new(), help: None }
    }

    /// The same with the sort of error that its message begins with.
    #[must_use]
    pub fn reason(mut self, reason: Reason) -> Self {
        self.reason = Some(reason);
        self
    }

    /// The same with help.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same with `help` if there is any.
    #[must_use]
    pub fn maybe_help(mut self, help: Option<String>) -> Self {
        self.help = help.or(self.help);
        self
    }

    /// The same with "did you mean …" if one of `names` is near to `wrong`.
    #[must_use]
    pub fn did_you_mean<'a>(self, wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Self {
        match nearest(wrong, names) {
            Some(name) => self.help(format!("did you mean `{name}`?")),
            None => self,
        }
    }

    /// The same with a further place.
    #[must_use]
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// The whole of it in one line: where, what, and what would be right.
    pub fn sentence(&self) -> String {
        let place = match &self.place {
            Place::Source(span) => format!("{span}: "),
            Place::Field { path, .. } | Place::SourceField { path, .. } if !path.is_empty() => {
                format!("{path}: ")
            }
            Place::Field { .. } | Place::SourceField { .. } | Place::Nowhere => String::new(),
        };
        format!("{place}{}", self.told())
    }

    /// The same without where.
    pub fn told(&self) -> String {
        let labels = self.labels.iter().map(|label| format!(" ({}, {})", label.text, label.span));
        let help = self.help.iter().map(|help| format!(" ({help})"));
        format!("{}{}", self.message, labels.chain(help).collect::<String>())
    }

    /// Whether it refuses the input.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Whether any of `diagnostics` refuses the input.
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(Diagnostic::is_error)
}

/// Puts `diagnostics` in the order of the text: by file name, then by position, then by code, and drops repetitions.
pub fn sort(diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)));
    diagnostics.dedup();
}

fn sort_key(diagnostic: &Diagnostic) -> (&str, usize, Code, &str) {
    let (file, start) = diagnostic.place.span().map_or(("", 0), |span| (span.source().name(), span.start()));
    (file, start, diagnostic.code, &diagnostic.message)
}

impl Place {
    /// The place in a text, if it is in one.
    pub fn span(&self) -> Option<&Span> {
        match self {
            Place::Source(span) | Place::SourceField { span, .. } => Some(span),
            Place::Field { .. } | Place::Nowhere => None,
        }
    }
}

impl From<Span> for Place {
    fn from(span: Span) -> Self {
        Place::Source(span)
    }
}
