//! `string.format(list)`: the verbs of a format and the text of any value.

use super::call::{Arguments, invalid};
use crate::cel::{
    budget::Budget,
    error::{Error, ErrorKind},
    types::Type,
    value::{List, Map, Str, Val, walk},
};

type Result<T> = std::result::Result<T, Error>;

/// Most decimals that a verb may ask for.
const MAX_PRECISION: usize = 1_000;

/// One verb of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cel) struct Verb {
    pub(in crate::cel) letter: char,
    precision: usize,
}

/// A piece of a format.
pub(in crate::cel) enum Piece<'f> {
    Text(&'f str),
    Verb(Verb),
}

/// The pieces of a format in order, or what is wrong with it.
pub(in crate::cel) fn pieces(format: &str) -> std::result::Result<Vec<Piece<'_>>, String> {
    let mut pieces = Vec::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        let (text, verb) = rest.split_at(at);
        pieces.push(Piece::Text(text));
        let verb = verb.get(1..).unwrap_or_default();
        if let Some(after) = verb.strip_prefix('%') {
            pieces.push(Piece::Text("%"));
            rest = after;
            continue;
        }
        let (verb, after) = parse_verb(verb)?;
        pieces.push(Piece::Verb(verb));
        rest = after;
    }
    pieces.push(Piece::Text(rest));
    Ok(pieces)
}

/// The verb after a `%`, and what follows it.
fn parse_verb(text: &str) -> std::result::Result<(Verb, &str), String> {
    let (precision, rest) = match text.strip_prefix('.') {
        Some(rest) => {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (digits, rest) = rest.split_at(digits);
            let precision = digits.parse().ok().filter(|precision| *precision <= MAX_PRECISION);
            (
                precision.ok_or_else(|| format!("after `%.` stand the decimals, at most {MAX_PRECISION}"))?,
                rest,
            )
        }
        None => (6, text),
    };
    let mut chars = rest.chars();
    match chars.next() {
        Some(letter @ ('s' | 'd' | 'f' | 'e' | 'b' | 'o' | 'x' | 'X')) => {
            Ok((Verb { letter, precision }, chars.as_str()))
        }
        Some(other) => Err(format!("`%{other}` is no verb: there are %s, %d, %f, %e, %b, %o, %x, %X and %%")),
        None => Err("a `%` at the end is written `%%`".into()),
    }
}

impl Verb {
    /// Whether it can take values of a static type.
    pub(in crate::cel) fn takes_type(self, ty: &Type) -> bool {
        matches!(ty, Type::Dyn | Type::Param(_)) || self.takes(&ty.to_string())
    }

    /// Whether it takes values of the type of this name.
    fn takes(self, kind: &str) -> bool {
        match self.letter {
            's' => true,
            'd' | 'f' | 'e' => matches!(kind, "int" | "uint" | "double"),
            'b' => matches!(kind, "int" | "uint" | "bool"),
            'o' => matches!(kind, "int" | "uint"),
            _ => matches!(kind, "int" | "uint" | "string" | "bytes"),
        }
    }
}

pub(super) fn format<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let (format, items) = (a.str(0)?, a.list(1)?);
    let mut text = Text { text: String::new(), budget: a.budget };
    let mut next = 0;
    for piece in pieces(format).map_err(|message| invalid(0, message))? {
        match piece {
            Piece::Text(piece) => text.push(piece)?,
            Piece::Verb(verb) => {
                let item = items.get(next).ok_or_else(|| too_few(&items))?;
                next += 1;
                text.verb(verb, &item, next)?;
            }
        }
    }
    Ok(Val::String(Str::Owned(text.text.into())))
}

fn too_few(items: &List) -> Error {
    let message = format!("the format has more verbs than the list has items, which are {}", items.len());
    Error::new(ErrorKind::OutOfRange, message).in_argument(1)
}

/// Text in the making; every piece is paid for before it is added.
struct Text<'b> {
    text: String,
    budget: &'b mut Budget,
}

