//! From text to nodes, within limits, reporting every problem that does not make the rest meaningless.

use super::{Entry, Kind, Node, resolve};
use crate::diagnostic::{Code, Diagnostic, Source, Span, codes};
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Tag};
use std::{borrow::Cow, collections::BTreeMap, collections::BTreeSet, ops::Range};

/// Deepest nesting of lists and maps; Kubernetes' own pod schema is about 20 deep.
const MAX_DEPTH: usize = 128;
/// Most nodes of one text, aliases written out: about what 4 MiB of plain text can hold, so only aliases reach it.
const MAX_NODES: usize = 1 << 20;

/// The documents of `source`, empty ones left out, and every problem found. After a syntax error nothing that
/// follows is read; documents that end before it are kept.
pub fn parse(source: &Source) -> (Vec<Node>, Vec<Diagnostic>) {
    let mut builder = Builder {
        source,
        bytes: byte_offsets(source.text()),
        open: Vec::new(),
        anchors: BTreeMap::new(),
        nodes: 0,
        documents: Vec::new(),
        diagnostics: Vec::new(),
    };
    for event in Parser::new_from_str(source.text()) {
        let step = match event {
            Ok((event, span)) => builder.event(event, span.start.index()..span.end.index()),
            Err(error) => Err(Box::new(builder.syntax(&error))),
        };
        if let Err(diagnostic) = step {
            builder.diagnostics.push(*diagnostic);
            break;
        }
    }
    (builder.documents, builder.diagnostics)
}

/// Byte offset of each character, and of the end; empty for ASCII, where both are the same.
fn byte_offsets(text: &str) -> Vec<usize> {
    if text.is_ascii() {
        return Vec::new();
    }
    text.char_indices().map(|(offset, _)| offset).chain([text.len()]).collect()
}

struct Builder<'s> {
    source: &'s Source,
    bytes: Vec<usize>,
    open: Vec<Open>,
    anchors: BTreeMap<usize, (Node, usize)>,
    nodes: usize,
    documents: Vec<Node>,
    diagnostics: Vec<Diagnostic>,
}

/// A list or map whose end has not been seen.
struct Open {
    span: Span,
    anchor: usize,
    nodes_before: usize,
    content: Content,
}

enum Content {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, keys: BTreeSet<String>, key: Option<Node>, merged: Vec<Entry> },
}

type Step = Result<(), Box<Diagnostic>>;

