//! Diagnostics as text with the source line underlined, and as JSON.

use super::{Diagnostic, Label, Place, Severity, Source, Span};
use annotate_snippets::{Annotation, AnnotationKind, Level, Renderer, Snippet};
use serde_json::{Value, json};

/// Whether text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// With ANSI colours, for a terminal.
    Always,
    /// Plain.
    Never,
}

/// `diagnostic` as text: title with code, excerpt with the place underlined, help. Ends in a line break.
pub fn text(diagnostic: &Diagnostic, color: Color) -> String {
    let renderer = match color {
        Color::Always => Renderer::styled(),
        Color::Never => Renderer::plain(),
    };
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut group =
        level.primary_title(title(diagnostic)).id(diagnostic.code.id).elements(snippets(diagnostic));
    let help = diagnostic.help.as_deref();
    // Below an excerpt its margin goes on; without one it would lead nowhere.
    let has_excerpt = diagnostic.place.span().is_some() || !diagnostic.labels.is_empty();
    if let Some(help) = help.filter(|_| has_excerpt) {
        group = group.element(Level::HELP.message(help));
    }
    let mut text = renderer.render(&[group]);
    text.push('\n');
    if let Some(help) = help.filter(|_| !has_excerpt) {
        text.push_str("  = help: ");
        text.push_str(help);
        text.push('\n');
    }
    text
}

fn title(diagnostic: &Diagnostic) -> String {
    const LONGEST: usize = 2000; // bytes; names and values in it may be of any length
    let mut title = whole_title(diagnostic);
    if title.len() > LONGEST {
        title.truncate(title.floor_char_boundary(LONGEST));
        title.push('…');
    }
    title
}

fn whole_title(diagnostic: &Diagnostic) -> String {
    match &diagnostic.place {
        Place::Field { object, path } | Place::SourceField { object, path, .. } if path.is_empty() => {
            format!("{object}: {}", diagnostic.message)
        }
        Place::Field { object, path } | Place::SourceField { object, path, .. } => {
            format!("{object}: {path}: {}", diagnostic.message)
        }
        Place::Source(_) | Place::Nowhere => diagnostic.message.clone(),
    }
}

/// A place, and what is there to see if it is not the primary one.
type Shown<'d> = (&'d Span, Option<&'d str>);

/// One snippet per text, the primary place's first.
fn snippets(diagnostic: &Diagnostic) -> Vec<Snippet<'_, Annotation<'_>>> {
    let mut texts: Vec<(&Source, Vec<Shown>)> = Vec::new();
    let labels = diagnostic.labels.iter().map(|Label { span, text }| (span, Some(text.as_str())));
    for (span, label) in diagnostic.place.span().map(|span| (span, None)).into_iter().chain(labels) {
        match texts.iter_mut().find(|(source, _)| *source == span.source()) {
            Some((_, places)) => places.push((span, label)),
            None => texts.push((span.source(), vec![(span, label)])),
        }
    }
    texts.into_iter().map(|(source, places)| snippet(source, &places)).collect()
}

/// The lines of `source` from the first place to the last. The rest of a long text would only take time.
fn snippet<'d>(source: &'d Source, places: &[Shown<'d>]) -> Snippet<'d, Annotation<'d>> {
    let lines = || places.iter().map(|(span, _)| span.position().line);
    let first_line = lines().min().unwrap_or(1);
    let start = source.line_start(first_line);
    let end = source.line_start(lines().max().unwrap_or(1) + 1);
    let annotations = places.iter().map(|(span, label)| {
        let shown = visible(span);
        let range = shown.start - start..shown.end - start;
        match label {
            None => AnnotationKind::Primary.span(range),
            Some(label) => AnnotationKind::Context.span(range).label(*label),
        }
    });
    Snippet::source(source.text().get(start..end).unwrap_or_default())
        .path(source.name())
        .line_start(first_line)
        .annotations(annotations)
}

/// The part of a span to underline: the beginning of its first line, so that a block of text does not fill the screen.
fn visible(span: &Span) -> std::ops::Range<usize> {
    const LONGEST: usize = 200; // bytes
    let first = span.text().lines().next().unwrap_or_default();
    let shown = first.get(..first.floor_char_boundary(LONGEST)).unwrap_or_default();
    span.start()..span.start() + shown.trim_end().len()
}

