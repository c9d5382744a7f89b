//! URLs and their parts.

use super::{
    call::{Arguments, Cost, Size, Work},
    library,
};
use crate::cel::{
    error::Error,
    value::{Key, List, Map, Str, Url, Val},
};
use std::sync::Arc;

type Result<T> = std::result::Result<T, Error>;

const PART: Cost = Cost::new(Work::Steps(1), Size::First);

library! {
    Url;
    "url": "The URL that a text says; it must begin with a scheme or with a slash.", "when the text is no such URL" {
        "url(string) -> url" => make, Cost::COPY;
    }
    "isURL": "Whether `url` would not fail for this text.", "" {
        "isURL(string) -> bool" => |a| Ok(Val::Bool(Url::parse(a.str(0)?).is_ok())), Cost::READ;
    }
    "getScheme": "The scheme, as in `https`; empty if there is none.", "" {
        "url.getScheme() -> string" => |a| { let url = a.url(0)?; a.make_text(url.scheme().to_owned()) }, PART;
    }
    "getHost": "Host and port, as in `example.com:80`; an IPv6 address stands in brackets.", "" {
        "url.getHost() -> string" => |a| { let url = a.url(0)?; a.make_text(url.host().to_owned()) }, PART;
    }
    "getHostname": "The host without port and brackets.", "" {
        "url.getHostname() -> string" => |a| { let url = a.url(0)?; a.make_text(url.hostname().to_owned()) }, PART;
    }
    "getPort": "The port, as text; empty if there is none.", "" {
        "url.getPort() -> string" => |a| { let url = a.url(0)?; a.make_text(url.port().to_owned()) }, PART;
    }
    "getEscapedPath": "The path, with what has to be escaped escaped.", "" {
        "url.getEscapedPath() -> string" => |a| { let url = a.url(0)?; a.make_text(url.escaped_path().to_owned()) }, PART;
    }
    "getQuery": "The parameters of the query, unescaped: a map from each name to the list of its values.", "" {
        "url.getQuery() -> map(string, list(string))" => query, PART;
    }
}

fn make<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let text = a.str(0)?;
    a.budget.create(text.len())?;
    Url::parse(text).map(|url| Val::Url(Arc::new(url))).map_err(|error| error.in_argument(0))
}

fn query<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let parameters = a.url(0)?.query();
    let mut entries = Vec::with_capacity(parameters.len());
    for (name, values) in parameters {
        a.budget.create_items(values.len() + 1)?;
        a.budget.create(name.len() + values.iter().map(String::len).sum::<usize>())?;
        let values = List::new(values.into_iter().map(Val::text).collect())?;
        entries.push((Key::String(Str::Owned(name.into())), Val::List(values)));
    }
    Map::new(entries).map(Val::Map)
}