impl Builder<'_> {
    fn event(&mut self, event: Event<'_>, chars: Range<usize>) -> Step {
        let span = self.span(chars);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let node = self.scalar(&text, style, tag.as_deref(), span);
                self.count(1, &node.span)?;
                self.anchored(anchor, &node, 1);
                self.add(node);
                Ok(())
            }
            Event::SequenceStart(anchor, tag) => self.begin(Content::List(Vec::new()), anchor, tag, span),
            Event::MappingStart(anchor, tag) => {
                let content = Content::Map {
                    entries: Vec::new(),
                    keys: BTreeSet::new(),
                    key: None,
                    merged: Vec::new(),
                };
                self.begin(content, anchor, tag, span)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.end(&span);
                Ok(())
            }
            Event::Alias(anchor) => self.alias(anchor, span),
            Event::DocumentStart(_) => {
                self.anchors.clear();
                Ok(())
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
        }
    }

    fn span(&self, chars: Range<usize>) -> Span {
        let byte = |index: usize| match self.bytes.as_slice() {
            [] => index,
            bytes => bytes.get(index).copied().unwrap_or(self.source.text().len()),
        };
        self.source.span(byte(chars.start)..byte(chars.end))
    }

    fn count(&mut self, nodes: usize, span: &Span) -> Step {
        self.nodes += nodes;
        if self.nodes > MAX_NODES {
            let message = format!("more than {MAX_NODES} values, aliases written out");
            return Err(Box::new(Diagnostic::error(codes::YAML_TOO_LARGE, span.clone(), message)));
        }
        Ok(())
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, tag: Option<&Tag>, span: Span) -> Node {
        let kind = match (style, tag) {
            (ScalarStyle::Plain, None) => resolve::plain(text),
            (_, None) => Some(Kind::String(text.to_owned())),
            (_, Some(tag)) => self.tagged(text, tag, &span),
        };
        let kind = kind.unwrap_or_else(|| {
            let message = format!("`{text}` is not a number that JSON can hold");
            self.report(codes::YAML_VALUE, &span, message);
            Kind::Null
        });
        Node { kind, span: trimmed(span, style), style }
    }

    fn tagged(&mut self, text: &str, tag: &Tag, span: &Span) -> Option<Kind> {
        let string = || Some(Kind::String(text.to_owned()));
        if !tag.is_yaml_core_schema() {
            // `!` alone is YAML's "this is a string".
            if !(tag.handle.is_empty() && tag.suffix == "!") {
                self.report(codes::YAML_VALUE, span, format!("the tag `{tag}` is not known"));
            }
            return string();
        }
        let kind = resolve::plain(text)?;
        let fits = match (tag.suffix.as_str(), &kind) {
            ("str", _) => return string(),
            ("null", Kind::Null) | ("bool", Kind::Bool(_)) | ("float", Kind::Number(_)) => true,
            ("int", Kind::Number(number)) => !number.is_f64(),
            _ => false,
        };
        if !fits {
            self.report(codes::YAML_VALUE, span, format!("`{text}` is no `!!{}`", tag.suffix));
        }
        Some(kind)
    }

    fn begin(&mut self, content: Content, anchor: usize, tag: Option<Cow<'_, Tag>>, span: Span) -> Step {
        self.count(1, &span)?;
        if let Some(tag) = tag.filter(|tag| !tag.is_yaml_core_schema()) {
            self.report(codes::YAML_VALUE, &span, format!("the tag `{tag}` is not known"));
        }
        if self.open.len() >= MAX_DEPTH {
            let message = format!("nested more than {MAX_DEPTH} deep");
            return Err(Box::new(Diagnostic::error(codes::YAML_TOO_LARGE, span, message)));
        }
        self.open.push(Open { span, anchor, nodes_before: self.nodes, content });
        Ok(())
    }

    fn end(&mut self, end: &Span) {
        let Some(Open { span, anchor, nodes_before, content }) = self.open.pop() else { return };
        let kind = match content {
            Content::List(items) => Kind::List(items),
            Content::Map { mut entries, keys, merged, .. } => {
                let absent = merged.into_iter().filter(|entry| !keys.contains(&entry.key));
                entries.extend(absent);
                Kind::Map(entries)
            }
        };
        let last = match &kind {
            Kind::List(items) => items.last().map_or(0, |node| node.span.end()),
            Kind::Map(entries) => entries.last().map_or(0, |entry| entry.value.span.end()),
            _ => 0,
        };
        // A flow collection ends with its bracket, a block one with its last value: its end event stands further on.
        let flow = span.text().starts_with(['[', '{']);
        let until = if flow { end.start() + 1 } else { last.max(span.end()) };
        let span = span.source().span(span.start()..until);
        let node = Node { kind, span, style: ScalarStyle::Plain };
        self.anchored(anchor, &node, self.nodes - nodes_before + 1);
        self.add(node);
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Step {
        let Some((node, size)) = self.anchors.get(&anchor).cloned() else {
            let message = "the alias stands inside the value it names".to_owned();
            return Err(Box::new(Diagnostic::error(codes::YAML_SYNTAX, span, message)));
        };
        self.count(size, &span)?;
        self.add(node);
        Ok(())
    }

    fn anchored(&mut self, anchor: usize, node: &Node, size: usize) {
        if anchor != 0 {
            self.anchors.insert(anchor, (node.clone(), size));
        }
    }

    /// Adds a finished value to what is open: as item, as key, as value, or as the document.
    fn add(&mut self, node: Node) {
        let Some(open) = self.open.last_mut() else {
            if !matches!(node.kind, Kind::Null) {
                self.documents.push(node);
            }
            return;
        };
        let problem = match &mut open.content {
            Content::List(items) => {
                items.push(node);
                None
            }
            Content::Map { key: slot @ None, .. } => {
                *slot = Some(node);
                None
            }
            Content::Map { entries, keys, key, merged } => {
                key.take().and_then(|key| add_entry(entries, keys, merged, key, node))
            }
        };
        self.diagnostics.extend(problem);
    }

    fn report(&mut self, code: Code, span: &Span, message: String) {
        self.diagnostics.push(Diagnostic::error(code, span.clone(), message));
    }

    fn syntax(&self, error: &ScanError) -> Diagnostic {
        let at = error.marker().index();
        Diagnostic::error(codes::YAML_SYNTAX, self.span(at..at + 1), error.info())
    }
}

fn add_entry(
    entries: &mut Vec<Entry>,
    keys: &mut BTreeSet<String>,
    merged: &mut Vec<Entry>,
    key: Node,
    value: Node,
) -> Option<Diagnostic> {
    if key.style == ScalarStyle::Plain && key.as_str() == Some("<<") {
        return merge(merged, &value);
    }
    let name = match key.kind {
        Kind::String(name) => name,
        Kind::Null => "null".to_owned(),
        Kind::Bool(value) => value.to_string(),
        Kind::Number(value) => value.to_string(),
        Kind::List(_) | Kind::Map(_) => {
            return Some(Diagnostic::error(codes::YAML_VALUE, key.span, "a key must be a string"));
        }
    };
    if !keys.insert(name.clone()) {
        let message = format!("the key `{name}` stands here a second time");
        let first = entries.iter().find(|entry| entry.key == name).map(|entry| entry.key_span.clone());
        let diagnostic = Diagnostic::error(codes::YAML_DUPLICATE_KEY, key.span, message);
        return Some(match first {
            Some(first) => diagnostic.label(first, "first here"),
            None => diagnostic,
        });
    }
    entries.push(Entry { key: name, key_span: key.span, value });
    None
}

/// `<<: *map` or `<<: [*one, *two]`: what the map itself does not say is taken from there, the first that says it.
fn merge(merged: &mut Vec<Entry>, value: &Node) -> Option<Diagnostic> {
    let maps = match &value.kind {
        Kind::List(items) => items.as_slice(),
        _ => std::slice::from_ref(value),
    };
    for map in maps {
        let Some(entries) = map.as_map() else {
            let message = format!("`<<` takes a map or a list of maps, not {}", map.type_name());
            return Some(Diagnostic::error(codes::YAML_VALUE, map.span.clone(), message));
        };
        for entry in entries {
            if !merged.iter().any(|seen| seen.key == entry.key) {
                merged.push(entry.clone());
            }
        }
    }
    None
}

/// A block scalar's event ends where the next thing begins; its text ends with its last line.
fn trimmed(span: Span, style: ScalarStyle) -> Span {
    match style {
        ScalarStyle::Literal | ScalarStyle::Folded | ScalarStyle::Plain => {
            let end = span.start() + span.text().trim_end().len();
            span.source().span(span.start()..end)
        }
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => span,
    }
}
