//! What the process says of its work: lines on standard error.

use clap::ValueEnum;
use std::{fmt, io::IsTerminal as _};
use tracing_subscriber::EnvFilter;

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// One JSON object per line.
    Json,
    /// For people.
    Text,
}

/// Why there would be no log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The level cannot be read.
    #[error(
        "the log level {level:?} cannot be read: error, warn, info, debug, trace, or a list such as info,kube=debug"
    )]
    Level { level: String, source: tracing_subscriber::filter::ParseError },
    /// Somebody writes logs already.
    #[error("cannot begin to write logs")]
    Taken(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Writes log lines from now on, from `level` upwards. The libraries below say what they do only when asked to.
pub(crate) fn begin(level: &str, format: LogFormat) -> Result<(), Error> {
    let quiet = if level.contains(['=', ',']) {
        String::new()
    } else {
        ",hyper=warn,tower=warn,rustls=warn".to_owned()
    };
    let filter = EnvFilter::try_new(format!("{level}{quiet}"))
        .map_err(|source| Error::Level { level: level.to_owned(), source })?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Json => lines.json().flatten_event(true).with_span_list(false).try_init(),
        LogFormat::Text => lines.with_ansi(std::io::stderr().is_terminal()).with_target(false).try_init(),
    }
    .map_err(Error::Taken)
}

/// An error with its causes, in one line. Many libraries put a cause into the text of what it caused as well; it is not
/// said twice.
pub(crate) struct Chain<'a>(pub(crate) &'a dyn std::error::Error);

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.0.to_string();
        let mut source = self.0.source();
        while let Some(error) = source {
            let cause = error.to_string();
            if !text.contains(&cause) {
                text = format!("{text}: {cause}");
            }
            source = error.source();
        }
        f.write_str(&text)
    }
}
