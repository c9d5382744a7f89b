//! Two texts as quantities: reading, printing, comparing and calculating.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::json;
use std::cmp::Ordering;
use trainmaster::quantity::{MAX_LENGTH, Quantity};

fuzz_target!(|input: &str| {
    let (a, b) = input.split_once('\n').unwrap_or((input, "1"));
    let _ = Quantity::from_json(&json!(a));
    let (Ok(a), Ok(b)) = (read(a), read(b)) else { return };
    assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
    let (ab, ba) = (&a + &b, &b + &a);
    assert_eq!(ab.cmp(&ba), Ordering::Equal, "{a:?} + {b:?}");
    assert_eq!((&a - &b).sign(), sign(a.cmp(&b)), "{a:?} - {b:?}");
    assert_eq!((-&a).sign(), -a.sign());
    for sum in [ab, &a - &b] {
        let printed = sum.canonical().to_string();
        assert!(printed.len() <= 2 * MAX_LENGTH, "{printed}");
        let _ = Quantity::parse(&printed);
    }
    if let Some(product) = a.checked_mul(3) {
        assert_eq!(product.sign(), a.sign());
    }
});

/// A quantity that is printed and read again is the same, and its canonical form is its own.
fn read(text: &str) -> Result<Quantity, ()> {
    let quantity = Quantity::parse(text).map_err(|error| assert!(error.to_string().len() < 4096))?;
    let printed = quantity.to_string();
    let again =
        Quantity::parse(&printed).unwrap_or_else(|error| panic!("{text:?} prints {printed:?}: {error}"));
    assert_eq!(again.to_string(), printed, "{text:?}");
    let (value, milli) = (quantity.value(), quantity.milli_value());
    assert!(value.is_some() || milli.is_none(), "{text:?}: {milli:?} thousandths without a whole number");
    let _ = (quantity.as_int64(), quantity.as_approximate_float());
    Ok(quantity)
}

fn sign(ordering: Ordering) -> i8 {
    ordering as i8
}
