//! What the text between the quotes of a string or bytes literal means.

use std::{ops::Range, str::Chars};

/// Where in the body the problem is, and what it is.
pub(super) type Problem = (Range<usize>, String);

/// What one character or one escape stands for.
enum Unit {
    Char(char),
    /// `\xff` or `\377`: a byte in bytes, the code point with that number in a string.
    Byte(u8),
    /// `\u00ff`: only in a string.
    Unicode(char),
}

/// The text of a string literal.
pub(super) fn string(body: &str, raw: bool) -> Result<String, Problem> {
    if raw || !body.contains('\\') {
        return Ok(body.to_owned());
    }
    let mut text = String::with_capacity(body.len());
    units(body, |unit| {
        text.push(match unit {
            Unit::Char(c) | Unit::Unicode(c) => c,
            Unit::Byte(byte) => char::from(byte),
        });
        Ok(())
    })?;
    Ok(text)
}

/// The bytes of a bytes literal; a character stands for its UTF-8.
pub(super) fn bytes(body: &str, raw: bool) -> Result<Vec<u8>, Problem> {
    if raw {
        return Ok(body.as_bytes().to_vec());
    }
    let mut bytes = Vec::with_capacity(body.len());
    units(body, |unit| {
        match unit {
            Unit::Char(c) => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
            Unit::Byte(byte) => bytes.push(byte),
            Unit::Unicode(_) => return Err("`\\u` has no place in bytes; write `\\x..` for each byte".into()),
        }
        Ok(())
    })?;
    Ok(bytes)
}

/// Hands each unit of `body` to `each`.
fn units(body: &str, mut each: impl FnMut(Unit) -> Result<(), String>) -> Result<(), Problem> {
    let mut chars = body.chars();
    while let Some(next) = chars.next() {
        let start = body.len() - chars.as_str().len() - next.len_utf8();
        let unit = if next == '\\' { escape(&mut chars) } else { Ok(Unit::Char(next)) };
        let end = body.len() - chars.as_str().len();
        unit.and_then(&mut each).map_err(|message| (start..end, message))?;
    }
    Ok(())
}

/// The escape whose backslash was just read.
fn escape(chars: &mut Chars) -> Result<Unit, String> {
    let Some(letter) = chars.next() else { return Err("a backslash at the end escapes nothing".into()) };
    Ok(match letter {
        'a' => Unit::Char('\u{7}'),
        'b' => Unit::Char('\u{8}'),
        'f' => Unit::Char('\u{c}'),
        'n' => Unit::Char('\n'),
        'r' => Unit::Char('\r'),
        't' => Unit::Char('\t'),
        'v' => Unit::Char('\u{b}'),
        '\\' | '?' | '"' | '\'' | '`' => Unit::Char(letter),
        'x' | 'X' => byte(digits(chars, 2, 16, "")?)?,
        '0'..='3' => byte(digits(chars, 2, 8, letter.encode_utf8(&mut [0; 4]))?)?,
        'u' => unicode(digits(chars, 4, 16, "")?)?,
        'U' => unicode(digits(chars, 8, 16, "")?)?,
        _ => return Err(format!("`\\{letter}` is no escape; a backslash itself is written `\\\\`")),
    })
}

/// The number that `before` and the next `count` digits spell.
fn digits(chars: &mut Chars, count: usize, radix: u32, before: &str) -> Result<u32, String> {
    let mut spelled = before.to_owned();
    for _ in 0..count {
        let digit = chars.clone().next().filter(|digit| digit.is_digit(radix));
        let Some(digit) = digit else {
            let kind = if radix == 8 { "octal" } else { "hexadecimal" };
            let wanted = count + before.len();
            return Err(format!("this escape needs {wanted} {kind} digits"));
        };
        spelled.push(digit);
        chars.next();
    }
    u32::from_str_radix(&spelled, radix).map_err(|error| error.to_string())
}

fn byte(value: u32) -> Result<Unit, String> {
    u8::try_from(value).map(Unit::Byte).map_err(|_| "this escape is no byte".into())
}

fn unicode(value: u32) -> Result<Unit, String> {
    char::from_u32(value).map(Unit::Unicode).ok_or_else(|| format!("U+{value:04X} is no Unicode character"))
}
