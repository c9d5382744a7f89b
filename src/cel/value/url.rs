//! URLs as Go's `net/url` reads them, since that is what Kubernetes validates and takes apart.

use super::{Error, ErrorKind};
use std::{fmt, net::Ipv6Addr};

/// An absolute URL, or an absolute path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    scheme: String,
    /// `user:password`, as written.
    user: Option<String>,
    /// Host and port, unescaped; an IPv6 address stands in brackets.
    host: String,
    /// What follows the scheme of a URL without slashes: the address of `mailto:`.
    opaque: String,
    /// The path, escaped.
    path: String,
    query: Option<String>,
    fragment: String,
}

impl Url {
    /// The URL that `text` is. It must be absolute: begin with a scheme or with a slash.
    pub fn parse(text: &str) -> Result<Url, Error> {
        let wrong =
            |reason: &str| Error::new(ErrorKind::InvalidArgument, format!("`{text}` is no URL: {reason}"));
        // Go checks a request URI, in which `#` means nothing, before it reads the URL with its fragment.
        parse(text).map_err(wrong)?;
        let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = parse(before).map_err(wrong)?;
        unescape(fragment, Part::Other).ok_or_else(|| wrong("`%` needs two hexadecimal digits"))?;
        fragment.clone_into(&mut url.fragment);
        Ok(url)
    }

    /// The scheme in lower case, or nothing.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Host and port; an IPv6 address stands in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The host without its port and without brackets.
    pub fn hostname(&self) -> &str {
        let (host, _) = self.split_port();
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
    }

    /// The port, or nothing.
    pub fn port(&self) -> &str {
        self.split_port().1
    }

    fn split_port(&self) -> (&str, &str) {
        match self.host.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
            _ => (&self.host, ""),
        }
    }

    /// The path with what has to be escaped escaped.
    pub fn escaped_path(&self) -> &str {
        &self.path
    }

    /// The parameters of the query, unescaped: each name in the order of its first use, with its values.
    pub fn query(&self) -> Vec<(String, Vec<String>)> {
        let mut parameters: Vec<(String, Vec<String>)> = Vec::new();
        let pairs = self.query.as_deref().unwrap_or_default().split('&');
        for pair in pairs.filter(|pair| !pair.is_empty() && !pair.contains(';')) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decode =
                |text| unescape(text, Part::Query).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            let (Some(name), Some(value)) = (decode(name), decode(value)) else { continue };
            match parameters.iter_mut().find(|(known, _)| *known == name) {
                Some((_, values)) => values.push(value),
                None => parameters.push((name, vec![value])),
            }
        }
        parameters
    }
}

fn parse(text: &str) -> Result<Url, &'static str> {
    if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return Err("it has a control character");
    }
    let (scheme, rest) = split_scheme(text)?;
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) => (rest, Some(query.to_owned())),
        None => (rest, None),
    };
    let scheme = scheme.to_ascii_lowercase();
    let mut url = Url {
        scheme,
        user: None,
        host: String::new(),
        opaque: String::new(),
        path: String::new(),
        query,
        fragment: String::new(),
    };
    if !rest.starts_with('/') && text != "*" {
        if url.scheme.is_empty() {
            return Err("it begins with neither a scheme nor a slash");
        }
        rest.clone_into(&mut url.opaque);
        return Ok(url);
    }
    let path = match rest.strip_prefix("//") {
        Some(rest) if !url.scheme.is_empty() => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let (user, host) = match authority.rsplit_once('@') {
                Some((user, host)) => (Some(user), host),
                None => (None, authority),
            };
            url.host = parse_host(&url.scheme, host)?;
            url.user = user.map(parse_user).transpose()?;
            path
        }
        _ => rest,
    };
    url.path = escape_path(path).ok_or("`%` needs two hexadecimal digits")?;
    Ok(url)
}

