//! The table of codes. Each has a stable number, a name and a page that says what it means, why it is so, and what to
//! write instead; a test holds that each page's example produces its code.
//!
//! | range | subject |
//! |---|---|
//! | TM00xx | files and YAML |
//! | TM01xx | the form of a policy document |
//! | TM02xx | expressions |
//! | TM03xx | what a policy means: names, targets, writers |
//! | TM04xx | warnings about policies |
//! | TM05xx | objects: manifests, TrainJobs, runtimes |
//! | TM06xx | planning a TrainJob |
//! | TM07xx | cases that policies are tested by |

use std::fmt;

/// A kind of message.
#[derive(Clone, Copy)]
pub struct Code {
    /// `TM` and four digits; never reused.
    pub id: &'static str,
    /// The same in words, for search: `unknown-field`.
    pub name: &'static str,
    /// The page, in Markdown.
    pub page: &'static str,
}

impl Code {
    /// The code with this id, in any case.
    pub fn find(id: &str) -> Option<Code> {
        ALL.iter().copied().find(|code| code.id.eq_ignore_ascii_case(id))
    }
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Code {}

impl PartialOrd for Code {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Code {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.id.cmp(other.id)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

macro_rules! codes {
    ($($constant:ident = $id:literal $name:literal;)*) => {
        $(#[doc = concat!("`", $name, "`: see its page.")]
        pub const $constant: Code = Code { id: $id, name: $name, page: include_str!(concat!("codes/", $id, ".md")) };)*

        /// Every code, in order.
        pub const ALL: &[Code] = &[$($constant),*];
    };
}

codes! {
    UNREADABLE = "TM0001" "unreadable";
    YAML_SYNTAX = "TM0002" "yaml-syntax";
    YAML_DUPLICATE_KEY = "TM0003" "duplicate-key";
    YAML_VALUE = "TM0004" "yaml-value";
    YAML_TOO_LARGE = "TM0005" "yaml-too-large";
    NOT_A_POLICY = "TM0101" "not-a-policy";
    MISSING_FIELD = "TM0102" "missing-field";
    UNKNOWN_FIELD = "TM0103" "unknown-field";
    WRONG_TYPE = "TM0104" "wrong-type";
    UNKNOWN_WORD = "TM0105" "unknown-word";
    BAD_NAME = "TM0106" "bad-name";
    EXCLUSIVE_FIELDS = "TM0107" "exclusive-fields";
    BAD_PARAMETER = "TM0108" "bad-parameter";
    EXPRESSION_SYNTAX = "TM0201" "expression-syntax";
    EXPRESSION_TOO_LARGE = "TM0202" "expression-too-large";
    UNDECLARED_NAME = "TM0203" "undeclared-name";
    UNKNOWN_FUNCTION = "TM0204" "unknown-function";
    NO_SUCH_FIELD = "TM0205" "no-such-field";
    NO_OVERLOAD = "TM0206" "no-overload";
    TYPE_MISMATCH = "TM0207" "type-mismatch";
    MACRO_ARGUMENT = "TM0208" "macro-argument";
    INVALID_LITERAL = "TM0209" "invalid-literal";
    OVER_BUDGET = "TM0210" "over-budget";
    EVALUATION_FAILED = "TM0220" "evaluation-failed";
    BUDGET_SPENT = "TM0221" "budget-spent";
    BAD_VERSION = "TM0301" "bad-version";
    DUPLICATE_NAME = "TM0302" "duplicate-name";
    CYCLE = "TM0303" "cycle";
    WRONG_RESULT = "TM0304" "wrong-result";
    NO_SUCH_PATH = "TM0305" "no-such-path";
    LIST_KEY = "TM0306" "list-key";
    WRONG_OPERATION = "TM0307" "wrong-operation";
    TWO_WRITERS = "TM0308" "two-writers";
    UNKNOWN_RESOURCE = "TM0310" "unknown-resource";
    UNCLOSED_HOLE = "TM0311" "unclosed-hole";
    NULL_VALUE = "TM0312" "null-value";
    TOO_MANY = "TM0313" "too-many";
    FORBIDDEN_FIELD = "TM0314" "forbidden-field";
    UNGUARDED_FIELD = "TM0401" "unguarded-field";
    MAYBE_OVER_BUDGET = "TM0402" "maybe-over-budget";
    UNKNOWN_KIND = "TM0403" "unknown-kind";
    UNUSED_VARIABLE = "TM0404" "unused-variable";
    REFUSED_FIELD = "TM0501" "refused-field";
    DROPPED_FIELD = "TM0502" "dropped-field";
    DUPLICATE_OBJECT = "TM0503" "duplicate-object";
    VALIDATION_FAILED = "TM0601" "validation-failed";
    VALIDATION_WARNING = "TM0602" "validation-warning";
    NO_MATCH = "TM0603" "no-match";
    CONFLICT = "TM0604" "conflict";
    NOT_APPLICABLE = "TM0605" "not-applicable";
    SLOT_TAKEN = "TM0606" "slot-taken";
    BAD_PARAMETER_VALUE = "TM0607" "bad-parameter-value";
    MISSING_OBJECT = "TM0608" "missing-object";
    KIND_NOT_SERVED = "TM0609" "kind-not-served";
    UNSUPPORTED_RUNTIME = "TM0610" "unsupported-runtime";
    FOREIGN_OBJECT = "TM0611" "foreign-object";
    BAD_SNAPSHOT = "TM0612" "bad-snapshot";
    BAD_CASE = "TM0701" "bad-case";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_in_order_and_unique() {
        assert!(ALL.windows(2).all(|pair| pair[0].id < pair[1].id), "{ALL:?}");
        let mut names: Vec<_> = ALL.iter().map(|code| code.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }

    #[test]
    fn each_page_opens_with_its_code_and_name() {
        for code in ALL {
            let title = format!("# {}: {}\n", code.id, code.name.replace('-', " "));
            assert!(code.page.starts_with(&title), "{}.md does not open with {title:?}", code.id);
        }
    }
}
