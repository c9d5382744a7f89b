//! Named formats: what Kubernetes demands of names, labels and some other texts.

use super::{
    call::{Arguments, Cost, Size, Work},
    library,
};
use crate::cel::{
    error::Error,
    value::{List, Url, Val},
};
use jiff::civil::Date;
use std::fmt;

type Result<T> = std::result::Result<T, Error>;

/// A format that a text can have.
pub struct NamedFormat {
    /// As `format.named("…")` takes it.
    pub name: &'static str,
    /// What is wrong with a text; nothing if it has the format.
    problems: fn(&str) -> Vec<String>,
}

impl fmt::Debug for NamedFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

static DNS1123_LABEL: NamedFormat = NamedFormat { name: "dns1123Label", problems: dns1123_label };
static DNS1123_LABEL_PREFIX: NamedFormat =
    NamedFormat { name: "dns1123LabelPrefix", problems: |text| dns1123_label(&ended(text)) };
static DNS1123_SUBDOMAIN: NamedFormat = NamedFormat { name: "dns1123Subdomain", problems: dns1123_subdomain };
static DNS1123_SUBDOMAIN_PREFIX: NamedFormat =
    NamedFormat { name: "dns1123SubdomainPrefix", problems: |text| dns1123_subdomain(&ended(text)) };
static DNS1035_LABEL: NamedFormat = NamedFormat { name: "dns1035Label", problems: dns1035_label };
static DNS1035_LABEL_PREFIX: NamedFormat =
    NamedFormat { name: "dns1035LabelPrefix", problems: |text| dns1035_label(&ended(text)) };
static QUALIFIED_NAME: NamedFormat = NamedFormat { name: "qualifiedName", problems: qualified_name };
static LABEL_VALUE: NamedFormat = NamedFormat { name: "labelValue", problems: label_value };
static URI: NamedFormat = NamedFormat { name: "uri", problems: uri };
static UUID: NamedFormat = NamedFormat { name: "uuid", problems: uuid };
static BYTE: NamedFormat = NamedFormat { name: "byte", problems: byte };
static DATE: NamedFormat = NamedFormat { name: "date", problems: date };
static DATETIME: NamedFormat = NamedFormat { name: "datetime", problems: datetime };

static FORMATS: [&NamedFormat; 13] = [
    &DNS1123_LABEL,
    &DNS1123_LABEL_PREFIX,
    &DNS1123_SUBDOMAIN,
    &DNS1123_SUBDOMAIN_PREFIX,
    &DNS1035_LABEL,
    &DNS1035_LABEL_PREFIX,
    &QUALIFIED_NAME,
    &LABEL_VALUE,
    &URI,
    &UUID,
    &BYTE,
    &DATE,
    &DATETIME,
];

