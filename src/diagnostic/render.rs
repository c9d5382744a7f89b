//! Diagnostics as text with the source line underlined, and as JSON.

use super::{Diagnostic, Label, Place, Severity, Span};
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
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    let mut text = renderer.render(&[group]);
    text.push('\n');
    text
}

fn title(diagnostic: &Diagnostic) -> String {
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

/// One snippet per text, the primary place's first.
fn snippets(diagnostic: &Diagnostic) -> Vec<Snippet<'_, Annotation<'_>>> {
    let mut texts: Vec<(&Span, Vec<Annotation>)> = Vec::new();
    if let Some(span) = diagnostic.place.span() {
        texts.push((span, vec![AnnotationKind::Primary.span(visible(span))]));
    }
    for Label { span, text } in &diagnostic.labels {
        let annotation = AnnotationKind::Context.span(visible(span)).label(text.as_str());
        match texts.iter_mut().find(|(first, _)| first.source() == span.source()) {
            Some((_, annotations)) => annotations.push(annotation),
            None => texts.push((span, vec![annotation])),
        }
    }
    texts
        .into_iter()
        .map(|(span, annotations)| {
            Snippet::source(span.source().text()).path(span.source().name()).annotations(annotations)
        })
        .collect()
}

/// The part of a span to underline: its first line, so that a block of text does not fill the screen.
fn visible(span: &Span) -> std::ops::Range<usize> {
    let first = span.text().lines().next().map_or(0, |line| line.trim_end().len());
    span.start()..span.start() + first
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
    use super::super::{Source, codes};
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
        let diagnostic = Diagnostic::warning(codes::YAML_SYNTAX, place, "is odd");
        assert_eq!(
            text(&diagnostic, Color::Never),
            "warning[TM0002]: TrainJob ml/bert: spec.trainer: is odd\n"
        );
    }
}