fn split_scheme(text: &str) -> Result<(&str, &str), &'static str> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')));
    match end.map(|end| text.split_at(end)) {
        Some(("", rest)) if rest.starts_with(':') => Err("its scheme is missing"),
        Some((scheme, rest))
            if rest.starts_with(':') && scheme.starts_with(|c: char| c.is_ascii_alphabetic()) =>
        {
            Ok((scheme, rest.get(1..).unwrap_or_default()))
        }
        _ => Ok(("", text)),
    }
}

fn parse_user(user: &str) -> Result<String, &'static str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    if !user.chars().all(allowed) || unescape(user, Part::Other).is_none() {
        return Err("the user before the `@` has a character that cannot stand there");
    }
    Ok(user.to_owned())
}

/// The host with its port, unescaped.
fn parse_host(scheme: &str, host: &str) -> Result<String, &'static str> {
    const PORT: &str = "its port is no number";
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let decode = |text| {
        let bytes = unescape(text, Part::Host).ok_or("its host has a character that cannot stand there")?;
        String::from_utf8(bytes).map_err(|_| "its host is no UTF-8")
    };
    if let Some((address, port)) = host.strip_prefix('[').and_then(|rest| rest.rsplit_once(']')) {
        if !port.is_empty() && !port.strip_prefix(':').is_some_and(is_port) {
            return Err(PORT);
        }
        let (ip, zone) = address.split_once("%25").map_or((address, None), |(ip, zone)| (ip, Some(zone)));
        ip.parse::<Ipv6Addr>().map_err(|_| "no IPv6 address stands between the brackets")?;
        let zone = zone.map(decode).transpose()?.map_or_else(String::new, |zone| format!("%{zone}"));
        return Ok(format!("[{ip}{zone}]{port}"));
    }
    if host.contains('[') {
        return Err("a `]` is missing");
    }
    if let Some((before, port)) = host.rsplit_once(':') {
        let strict = matches!(scheme, "http" | "https");
        if !is_port(port) || (strict && before.contains(':')) {
            return Err(PORT);
        }
    }
    decode(host)
}

/// The parts of a URL that are escaped differently.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Host,
    Query,
    Other,
}

/// The bytes that `text` stands for; `None` for an escape or a character that cannot be in this part.
fn unescape(text: &str, part: Part) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let hex = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let value = u8::try_from(hex(rest.next())? * 16 + hex(rest.next())?).ok()?;
                if part == Part::Host && value < 0x80 && value != b'%' {
                    return None;
                }
                value
            }
            b'+' if part == Part::Query => b' ',
            _ if part == Part::Host && byte.is_ascii() && !is_host(byte) => return None,
            _ => byte,
        });
    }
    Some(bytes)
}

fn is_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"".contains(&byte)
}

/// The path as it is when all of it is valid as written, else escaped anew.
fn escape_path(path: &str) -> Option<String> {
    let decoded = unescape(path, Part::Other)?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(&byte);
    let valid = |byte: u8| plain(byte) || b"!'()*[]%".contains(&byte);
    if path.bytes().all(valid) {
        return Some(path.to_owned());
    }
    let mut escaped = String::with_capacity(path.len());
    for byte in decoded {
        if plain(byte) {
            escaped.push(char::from(byte));
        } else {
            let hex = |digit: u8| char::from_digit(digit.into(), 16).unwrap_or_default().to_ascii_uppercase();
            escaped.extend(['%', hex(byte >> 4), hex(byte & 15)]);
        }
    }
    Some(escaped)
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.scheme.is_empty() {
            write!(f, "{}:", self.scheme)?;
        }
        if self.opaque.is_empty() && (!self.host.is_empty() || self.user.is_some()) {
            f.write_str("//")?;
        }
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        write!(f, "{}{}{}", self.host, self.opaque, self.path)?;
        if let Some(query) = &self.query {
            write!(f, "?{query}")?;
        }
        if !self.fragment.is_empty() {
            write!(f, "#{}", self.fragment)?;
        }
        Ok(())
    }
}
