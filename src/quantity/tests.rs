use super::*;
use proptest::prelude::*;
use serde_json::json;

fn parse(text: &str) -> Quantity {
    Quantity::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn errors_say_what_is_wrong_with_the_text() {
    let check = |text: &str, want: &str| {
        assert_eq!(Quantity::parse(text).unwrap_err().to_string(), want, "{text}");
    };
    check("", "a quantity must not be empty");
    check("Three", "quantity `Three` does not start with a number");
    check("e-10", "quantity `e-10` does not start with a number");
    check("10GB", "quantity `10GB` has an unknown suffix `GB`; did you mean `G`?");
    check("1K", "quantity `1K` has an unknown suffix `K`; did you mean `k`?");
    check("5mib", "quantity `5mib` has an unknown suffix `mib`; did you mean `Mi`?");
    check("1 Gi", "quantity `1 Gi` has an unknown suffix ` Gi`");
    check("1e1.5", "the exponent of quantity `1e1.5` is not a whole number");
    check("1e+", "quantity `1e+` has an unknown suffix `e+`");
    check("1e1001", "quantity `1e1001` has an exponent beyond 1000");
    check("1e-999999999", "quantity `1e-999999999` has an exponent beyond 1000");
    check(&"1".repeat(1025), "a quantity has at most 1024 bytes, not 1025");
    check(&"x".repeat(90), &format!("quantity `{}…` does not start with a number", "x".repeat(40)));
}

#[test]
fn json_numbers_read_as_go_spells_them() {
    let check = |value: Value, want: &str| {
        assert_eq!(Quantity::from_json(&value).map(|q| q.to_string()), Ok(want.to_owned()), "{value}");
    };
    check(json!(4), "4");
    check(json!(-4000), "-4k");
    check(json!(1.5), "1500m");
    check(json!(0.1), "100m");
    check(json!(1e3), "1k");
    check(json!(1e21), "1e+21");
    check(json!(1e-9), "1e-9");
    check(json!(1e-7), "100e-9");
    check(json!(u64::MAX), "18446744073709552k");
    check(json!(" 01 "), "01");
    check(json!("+1"), "+1");
    check(json!("1000m"), "1");
}

#[test]
fn values_that_are_neither_text_nor_number_are_refused() {
    for value in [json!(null), json!(true), json!([]), json!({})] {
        assert!(matches!(Quantity::from_json(&value), Err(QuantityError::Type(_))), "{value}");
    }
}

#[test]
fn a_sum_is_written_like_its_first_part_that_is_not_zero() {
    let check = |parts: &[&str], want: &str| {
        let parts: Vec<_> = parts.iter().map(|text| parse(text)).collect();
        assert_eq!(parts.iter().sum::<Quantity>().to_string(), want, "{parts:?}");
    };
    check(&[], "0");
    check(&["0", "1Gi", "1G"], "2073741824");
    check(&["0", "1Gi", "1Gi"], "2Gi");
    check(&["500m", "1500m"], "2");
    check(&["1e3", "1k"], "2e3");
    check(&["01"], "1");
    check(&["8Ei", "8Ei"], "18446744073709551614");
}

#[test]
fn what_does_not_fit_is_none_and_not_wrapped() {
    assert_eq!(parse("100E").value(), None);
    assert_eq!(parse("10E").milli_value(), None);
    assert_eq!(parse("-1500000000000000000000m").value(), Some(-1_500_000_000_000_000_000));
    assert_eq!(parse("1e1000").value(), None);
}

#[test]
fn zeros_that_would_be_printed_as_too_large_an_exponent_are_refused() {
    assert_eq!(parse("9e999").to_string(), "9e999");
    assert_eq!(parse("10e1000").to_string(), "100e999");
    for text in ["1000e999", "9999999999000E999", "-10e1001", &format!("1{}e0", "0".repeat(1002))] {
        let error = Quantity::parse(text).unwrap_err();
        assert!(matches!(error, QuantityError::ExponentTooLarge(_)), "{text}: {error}");
    }
}

#[test]
fn digits_that_would_be_printed_as_too_many_are_refused() {
    let digits = |count: usize| "3".repeat(count);
    assert_eq!(parse(&format!("{}e3", digits(1022))).to_string(), format!("{}e3", digits(1022)));
    let error = Quantity::parse(&format!("{}e5", digits(1022))).unwrap_err();
    assert_eq!(error, QuantityError::TooLong(1026));
}

#[test]
fn a_product_stops_growing() {
    let mut product = parse("1e1000");
    let steps = std::iter::from_fn(|| {
        product = product.checked_mul(i64::MAX)?;
        Some(())
    });
    assert!(steps.count() < 300);
}

/// The text of a quantity.
fn valid() -> impl Strategy<Value = String> {
    let number = "[+-]?0{0,2}[0-9]{1,22}(\\.[0-9]{0,12})?|[+-]?\\.[0-9]{1,12}";
    let suffix = "([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-8]?[0-9]{1,2})?";
    (number, suffix).prop_map(|(number, suffix)| number + &suffix)
}

/// The text of a quantity, or of nearly one.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![valid(), "\\PC{0,12}", "[0-9eEiKm.+-]{0,12}"]
}

