//! `explain`: the page of a diagnostic's code.

use super::output::Output;
use crate::exit::Exit;
use std::io;
use trainmaster::diagnostic::{Code, codes, nearest};

/// Explain a message
///
/// Prints the page of a code: what it means, why it is so, and an example. Without a code all of them are listed.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The code of a message, or its name
    #[arg(value_name = "CODE")]
    code: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  # What error[TM0205] means
  trainmaster explain TM0205

  # All messages there are
  trainmaster explain";

pub(crate) fn run(args: &Args, output: &mut Output) -> io::Result<Exit> {
    let Some(wanted) = &args.code else {
        codes::ALL.iter().try_for_each(|code| output.data(&format!("{}  {}\n", code.id, code.name)))?;
        return Ok(Exit::Fine);
    };
    let found = Code::find(wanted).or_else(|| codes::ALL.iter().copied().find(|code| code.name == wanted));
    let Some(code) = found else {
        let names = codes::ALL.iter().flat_map(|code| [code.id, code.name]);
        let hint = nearest(wanted, names).map(|name| format!("; did you mean `{name}`?"));
        output.say(&format!("error: there is no code `{wanted}`{}", hint.unwrap_or_default()));
        return Ok(Exit::Usage);
    };
    output.data(code.page)?;
    Ok(Exit::Fine)
}