library! {
    Format;
    "format.named": "The format of that name, as in `dns1123Label`; absent if there is none.", "" {
        "format.named(string) -> optional(format)" => find, Cost::READ;
    }
    "format.dns1123Label": "Lower-case letters, digits and `-`, at most 63, with a letter or digit at both ends.", "" {
        "format.dns1123Label() -> format" => |_| Ok(Val::Format(&DNS1123_LABEL)), Cost::FLAT;
    }
    "format.dns1123LabelPrefix": "The beginning of a DNS-1123 label, which may end in `-`.", "" {
        "format.dns1123LabelPrefix() -> format" => |_| Ok(Val::Format(&DNS1123_LABEL_PREFIX)), Cost::FLAT;
    }
    "format.dns1123Subdomain": "DNS-1123 labels with dots between them, at most 253 characters.", "" {
        "format.dns1123Subdomain() -> format" => |_| Ok(Val::Format(&DNS1123_SUBDOMAIN)), Cost::FLAT;
    }
    "format.dns1123SubdomainPrefix": "The beginning of a DNS-1123 subdomain, which may end in `-`.", "" {
        "format.dns1123SubdomainPrefix() -> format" => |_| Ok(Val::Format(&DNS1123_SUBDOMAIN_PREFIX)), Cost::FLAT;
    }
    "format.dns1035Label": "A DNS-1123 label that begins with a letter.", "" {
        "format.dns1035Label() -> format" => |_| Ok(Val::Format(&DNS1035_LABEL)), Cost::FLAT;
    }
    "format.dns1035LabelPrefix": "The beginning of a DNS-1035 label, which may end in `-`.", "" {
        "format.dns1035LabelPrefix() -> format" => |_| Ok(Val::Format(&DNS1035_LABEL_PREFIX)), Cost::FLAT;
    }
    "format.qualifiedName": "The key of a label: a name, with or without a DNS-1123 subdomain and `/` before it.", "" {
        "format.qualifiedName() -> format" => |_| Ok(Val::Format(&QUALIFIED_NAME)), Cost::FLAT;
    }
    "format.labelValue": "The value of a label: empty, or letters, digits, `-`, `_` and `.`, at most 63, with a letter or digit at both ends.", "" {
        "format.labelValue() -> format" => |_| Ok(Val::Format(&LABEL_VALUE)), Cost::FLAT;
    }
    "format.uri": "A URL that `isURL` accepts.", "" {
        "format.uri() -> format" => |_| Ok(Val::Format(&URI)), Cost::FLAT;
    }
    "format.uuid": "32 hexadecimal digits, with or without hyphens between the groups.", "" {
        "format.uuid() -> format" => |_| Ok(Val::Format(&UUID)), Cost::FLAT;
    }
    "format.byte": "Base64 with padding, not empty.", "" {
        "format.byte() -> format" => |_| Ok(Val::Format(&BYTE)), Cost::FLAT;
    }
    "format.date": "A date, as in `2026-01-31`.", "" {
        "format.date() -> format" => |_| Ok(Val::Format(&DATE)), Cost::FLAT;
    }
    "format.datetime": "A date with a time of day and an offset, as in `2026-01-31T12:00:00Z`.", "" {
        "format.datetime() -> format" => |_| Ok(Val::Format(&DATETIME)), Cost::FLAT;
    }
    "validate": "What is wrong with the text, as a list of sentences; absent if it has the format.", "" {
        "format.validate(string) -> optional(list(string))" => validate, Cost::new(Work::Read, Size::AtMost(4));
    }
}

fn find<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let name = a.str(0)?;
    match FORMATS.iter().find(|format| format.name == name) {
        Some(format) => Val::present(Val::Format(format)),
        None => Ok(Val::Optional(None)),
    }
}

fn validate<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let problems = (a.format(0)?.problems)(a.str(1)?);
    if problems.is_empty() {
        return Ok(Val::Optional(None));
    }
    a.budget.create(problems.iter().map(String::len).sum())?;
    let problems = List::new(problems.into_iter().map(Val::text).collect())?;
    Val::present(Val::List(problems))
}

// The problems, in words.

fn when(wrong: bool, message: impl Into<String>) -> Option<String> {
    wrong.then(|| message.into())
}

fn too_long(text: &str, most: usize) -> Option<String> {
    when(text.len() > most, format!("has more than {most} characters"))
}

/// A prefix as it is judged: Kubernetes puts a letter in the place of a hyphen at the end and of what stands before.
fn ended(text: &str) -> String {
    match text.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let mut rest = rest.to_owned();
            rest.pop();
            rest.push('a');
            rest
        }
        _ => text.to_owned(),
    }
}

/// Whether `text` is not empty, consists of `allowed` bytes, and has letters or digits at both ends.
fn is_name(text: &str, allowed: impl Fn(u8) -> bool) -> bool {
    let end = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() && allowed(byte));
    end(text.bytes().next()) && end(text.bytes().next_back()) && text.bytes().all(allowed)
}

fn is_label(text: &str) -> bool {
    is_name(text, |byte| byte == b'-' || byte.is_ascii_digit() || byte.is_ascii_lowercase())
}

const LABEL: &str =
    "must consist of lower-case letters, digits and `-`, and begin and end with a letter or digit";

fn dns1123_label(text: &str) -> Vec<String> {
    [too_long(text, 63), when(!is_label(text), LABEL)].into_iter().flatten().collect()
}

