//! Names of what a JobSet makes, without a loop over pods.

use super::{
    call::{Arguments, Cost, Size, Work},
    library,
};
use crate::cel::{
    error::{Error, ErrorKind},
    value::{Lazy, List, Val},
};
use std::sync::Arc;

type Result<T> = std::result::Result<T, Error>;

/// Bytes of the random end of a pod's name, with its hyphen.
const RANDOM: usize = 6;

library! {
    JobSet;
    "jobset.endpoints": "The host names of all pods of a replicated job, in order: `<jobSet>-<replicatedJob>-<replica>-<pod>.<subdomain>`, for so many replicas of so many pods. The list takes no space however long it is.",
        "when a number is negative" {
        "jobset.endpoints(string, string, int, int, string) -> list(string)" => endpoints, Cost::new(Work::Read, Size::Pods);
    }
    "jobset.jobNameLength": "How many characters the longest name of a Job of a replicated job has: `<jobSet>-<replicatedJob>-<replica>`, for so many replicas.",
        "when the number is negative" {
        "jobset.jobNameLength(string, string, int) -> int" => job_name_length, Cost::READ;
    }
    "jobset.podNameLength": "How many characters the longest name of a pod of a replicated job has: `<jobSet>-<replicatedJob>-<replica>-<pod>-xxxxx`, for so many replicas of so many pods. Kubernetes allows 63.",
        "when a number is negative" {
        "jobset.podNameLength(string, string, int, int) -> int" => pod_name_length, Cost::READ;
    }
}

fn count(a: &Arguments, index: usize) -> Result<usize> {
    let negative = || Error::new(ErrorKind::OutOfRange, "a number of pods or replicas cannot be negative");
    usize::try_from(a.int(index)?).map_err(|_| negative().in_argument(index))
}

/// Digits of the greatest index below `count`.
fn digits(count: usize) -> usize {
    count.saturating_sub(1).checked_ilog10().unwrap_or(0) as usize + 1
}

fn endpoints<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let (job_set, job, subdomain) = (a.str(0)?, a.str(1)?, a.str(4)?);
    let (replicas, pods) = (count(a, 2)?, count(a, 3)?);
    let too_many = || Error::new(ErrorKind::Overflow, "there are more pods than can be counted");
    let length =
        replicas.checked_mul(pods).filter(|length| i64::try_from(*length).is_ok()).ok_or_else(too_many)?;
    let list = Endpoints {
        before: format!("{job_set}-{job}-"),
        after: if subdomain.is_empty() { String::new() } else { format!(".{subdomain}") },
        pods,
        length,
        digits: digits(replicas) + digits(pods) + 1,
    };
    a.budget.create(list.before.len() + list.after.len())?;
    Ok(Val::List(List::Lazy(Arc::new(list))))
}

fn job_name_length<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let length = a.str(0)?.len() + a.str(1)?.len() + digits(count(a, 2)?) + 2;
    Ok(Val::Int(i64::try_from(length).unwrap_or(i64::MAX)))
}

fn pod_name_length<'a>(a: &mut Arguments<'_, 'a>) -> Result<Val<'a>> {
    let job = a.str(0)?.len() + a.str(1)?.len() + digits(count(a, 2)?) + 2;
    let length = job + 1 + digits(count(a, 3)?) + RANDOM;
    Ok(Val::Int(i64::try_from(length).unwrap_or(i64::MAX)))
}

/// Host names as a rule: the one at an index is made when it is asked for.
#[derive(Debug)]
struct Endpoints {
    before: String,
    after: String,
    /// Pods of each replica.
    pods: usize,
    length: usize,
    /// Most digits of replica and pod, with the hyphen between them.
    digits: usize,
}

/// Appends the digits of a number, several times as fast as formatting does: a hostfile has tens of thousands.
fn push_number(text: &mut String, mut number: usize) {
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        if let (Some(digit), Ok(value)) = (digits.get_mut(start), u8::try_from(number % 10)) {
            *digit = b'0' + value;
        }
        number /= 10;
        if number == 0 {
            break;
        }
    }
    let digits = digits.get(start..).and_then(|digits| std::str::from_utf8(digits).ok());
    text.push_str(digits.unwrap_or_default());
}

impl Lazy for Endpoints {
    fn len(&self) -> usize {
        self.length
    }

    fn get(&self, index: usize) -> Val<'static> {
        let mut text = String::with_capacity(self.item_bytes());
        self.write(index, &mut text);
        Val::text(text)
    }

    fn item_bytes(&self) -> usize {
        self.before.len() + self.digits + self.after.len()
    }

    fn write(&self, index: usize, text: &mut String) -> bool {
        let (replica, pod) = (index.checked_div(self.pods), index.checked_rem(self.pods));
        let (replica, pod) = (replica.unwrap_or(0), pod.unwrap_or(0));
        text.push_str(&self.before);
        push_number(text, replica);
        text.push('-');
        push_number(text, pod);
        text.push_str(&self.after);
        true
    }
}
