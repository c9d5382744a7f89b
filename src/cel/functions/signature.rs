//! The types of an overload, from the text that documents it.

use crate::cel::types::Type;

/// The types of an overload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Whether it is called on a receiver, which is then the first of `params`.
    pub method: bool,
    /// What it takes.
    pub params: Vec<Type>,
    /// What it gives.
    pub result: Type,
}

impl Signature {
    /// The signature that `text` says for the function `name`: `name(int, list(T)) -> T`, or `string.name(int) -> T`
    /// for a method. `None` for any other text.
    pub fn parse(name: &str, text: &str) -> Option<Signature> {
        let (call, result) = text.rsplit_once(" -> ")?;
        let (receiver, args) = match call.strip_prefix(name).filter(|rest| rest.starts_with('(')) {
            Some(args) => (None, args),
            None => {
                let at = call.find(&format!(".{name}("))?;
                (Some(call.get(..at)?), call.get(at + 1 + name.len()..)?)
            }
        };
        let args = args.strip_prefix('(')?.strip_suffix(')')?;
        let mut params: Vec<Type> = receiver.map(parse_type).into_iter().collect::<Option<_>>()?;
        let method = !params.is_empty();
        for arg in split(args) {
            params.push(parse_type(arg)?);
        }
        Some(Signature { method, params, result: parse_type(result)? })
    }
}

fn parse_type(text: &str) -> Option<Type> {
    let text = text.trim();
    if let Some((outer, inner)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        let inner: Vec<Type> = split(inner).into_iter().map(parse_type).collect::<Option<_>>()?;
        return match (outer, inner.as_slice()) {
            ("list", [item]) => Some(Type::list(item.clone())),
            ("optional", [value]) => Some(Type::optional(value.clone())),
            ("map", [key, value]) => Some(Type::map(key.clone(), value.clone())),
            _ => None,
        };
    }
    match text {
        "T" => Some(Type::Param(0)),
        "U" => Some(Type::Param(1)),
        "V" => Some(Type::Param(2)),
        _ => Type::SIMPLE.iter().find(|(name, _)| *name == text).map(|(_, ty)| ty.clone()),
    }
}

/// The parts of `text` between the commas outside parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    let parts = text.split(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    parts.filter(|part| !part.trim().is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cel::functions::functions;

    #[test]
    fn every_signature_in_the_tables_is_one() {
        for function in functions() {
            for overload in function.overloads {
                let signature = Signature::parse(function.name, overload.signature);
                assert!(signature.is_some(), "{}: {}", function.name, overload.signature);
            }
        }
    }

    #[test]
    fn a_method_has_its_receiver_as_first_parameter() {
        let signature = Signature::parse("slice", "list(T).slice(int, int) -> list(T)").unwrap();
        let list = Type::list(Type::Param(0));
        assert!(signature.method);
        assert_eq!(signature.params, [list.clone(), Type::Int, Type::Int]);
        assert_eq!(signature.result, list);
    }

    #[test]
    fn a_dotted_name_stands_alone() {
        let signature = Signature::parse("a.b", "a.b(map(string, list(T)), T) -> T").unwrap();
        assert!(!signature.method);
        assert_eq!(signature.params.len(), 2);
    }

    #[test]
    fn any_other_text_is_none() {
        for text in ["", "f", "f()", "f() -> x", "g() -> int", "f(lst(T)) -> T", "f(list(T) -> T"] {
            assert_eq!(Signature::parse("f", text), None, "{text}");
        }
    }
}
