//! Quantities must be what Kubernetes' own code makes of them, as `main.go` beside this file wrote it down.
//!
//! The files are made again, after a new version in go.mod, by `go run . single > single.tsv` and
//! `go run . pairs > pairs.tsv` in this folder. Columns:
//!
//! - single.tsv: the text, quoted; what is printed (`=` for the text itself); the canonical form (`=` for what is
//!   printed); the format (B, D or E); `Value()`; `MilliValue()`; `AsInt64()` (`-` for none); `AsApproximateFloat64()`.
//!   A text alone is no quantity.
//! - pairs.tsv: two quantities, how they compare, their sum, its `AsInt64()`, their difference, its `AsInt64()`; or a
//!   quantity, `*` and a factor, the product, its `AsInt64()`.

use trainmaster::quantity::{Format, Quantity};

fn columns<const N: usize>(line: &str) -> Option<[&str; N]> {
    line.split('\t').collect::<Vec<_>>().try_into().ok()
}

fn integer(quantity: &Quantity) -> String {
    quantity.as_int64().map_or("-".to_owned(), |value| value.to_string())
}

/// Whether a rounded value is Go's, where Go has one: it answers 0 or a wrapped number for what does not fit, and rounds
/// some negative fractions up, by as much as two.
fn agrees(got: Option<i64>, go: i64) -> bool {
    const LEAST_IN_NANOS: i64 = i64::MIN / 1_000_000_000;
    match got {
        Some(got @ 0..) => got == go,
        Some(got @ LEAST_IN_NANOS..) => (0..=2).contains(&(go - got)),
        _ => true,
    }
}

#[test]
fn each_text_reads_and_prints_as_in_kubernetes() {
    let mut compared = 0;
    for line in include_str!("single.tsv").lines() {
        let Some((text, _)) = line.split_once('\t') else {
            let text: String = serde_json::from_str(line).unwrap();
            assert!(Quantity::parse(&text).is_err(), "{line} is no quantity");
            continue;
        };
        let text: String = serde_json::from_str(text).unwrap();
        let [_, printed, canonical, format, value, milli, int, float] = columns(line).unwrap();
        let printed = if printed == "=" { &text } else { printed };
        let canonical = if canonical == "=" { printed } else { canonical };
        let quantity = Quantity::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let got_format = match quantity.format() {
            Format::BinarySi => "B",
            Format::DecimalSi => "D",
            Format::DecimalExponent => "E",
        };
        assert_eq!(quantity.to_string(), printed, "printed: {text}");
        assert_eq!(quantity.canonical().to_string(), canonical, "canonical: {text}");
        assert_eq!(got_format, format, "format: {text}");
        assert_eq!(integer(&quantity), int, "AsInt64: {text}");
        let float: f64 = float.parse().unwrap();
        assert_eq!(
            quantity.as_approximate_float().to_bits(),
            float.to_bits(),
            "AsApproximateFloat64: {text}"
        );
        for (got, want) in [(quantity.value(), value), (quantity.milli_value(), milli)] {
            assert!(agrees(got, want.parse().unwrap()), "value: {text}: {got:?}, not {want}");
            compared += usize::from(got.is_some());
        }
    }
    assert!(compared > 2500, "only {compared} values compared");
}

#[test]
fn each_pair_compares_and_computes_as_in_kubernetes() {
    let parse = |text: &str| Quantity::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    for line in include_str!("pairs.tsv").lines() {
        if let Some((_, factor)) = line.split_once("\t*") {
            let factor: i64 = factor.split('\t').next().unwrap().parse().unwrap();
            let [quantity, _, want, int] = columns(line).unwrap();
            let product = parse(quantity).checked_mul(factor).unwrap();
            assert_eq!((product.to_string().as_str(), integer(&product).as_str()), (want, int), "{line}");
            continue;
        }
        let [a, b, order, sum, sum_int, difference, difference_int] = columns(line).unwrap();
        let (a, b) = (parse(a), parse(b));
        assert_eq!((a.cmp(&b) as i8).to_string(), order, "{line}");
        let got = [&a + &b, &a - &b];
        assert_eq!(got.each_ref().map(ToString::to_string), [sum, difference], "{line}");
        assert_eq!(got.each_ref().map(integer), [sum_int, difference_int], "{line}");
    }
}