/// `diagnostic` as a JSON object: `code`, `severity`, `message`, and as far as they apply `file`, `line`, `column`,
/// `endLine`, `endColumn`, `object`, `field`, `help`, `labels`.
pub fn json(diagnostic: &Diagnostic) -> Value {
    let mut value = json!({
        "code": diagnostic.code.id,
        "severity": diagnostic.severity.to_string(),
        "message": diagnostic.message,
    });
    match &diagnostic.place {
        Place::Source(span) => merge(&mut value, position(span)),
        Place::SourceField { span, object, path } => {
            merge(&mut value, position(span));
            merge(&mut value, json!({ "object": object, "field": path }));
        }
        Place::Field { object, path } => merge(&mut value, json!({ "object": object, "field": path })),
        Place::Nowhere => {}
    }
    if let Some(help) = &diagnostic.help {
        merge(&mut value, json!({ "help": help }));
    }
    if !diagnostic.labels.is_empty() {
        let labels = diagnostic.labels.iter().map(|label| {
            let mut value = position(&label.span);
            merge(&mut value, json!({ "message": label.text }));
            value
        });
        let labels: Vec<Value> = labels.collect();
        merge(&mut value, json!({ "labels": labels }));
    }
    value
}

fn position(span: &Span) -> Value {
    let (start, end) = (span.position(), span.source().position(span.end()));
    json!({
        "file": span.source().name(),
        "line": start.line,
        "column": start.column,
        "endLine": end.line,
        "endColumn": end.column,
    })
}

fn merge(value: &mut Value, more: Value) {
    if let (Value::Object(value), Value::Object(more)) = (value, more) {
        value.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use super::super::codes;
    use super::*;

    fn example() -> Diagnostic {
        let source = Source::new("p.yaml", "spec:\n  numNode: 3\n  numNode: 4\n");
        Diagnostic::error(codes::YAML_SYNTAX, source.span(8..15), "no field `numNode`")
            .help("did you mean `numNodes`?")
            .label(source.span(21..28), "again here")
    }

    #[test]
    fn the_place_is_underlined_and_help_follows() {
        let want = "\
error[TM0002]: no field `numNode`
 --> p.yaml:2:3
  |
2 |   numNode: 3
  |   ^^^^^^^
3 |   numNode: 4
  |   ------- again here
  |
  = help: did you mean `numNodes`?
";
        assert_eq!(text(&example(), Color::Never), want);
    }

    #[test]
    fn json_has_every_part() {
        let want = json!({
            "code": "TM0002", "severity": "error", "message": "no field `numNode`", "file": "p.yaml",
            "line": 2, "column": 3, "endLine": 2, "endColumn": 10, "help": "did you mean `numNodes`?",
            "labels": [{ "file": "p.yaml", "line": 3, "column": 3, "endLine": 3, "endColumn": 10, "message": "again here" }],
        });
        assert_eq!(json(&example()), want);
    }

    #[test]
    fn a_field_of_an_object_stands_in_the_title() {
        let (object, path) = ("TrainJob ml/bert".to_owned(), "spec.trainer".to_owned());
        let span = Source::new("job.yaml", "spec: {trainer: 3}").span(16..17);
        let read = Diagnostic::warning(
            codes::YAML_SYNTAX,
            Place::SourceField { span, object: object.clone(), path: path.clone() },
            "is odd",
        );
        let shown = text(&read, Color::Never);
        assert!(shown.starts_with("warning[TM0002]: TrainJob ml/bert: spec.trainer: is odd\n"), "{shown}");
        assert!(shown.contains(" --> job.yaml:1:17\n"), "{shown}");
        let as_json = json(&read);
        assert_eq!((&as_json["field"], &as_json["column"]), (&json!("spec.trainer"), &json!(17)));

        let place = Place::Field { object, path };
        let diagnostic = Diagnostic::warning(codes::YAML_SYNTAX, place, "is odd").help("even it out");
        assert_eq!(
            text(&diagnostic, Color::Never),
            "warning[TM0002]: TrainJob ml/bert: spec.trainer: is odd\n  = help: even it out\n"
        );
    }
}
