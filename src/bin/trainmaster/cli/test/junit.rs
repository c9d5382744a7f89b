//! Results for continuous integration: `JUnit`'s XML, a suite for each folder that has folders of cases. What no case reaches
//! has no place in it and is said instead.

use super::{Report, Tested, Verdict, shown, table, texts};
use crate::cli::Output;
use std::{collections::BTreeMap, fmt::Write as _, io};

pub(super) fn print(report: &Report, output: &mut Output) -> io::Result<()> {
    if let Some(coverage) = &report.coverage {
        output.say(table::text(coverage).trim_end());
    }
    output.data(&text(&report.tested))
}

fn text(tested: &[Tested]) -> String {
    let mut suites: BTreeMap<&str, Vec<(&str, &Verdict)>> = BTreeMap::new();
    for Tested { name, verdict } in tested {
        let (suite, name) = name.rsplit_once('/').unwrap_or(("", name));
        suites.entry(suite).or_default().push((name, verdict));
    }
    let counts = counts(tested.iter().map(|it| &it.verdict));
    let mut xml =
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"trainmaster\" {counts}>\n");
    for (suite, cases) in suites {
        let counts = self::counts(cases.iter().map(|(_, verdict)| *verdict));
        let suite = escaped(if suite.is_empty() { "." } else { suite });
        _ = writeln!(xml, "  <testsuite name=\"{suite}\" {counts} skipped=\"0\">");
        for (name, verdict) in cases {
            case(&mut xml, &suite, name, verdict);
        }
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn counts<'v>(verdicts: impl Iterator<Item = &'v Verdict>) -> String {
    let (mut tests, mut failures, mut errors) = (0, 0, 0);
    for verdict in verdicts {
        tests += 1;
        failures += usize::from(matches!(verdict, Verdict::Differs(_)));
        errors += usize::from(matches!(verdict, Verdict::Broken(_)));
    }
    format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\"")
}

fn case(xml: &mut String, suite: &str, name: &str, verdict: &Verdict) {
    let (element, message, body) = match verdict {
        Verdict::Passed | Verdict::Updated => {
            _ = writeln!(xml, "    <testcase classname=\"{suite}\" name=\"{}\"/>", escaped(name));
            return;
        }
        Verdict::Differs(differences) => {
            let files: Vec<&str> = differences.iter().map(|it| it.file).collect();
            let verb = if files.len() == 1 { "differs" } else { "differ" };
            let body: String = differences.iter().map(shown).collect();
            ("failure", format!("{} {verb}", files.join(" and ")), body)
        }
        Verdict::Broken(why) => {
            let message = why.first().map(|it| it.message.clone()).unwrap_or_default();
            ("error", message, texts(why))
        }
    };
    let (name, message, body) = (escaped(name), escaped(&message), escaped(&body));
    _ = writeln!(
        xml,
        "    <testcase classname=\"{suite}\" name=\"{name}\">\n      <{element} message=\"{message}\" \
         type=\"{element}\">{body}</{element}>\n    </testcase>"
    );
}

/// `text` as it may stand in an attribute or an element. XML 1.0 has no way to write most control characters.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(char),
            '\r' => out.push_str("&#13;"),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            char => out.push(char),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_cannot_hold_is_replaced_and_what_it_reads_as_markup_escaped() {
        assert_eq!(escaped("a<b> & \"c\"\u{1b}[0m\r\n"), "a&lt;b&gt; &amp; &quot;c&quot;\u{fffd}[0m&#13;\n");
    }
}
