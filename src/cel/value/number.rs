//! Conversions and text of doubles, as CEL has them.

/// The integer that is left when the fraction is cut off, if there is one of 64 bits. The ends of the range are left
/// out because no double between them and their neighbours exists to round to.
pub(in crate::cel) fn double_to_int(value: f64) -> Option<i64> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0; // 2^63
    #[allow(clippy::cast_possible_truncation, reason = "the range was checked")]
    (value > -LIMIT && value < LIMIT).then_some(value as i64)
}

/// The same for unsigned integers.
pub(in crate::cel) fn double_to_uint(value: f64) -> Option<u64> {
    const LIMIT: f64 = 18_446_744_073_709_551_616.0; // 2^64
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
    (0.0..LIMIT).contains(&value).then_some(value as u64)
}

/// The shortest text that reads back as `value`, with an exponent where that is below -4 or above 5, as Go's `%g` has
/// it: `string(1.5)` is `1.5`, `string(1500000.0)` is `1.5e+06`.
pub(in crate::cel) fn double_text(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf".into() } else { "-Inf".into() };
    }
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..=5).contains(&exponent) => {
            format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
        }
        _ => format!("{value}"),
    }
}
