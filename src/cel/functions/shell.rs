//! Words for a POSIX shell.

use super::{
    call::{Arguments, Cost, Size, Work, no_overload},
    library,
};
use crate::cel::{error::Error, value::Val};

library! {
    Shell;
    "shell.join": "The words as one line that a POSIX shell splits into the same words again: those that hold a character of ASCII other than letters, digits and `_@%+=:,./-` are quoted.",
        "" {
        "shell.join(list(string)) -> string" => join, Cost::new(Work::Visit, Size::Words);
    }
}

fn join<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>, Error> {
    let list = a.list(0)?;
    let mut line = String::new();
    for (index, word) in list.iter().enumerate() {
        let word = word.as_str().ok_or_else(no_overload)?;
        a.budget.create(word.len() + 3 + 3 * word.matches('\'').count())?;
        if index > 0 {
            line.push(' ');
        }
        push_word(&mut line, word);
    }
    Ok(Val::text(line))
}

fn push_word(line: &mut String, word: &str) {
    let plain = |char: char| char.is_ascii_alphanumeric() || "_@%+=:,./-".contains(char) || !char.is_ascii();
    if !word.is_empty() && word.chars().all(plain) {
        line.push_str(word);
        return;
    }
    line.push('\'');
    line.push_str(&word.replace('\'', r"'\''"));
    line.push('\'');
}