fn dns1035_label(text: &str) -> Vec<String> {
    let letter = text.starts_with(|c: char| c.is_ascii_lowercase());
    let problem = when(!(letter && is_label(text)), format!("{LABEL}, and begin with a letter"));
    [too_long(text, 63), problem].into_iter().flatten().collect()
}

fn dns1123_subdomain(text: &str) -> Vec<String> {
    let problem = when(!text.split('.').all(is_label), format!("each part between dots {LABEL}"));
    [too_long(text, 253), problem].into_iter().flatten().collect()
}

fn is_word(text: &str) -> bool {
    is_name(text, |byte| b"-_.".contains(&byte) || byte.is_ascii_alphanumeric())
}

const WORD: &str =
    "must consist of letters, digits, `-`, `_` and `.`, and begin and end with a letter or digit";

fn label_value(text: &str) -> Vec<String> {
    [too_long(text, 63), when(!(text.is_empty() || is_word(text)), WORD)].into_iter().flatten().collect()
}

fn qualified_name(text: &str) -> Vec<String> {
    let (prefix, name) = match text.split('/').collect::<Vec<_>>().as_slice() {
        [name] => (None, *name),
        [prefix, name] => (Some(*prefix), *name),
        _ => return vec!["must be a name, or a domain, one `/` and a name".into()],
    };
    let mut problems: Vec<String> = match prefix {
        Some("") => vec!["the part before the `/` must not be empty".into()],
        Some(prefix) => dns1123_subdomain(prefix),
        None => Vec::new(),
    };
    problems.extend(when(name.is_empty(), "the name must not be empty"));
    problems.extend(too_long(name, 63));
    problems.extend(when(!is_word(name), format!("the name {WORD}")));
    problems
}

fn uri(text: &str) -> Vec<String> {
    Url::parse(text).err().map(|error| error.message().to_owned()).into_iter().collect()
}

fn uuid(text: &str) -> Vec<String> {
    let mut rest = text;
    let groups = [8, 4, 4, 4, 12].iter().all(|length| match rest.split_at_checked(*length) {
        Some((group, after)) => {
            rest = after.strip_prefix('-').filter(|after| !after.is_empty()).unwrap_or(after);
            group.bytes().all(|byte| byte.is_ascii_hexdigit())
        }
        None => false,
    });
    when(!(groups && rest.is_empty()), "is no UUID").into_iter().collect()
}

fn byte(text: &str) -> Vec<String> {
    let padding = text.len() - text.trim_end_matches('=').len();
    let digits =
        text.trim_end_matches('=').bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte));
    let valid = !text.is_empty() && text.len().is_multiple_of(4) && padding <= 2 && digits;
    when(!valid, "is no base64").into_iter().collect()
}

fn is_date(text: &str) -> bool {
    let shape = text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    shape && text.parse::<Date>().is_ok()
}

fn date(text: &str) -> Vec<String> {
    when(!is_date(text), "is no date such as 2026-01-31").into_iter().collect()
}

fn datetime(text: &str) -> Vec<String> {
    let text = text.to_ascii_lowercase();
    let valid = text.split_once('t').is_some_and(|(date, time)| is_date(date) && is_time(time));
    when(!valid, "is no time such as 2026-01-31T12:00:00Z").into_iter().collect()
}

/// Hours, minutes, seconds, perhaps a fraction, and `z` or an offset.
fn is_time(text: &str) -> bool {
    let number = |text: Option<&str>, most: u8| {
        let text = text.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        text.and_then(|text| text.parse::<u8>().ok()).is_some_and(|number| number <= most)
    };
    let separators = text.get(2..3) == Some(":") && text.get(5..6) == Some(":");
    let clock = number(text.get(0..2), 23) && number(text.get(3..5), 59) && number(text.get(6..8), 59);
    let rest = text.get(8..).unwrap_or_default();
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            if zone.len() == fraction.len() { "" } else { zone }
        }
        None => rest,
    };
    let offset = rest.strip_prefix(['+', '-']).and_then(|offset| offset.split_once(':'));
    let offset = offset.is_some_and(|(hours, minutes)| {
        [hours, minutes].iter().all(|part| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit()))
    });
    separators && clock && (rest == "z" || offset)
}