fn quantity() -> impl Strategy<Value = Quantity> {
    valid().prop_map(|text| parse(&text))
}

/// Beyond the largest suffix Kubernetes prints none, and the printed text is another number.
fn has_a_suffix(quantity: &Quantity) -> bool {
    quantity.format() == Format::DecimalExponent || {
        let limit = parse("1e21");
        -limit.clone() < quantity.clone() && quantity < &limit
    }
}

impl Neg for Quantity {
    type Output = Quantity;

    fn neg(self) -> Quantity {
        -&self
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in text()) {
        let _ = Quantity::parse(&text).map(|quantity| {
            (quantity.to_string(), quantity.value(), quantity.milli_value(), quantity.as_approximate_float())
        });
    }

    #[test]
    fn printing_keeps_the_amount(quantity in quantity()) {
        if has_a_suffix(&quantity) {
            prop_assert_eq!(&parse(&quantity.to_string()), &quantity);
            prop_assert_eq!(&parse(&quantity.canonical().to_string()), &quantity);
        }
    }

    #[test]
    fn what_was_printed_prints_the_same(quantity in quantity()) {
        let printed = quantity.to_string();
        prop_assert_eq!(parse(&printed).to_string(), printed);
    }

    #[test]
    fn sums_know_no_order(a in quantity(), b in quantity(), c in quantity()) {
        prop_assert_eq!(&a + &b, &b + &a);
        prop_assert_eq!(&(&a + &b) + &c, &a + &(&b + &c));
    }

    #[test]
    fn a_difference_undoes_a_sum(a in quantity(), b in quantity()) {
        prop_assert_eq!(&(&(&a + &b) - &b), &a);
        prop_assert_eq!(a.cmp(&b), (&a - &b).sign().cmp(&0));
    }

    #[test]
    fn a_product_is_a_repeated_sum(a in quantity(), factor in 0..20_i64) {
        let sum: Quantity = (0..factor).map(|_| &a).sum();
        prop_assert_eq!(a.checked_mul(factor), Some(sum));
    }

    #[test]
    fn the_order_is_total(a in quantity(), b in quantity(), c in quantity()) {
        let mut sorted = [a, b, c];
        sorted.sort();
        prop_assert!(sorted[0] <= sorted[1] && sorted[1] <= sorted[2] && sorted[0] <= sorted[2]);
        prop_assert_eq!(sorted[0].cmp(&sorted[2]), sorted[2].cmp(&sorted[0]).reverse());
    }

    #[test]
    fn a_value_is_the_next_whole_number_away_from_zero(a in quantity()) {
        if let Some(value) = a.value() {
            let whole = Quantity::from_int(value, Format::DecimalSi);
            let one = Quantity::from_int(i64::from(a.sign()), Format::DecimalSi);
            let closer = &whole - &one;
            let rounded_away = if a.sign() < 0 { whole <= a } else { whole >= a };
            let nearest = if a.sign() < 0 { a < closer } else { a.is_zero() || a > closer };
            prop_assert!(rounded_away && nearest);
        }
    }
}
