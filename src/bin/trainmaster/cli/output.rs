//! The two streams: data and talk.

use std::io::{self, BufWriter, Stdout, Write as _};
use trainmaster::diagnostic::{Color, Diagnostic, Severity, render};

/// When messages are coloured.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum When {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Most diagnostics that are shown: who has mended these runs the command again.
const MOST: usize = 1000;

/// Where a verb writes to, and how many diagnostics it has shown.
pub(crate) struct Output {
    color: Color,
    data: BufWriter<Stdout>,
    pub(crate) errors: usize,
    pub(crate) warnings: usize,
}

impl Output {
    pub(crate) fn new(when: When) -> Output {
        let color = match when {
            When::Always => Color::Always,
            When::Never => Color::Never,
            When::Auto => match anstream::AutoStream::choice(&io::stderr()) {
                anstream::ColorChoice::Never => Color::Never,
                _ => Color::Always,
            },
        };
        Output { color, data: BufWriter::new(io::stdout()), errors: 0, warnings: 0 }
    }

    /// Writes data as it is.
    pub(crate) fn data(&mut self, text: &str) -> io::Result<()> {
        self.data.write_all(text.as_bytes())
    }

    /// Sends off what has been written.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.data.flush()
    }

    /// Says a line to the user. That nobody listens is no error.
    #[allow(clippy::unused_self, reason = "both streams are reached through this type")]
    pub(crate) fn say(&mut self, line: &str) {
        _ = writeln!(io::stderr(), "{line}");
    }

    /// Shows diagnostics, and counts them.
    pub(crate) fn show<'d>(&mut self, diagnostics: impl IntoIterator<Item = &'d Diagnostic>) {
        for diagnostic in diagnostics {
            self.count([diagnostic]);
            if self.errors + self.warnings > MOST {
                continue;
            }
            _ = writeln!(io::stderr(), "{}", render::text(diagnostic, self.color));
        }
    }

    /// Counts diagnostics that are shown otherwise.
    pub(crate) fn count<'d>(&mut self, diagnostics: impl IntoIterator<Item = &'d Diagnostic>) {
        for diagnostic in diagnostics {
            match diagnostic.severity {
                Severity::Error => self.errors += 1,
                Severity::Warning => self.warnings += 1,
            }
        }
    }

    /// How many errors and warnings there were: `2 errors, 1 warning`; none if there were none.
    pub(crate) fn tally(&self) -> Option<String> {
        let parts = [(self.errors, "error"), (self.warnings, "warning")];
        let parts: Vec<String> =
            parts.iter().filter(|(count, _)| *count > 0).map(|(count, noun)| counted(*count, noun)).collect();
        let unseen = (self.errors + self.warnings).saturating_sub(MOST);
        let unseen = if unseen > 0 { format!(", {unseen} of them not shown") } else { String::new() };
        (!parts.is_empty()).then(|| parts.join(", ") + &unseen)
    }
}

/// `1 error`, `2 errors`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    match (count, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        (_, None) => format!("{count} {noun}s"),
    }
}