impl Text<'_> {
    fn push(&mut self, piece: &str) -> Result<()> {
        self.budget.create(piece.len())?;
        self.text.push_str(piece);
        Ok(())
    }

    /// The item, which is the one with this number from 1, as the verb wants it.
    fn verb(&mut self, verb: Verb, item: &Val, number: usize) -> Result<()> {
        if !verb.takes(item.kind()) {
            let message =
                format!("`%{}` does not take item {number}, which is of type {}", verb.letter, item.kind());
            return Err(Error::new(ErrorKind::InvalidArgument, message).in_argument(1));
        }
        match (verb.letter, item) {
            ('f', Val::Double(value)) if value.is_finite() => {
                self.budget.create(verb.precision)?;
                self.push(&format!("{value:.*}", verb.precision))
            }
            ('e', Val::Double(value)) if value.is_finite() => self.scientific(*value, verb.precision),
            ('f' | 'e', Val::Int(_) | Val::UInt(_)) => self.whole(verb, item),
            ('b' | 'o' | 'x' | 'X', item) => self.radix(verb.letter, item),
            (_, item) => self.any(item, 0),
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "the verbs are for doubles")]
    fn whole(&mut self, verb: Verb, item: &Val) -> Result<()> {
        match (verb.letter, item) {
            ('e', Val::Int(value)) => self.scientific(*value as f64, verb.precision),
            ('e', Val::UInt(value)) => self.scientific(*value as f64, verb.precision),
            (_, item) => {
                self.any(item, 0)?;
                self.budget.create(verb.precision)?;
                if verb.precision > 0 {
                    self.push(&format!(".{:0<1$}", "", verb.precision))?;
                }
                Ok(())
            }
        }
    }

    /// `1.052033e+03`: the exponent has a sign and at least two digits.
    fn scientific(&mut self, value: f64, precision: usize) -> Result<()> {
        self.budget.create(precision)?;
        let text = format!("{value:.precision$e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
        self.push(&format!("{digits}e{sign}{exponent:0>2}"))
    }

    /// Binary, octal or hexadecimal digits, with the sign of the number in front.
    fn radix(&mut self, letter: char, item: &Val) -> Result<()> {
        let (sign, magnitude) = match item {
            Val::Int(value) => (if *value < 0 { "-" } else { "" }, value.unsigned_abs()),
            Val::UInt(value) => ("", *value),
            Val::Bool(value) => ("", u64::from(*value)),
            Val::String(text) => return self.hex(letter, text.as_bytes()),
            Val::Bytes(bytes) => return self.hex(letter, bytes),
            _ => ("", 0),
        };
        self.push(sign)?;
        self.push(&match letter {
            'b' => format!("{magnitude:b}"),
            'o' => format!("{magnitude:o}"),
            'x' => format!("{magnitude:x}"),
            _ => format!("{magnitude:X}"),
        })
    }

    fn hex(&mut self, letter: char, bytes: &[u8]) -> Result<()> {
        for byte in bytes {
            self.push(&if letter == 'x' { format!("{byte:02x}") } else { format!("{byte:02X}") })?;
        }
        Ok(())
    }

    /// The text of any value; lists and maps in brackets, the entries of a map by the text of their keys.
    fn any(&mut self, value: &Val, depth: usize) -> Result<()> {
        let depth = walk(depth)?;
        self.budget.charge(1)?;
        match value {
            Val::List(list) => self.list(list, depth + 1),
            Val::Map(map) => self.map(map, depth + 1),
            scalar => self.scalar(scalar),
        }
    }

    fn scalar(&mut self, value: &Val) -> Result<()> {
        match value {
            Val::Null => self.push("null"),
            Val::Bool(value) => self.push(if *value { "true" } else { "false" }),
            Val::Int(value) => self.push(&value.to_string()),
            Val::UInt(value) => self.push(&value.to_string()),
            Val::Double(value) if value.is_nan() => self.push("NaN"),
            Val::Double(value) if value.is_infinite() => {
                self.push(if *value > 0.0 { "Infinity" } else { "-Infinity" })
            }
            Val::Double(value) => self.push(&value.to_string()),
            Val::String(text) => self.push(text),
            Val::Bytes(bytes) => self.push(&String::from_utf8_lossy(bytes)),
            Val::Timestamp(time) => self.push(&time.in_utc().to_string()),
            Val::Duration(duration) => self.push(&duration.to_string()),
            Val::Type(name) => self.push(name),
            Val::Quantity(quantity) => self.push(&quantity.to_string()),
            Val::Semver(version) => self.push(&version.to_string()),
            Val::Url(url) => self.push(&url.to_string()),
            Val::Ip(ip) => self.push(&ip.to_string()),
            Val::Cidr(cidr) => self.push(&cidr.to_string()),
            Val::Optional(_) | Val::Format(_) | Val::List(_) | Val::Map(_) => {
                let message = format!("a value of type {} has no text", value.kind());
                Err(Error::new(ErrorKind::InvalidArgument, message).in_argument(1))
            }
        }
    }

    fn list(&mut self, list: &List, depth: usize) -> Result<()> {
        self.push("[")?;
        for index in 0..list.len() {
            self.push(if index == 0 { "" } else { ", " })?;
            let item = list.get(index).unwrap_or(Val::Null);
            self.any(&item, depth)?;
        }
        self.push("]")
    }

    fn map(&mut self, map: &Map, depth: usize) -> Result<()> {
        let mut printed = Vec::new();
        for (key, value) in map {
            let key = self.apart(&key.into(), depth)?;
            printed.push((key, self.apart(&value, depth)?));
        }
        self.entries(printed)
    }

    /// The text of a value that is not yet added.
    fn apart(&mut self, value: &Val, depth: usize) -> Result<String> {
        let outer = std::mem::take(&mut self.text);
        let result = self.any(value, depth);
        let text = std::mem::replace(&mut self.text, outer);
        result.map(|()| text)
    }

    fn entries(&mut self, mut printed: Vec<(String, String)>) -> Result<()> {
        printed.sort_by(|(a, _), (b, _)| a.cmp(b));
        self.push("{")?;
        for (index, (key, value)) in printed.iter().enumerate() {
            self.push(if index == 0 { "" } else { ", " })?;
            self.push(key)?;
            self.push(": ")?;
            self.push(value)?;
        }
        self.push("}")
    }
}
