//! The conditions of a TrainJob: one per type, in the order in which they first appeared.

use jiff::{Timestamp, Unit};
use serde_json::{Map, Value, json};

/// The TrainJob waits, or no longer does.
pub const SUSPENDED: &str = "Suspended";
/// It has reached its end.
pub const COMPLETE: &str = "Complete";
/// It has failed.
pub const FAILED: &str = "Failed";
/// It cannot be planned or applied; not one of upstream's. It goes when the problem does.
pub const BLOCKED: &str = "Blocked";

/// Longest message that the CRD takes, in characters.
const MAX_MESSAGE: usize = 32_768;

/// A condition to be set.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Condition {
    kind: String,
    status: &'static str,
    reason: String,
    message: String,
    /// When it became so; now, if nobody says.
    since: Option<String>,
    generation: Option<i64>,
}

impl Condition {
    pub(super) fn new(kind: &str, is_true: bool, reason: &str, message: &str) -> Self {
        Condition {
            kind: kind.to_owned(),
            status: if is_true { "True" } else { "False" },
            reason: valid_reason(reason),
            message: message.chars().take(MAX_MESSAGE).collect(),
            since: None,
            generation: None,
        }
    }

    /// The condition `kind` with what `observed`, a condition of a child, says of it.
    pub(super) fn copied(kind: &str, observed: &Value) -> Self {
        let text = |field: &str| observed[field].as_str().unwrap_or_default();
        let condition = Condition::new(kind, true, text("reason"), text("message"));
        let status = match text("status") {
            "False" => "False",
            "Unknown" => "Unknown",
            _ => "True",
        };
        let since = Some(text("lastTransitionTime")).filter(|time| time.parse::<Timestamp>().is_ok());
        let generation = observed["observedGeneration"].as_i64().filter(|it| *it >= 0);
        Condition { status, since: since.map(str::to_owned), generation, ..condition }
    }
}

/// A reason that the CRD takes: a child's could be anything, and a refused status would be stuck for ever.
fn valid_reason(reason: &str) -> String {
    let known = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | ',' | ':');
    let reason: String = reason.chars().filter(known).take(1024).collect();
    let reason = reason.trim_end_matches([',', ':']).trim_start_matches(|c: char| !c.is_ascii_alphabetic());
    if reason.is_empty() { "Unknown".to_owned() } else { reason.to_owned() }
}

/// The conditions of a status.
pub(super) struct Conditions {
    list: Vec<Value>,
    /// The moment, as conditions write it.
    now: String,
}

impl Conditions {
    pub(super) fn of(status: &Map<String, Value>, now: Timestamp) -> Self {
        let list = status.get("conditions").and_then(Value::as_array).cloned().unwrap_or_default();
        let now = now.round(Unit::Second).unwrap_or(now);
        Conditions { list, now: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string() }
    }

    pub(super) fn get(&self, kind: &str) -> Option<&Value> {
        self.list.iter().find(|it| it["type"] == kind)
    }

    pub(super) fn is_true(&self, kind: &str) -> bool {
        self.get(kind).is_some_and(|it| it["status"] == "True")
    }

    /// Whether the TrainJob has come to its end.
    pub(super) fn is_final(&self) -> bool {
        self.is_true(COMPLETE) || self.is_true(FAILED)
    }

    /// Sets a condition. The time of the last transition changes only with the status.
    pub(super) fn set(&mut self, new: Condition) {
        let Condition { kind, status, reason, message, since, generation } = new;
        let old = self.list.iter().position(|it| it["type"] == kind.as_str());
        let kept = old.and_then(|index| self.list.get(index)).filter(|it| it["status"] == status);
        let since = kept.map_or_else(
            || json!(since.unwrap_or_else(|| self.now.clone())),
            |it| it["lastTransitionTime"].clone(),
        );
        let mut condition = json!({
            "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since,
        });
        if let Some(generation) = generation {
            condition["observedGeneration"] = json!(generation);
        }
        match old.and_then(|index| self.list.get_mut(index)) {
            Some(place) => *place = condition,
            None => self.list.push(condition),
        }
    }

    pub(super) fn remove(&mut self, kind: &str) {
        self.list.retain(|it| it["type"] != kind);
    }

    /// Puts the conditions into a status.
    pub(super) fn store(self, status: &mut Map<String, Value>) {
        if self.list.is_empty() {
            status.remove("conditions");
        } else {
            status.insert("conditions".to_owned(), Value::Array(self.list));
        }
    }
}
