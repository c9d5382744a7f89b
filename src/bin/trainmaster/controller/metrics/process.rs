//! What the system says of the process, under the names of Prometheus' clients. Only where there is a `/proc`.

use super::Gauge;
use std::fs;

/// Clock ticks a second: what Linux tells programs on every platform that it runs on.
const TICKS: f64 = 100.0;

/// The numbers; none where the system does not tell.
pub(super) fn gauges() -> Vec<Gauge> {
    let gauge = |name, help, value: Option<f64>| Gauge {
        name,
        help,
        labels: &[],
        values: value.map(|value| (Vec::new(), value)).into_iter().collect(),
    };
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let all = [
        gauge("process_cpu_seconds_total", "CPU seconds spent, for itself and in the kernel.", cpu(&stat)),
        gauge("process_resident_memory_bytes", "Resident memory.", kilobytes(&status, "VmRSS:")),
        gauge("process_virtual_memory_bytes", "Virtual memory.", kilobytes(&status, "VmSize:")),
        gauge("process_open_fds", "Open file descriptors.", open_files()),
        gauge("process_start_time_seconds", "When the process began, in seconds since 1970.", start(&stat)),
    ];
    all.into_iter().filter(|gauge| !gauge.values.is_empty()).collect()
}

/// The fields of `stat` behind the program's name, which may hold anything; the first is the third of the manual.
fn fields(stat: &str) -> Option<Vec<&str>> {
    Some(stat.rsplit_once(')')?.1.split_whitespace().collect())
}

fn cpu(stat: &str) -> Option<f64> {
    let fields = fields(stat)?;
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / TICKS)
}

fn start(stat: &str) -> Option<f64> {
    let since_boot = fields(stat)?.get(19)?.parse::<f64>().ok()? / TICKS;
    let system = fs::read_to_string("/proc/stat").ok()?;
    let boot = system.lines().find_map(|line| line.strip_prefix("btime "))?;
    Some(boot.trim().parse::<f64>().ok()? + since_boot)
}

fn kilobytes(status: &str, name: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? * 1024.0)
}

fn open_files() -> Option<f64> {
    let count = fs::read_dir("/proc/self/fd").ok()?.count();
    u32::try_from(count).ok().map(f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_may_be_called_anything() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 0 0 0 0 0 150 50 0 0 20 0 3 0 100 1 1";
        assert_eq!(cpu(stat), Some(2.0));
        assert_eq!(kilobytes("VmSize:\t 12 kB\nVmRSS:\t  34 kB\n", "VmRSS:"), Some(34.0 * 1024.0));
        assert_eq!((cpu(""), kilobytes("", "VmRSS:")), (None, None));
    }
}
