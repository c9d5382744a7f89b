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

impl Lazy for Endpoints {
    fn len(&self) -> usize {
        self.length
    }

    fn get(&self, index: usize) -> Val<'static> {
        let Endpoints { before, after, .. } = self;
        match (index.checked_div(self.pods), index.checked_rem(self.pods)) {
            (Some(replica), Some(pod)) => Val::text(format!("{before}{replica}-{pod}{after}")),
            _ => Val::Null,
        }
    }

    fn item_bytes(&self) -> usize {
        self.before.len() + self.digits + self.after.len()
    }

    fn join(&self, separator: &str, text: &mut String) -> bool {
        let end = format!("{}{separator}", self.after);
        let mut number = itoa::Buffer::new();
        for replica in 0..self.length.checked_div(self.pods).unwrap_or(0) {
            let start = format!("{}{replica}-", self.before);
            for pod in 0..self.pods {
                text.push_str(&start);
                text.push_str(number.format(pod));
                text.push_str(&end);
            }
        }
        if self.length > 0 {
            text.truncate(text.len() - separator.len());
        }
        true
    }
}
