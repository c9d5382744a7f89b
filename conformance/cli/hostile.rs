//! Bad input: whatever a TrainJob, a runtime or a policy holds, the answer is a diagnostic or a plan, in bounded time and
//! memory, and the other objects are none the worse for it.

use crate::command::BINARY;
use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// What the process may need at most. The largest text that is read has 4 MiB.
const PEAK: u64 = 512 << 20;
/// Messages about one bad file.
const TALK: usize = 2 << 20;
/// By when even a slow machine is done: what has not ended by then hangs.
const PATIENCE: Duration = Duration::from_secs(300);

const RUNTIME: &str = "\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: NAME, annotations: {ANNOTATIONS}}
spec:
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: busybox}CONTAINERS]}}}JOBS
";

const POLICY: &str = "\
apiVersion: policy.trainmaster.dev/v1alpha1
kind: TrainingPolicy
metadata: {name: hostile}
spec:
  version: 1.0.0
  language: \"1\"
  activation: {expression: trainJob.metadata.name == \"hostile\"}
";

fn runtime(name: &str) -> String {
    RUNTIME.replace("NAME", name).replace("ANNOTATIONS", "").replace("CONTAINERS", "").replace("JOBS", "")
}

fn train_job(name: &str, runtime: &str, rest: &str) -> String {
    format!(
        "---\napiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {{name: {name}}}\nspec:\n  \
         runtimeRef: {{name: {runtime}}}\n{rest}\n"
    )
}

/// What becomes of the bad file.
enum Fate {
    /// It is reported under this code, and nothing is made of it.
    Refused(&'static str),
    /// It is a policy, which is reported under this code and left out.
    LeftOut(&'static str),
    /// It is unusual and all right.
    Rendered,
}
use Fate::{LeftOut, Refused, Rendered};

struct Case {
    name: &'static str,
    manifest: Vec<u8>,
    policy: String,
    fate: Fate,
}

fn manifest(name: &'static str, text: impl Into<Vec<u8>>, fate: Fate) -> Case {
    Case { name, manifest: text.into(), policy: String::new(), fate }
}

fn job(name: &'static str, rest: &str, fate: Fate) -> Case {
    manifest(name, train_job("hostile", "plain", rest), fate)
}

fn policy(name: &'static str, rest: &str, fate: Fate) -> Case {
    Case { policy: format!("{POLICY}{rest}\n"), ..job(name, "", fate) }
}

fn repeated(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect()
}

fn trees() -> Vec<Case> {
    let bomb = repeated(12, |level| match level {
        0 => "  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned(),
        level => {
            let alias = format!("*a{}", level - 1);
            format!("  a{level}: &a{level} [{}]\n", [alias.as_str(); 10].join(", "))
        }
    });
    let merges = repeated(40, |level| match level {
        0 => "  m0: &m0 {a: b}\n".to_owned(),
        level => format!("  m{level}: &m{level} {{<<: [*m{0}, *m{0}], k{level}: v}}\n", level - 1),
    });
    vec![
        job("aliases that multiply", &bomb, Refused("TM0005")),
        job("merges of merges", &merges, Refused("TM0005")),
        job("an alias within its anchor", "  trainer: &a {env: *a}\n", Refused("TM0002")),
        job("100,000 brackets", &format!("  trainer: {}", "[".repeat(100_000)), Refused("TM0002")),
        job("100,000 braces", &format!("  trainer: {}", "{a: ".repeat(100_000)), Refused("TM0005")),
        job("a key of keys", &format!("  ? {}", "? ".repeat(10_000)), Refused("TM0005")),
        job(
            "indentation 2,000 deep",
            &repeated(2_000, |depth| format!("{}a:\n", " ".repeat(depth + 2))),
            Refused("TM0005"),
        ),
        manifest("no UTF-8", b"kind: \xff\xfe\x00".to_vec(), Refused("TM0001")),
        manifest("zeros", vec![0; 1 << 20], Refused("TM0002")),
        manifest("5 MiB", vec![b'#'; 5 << 20], Refused("TM0001")),
        manifest("a 4 MiB comment", [vec![b'#'; (4 << 20) - 1], b"\n".to_vec()].concat(), Rendered),
        manifest("100,000 documents", "--- {}\n".repeat(100_000), Refused("TM0501")),
        manifest("a million list items", format!("[{}]", "1,".repeat(1_000_000)), Refused("TM0501")),
        manifest("an unclosed quote", format!("a: \"{}", "x\n".repeat(500_000)), Refused("TM0002")),
        manifest("escapes", "kind: \"\\e]0;title\\a\\e[31m\"\n", Refused("TM0501")),
    ]
}

fn fields() -> Vec<Case> {
    let megabyte = "x".repeat(1 << 20);
    let env = |line: &dyn Fn(usize) -> String| format!("  trainer:\n    env:\n{}", repeated(20_000, line));
    vec![
        job("a key twice", "  suspend: true\n  suspend: false", Refused("TM0003")),
        job("a long image", &format!("  trainer: {{image: {megabyte}}}"), Refused("TM0501")),
        job("a long field", &format!("  {megabyte}: 1"), Refused("TM0002")),
        job(
            "a long number",
            &format!("  trainer: {{numNodes: 1{}}}", "0".repeat(100_000)),
            Refused("TM0004"),
        ),
        job(
            "a long type error on one line",
            &format!("  trainer: {{image: [{megabyte}]}}"),
            Refused("TM0501"),
        ),
        job("most nodes", "  trainer: {numNodes: 2147483647}", Rendered),
        job("one node more", "  trainer: {numNodes: 2147483648}", Refused("TM0501")),
        job("a node and a half", "  trainer: {numNodes: 1.5}", Refused("TM0501")),
        job("not a number", "  trainer: {numNodes: .nan}", Refused("TM0004")),
        quantity("a large exponent", "1e999999999"),
        quantity("a broken exponent", "1e1.5"),
        quantity("an exponent of exponents", "1e99999999999999999999999999"),
        quantity("no digit", "Gi"),
        quantity("a sign", "--1"),
        job(
            "20,000 variables",
            &env(&|index| format!("    - {{name: N{index}, value: v}}\n")),
            Refused("TM0501"),
        ),
        job(
            "20,000 type errors",
            &env(&|index| format!("    - {{name: N{index}, value: 1}}\n")),
            Refused("TM0501"),
        ),
        job("20,000 equal names", &env(&|_| "    - {name: N, value: v}\n".to_owned()), Refused("TM0501")),
        job("20,000 unknown fields", &repeated(20_000, |index| format!("  f{index}: 1\n")), Rendered),
        job("20,000 nulls", &env(&|_| "    -\n".to_owned()), Refused("TM0501")),
        job("escapes in a name", "  trainer: {\"\\e[31mred\": 1}", Rendered),
        manifest(
            "5,000 objects, each wrong twice",
            repeated(5_000, |index| train_job(&format!("bad{index}"), "plain", "  suspend: 1\n  suspend: 2")),
            Refused("TM0003"),
        ),
        manifest(
            "1,000 TrainJobs",
            repeated(1_000, |index| train_job(&format!("hostile-{index}"), "plain", "")),
            Rendered,
        ),
        job("1,000 patches", &patches(1_000), Refused("TM0501")),
        job("patches upon patches", &patches(16), Rendered),
    ]
}

fn quantity(name: &'static str, amount: &str) -> Case {
    let rest = format!("  trainer: {{resourcesPerNode: {{requests: {{cpu: \"{amount}\"}}}}}}");
    job(name, &rest, Refused("TM0501"))
}

/// So many changes to one template.
fn patches(count: usize) -> String {
    let mut text = "  runtimePatches:\n".to_owned();
    for index in 0..count {
        _ = write!(
            text,
            "  - manager: m{index}.example.com/x\n    trainingRuntimeSpec: {{template: {{spec: {{replicatedJobs: [{{name: node, \
             template: {{spec: {{template: {{spec: {{tolerations: [{{key: k{index}}}], \
             nodeSelector: {{n{index}: v}}}}}}}}}}}}]}}}}}}\n"
        );
    }
    text
}

fn runtimes() -> Vec<Case> {
    let containers = repeated(10_000, |index| format!(", {{name: c{index}, image: i}}"));
    let jobs = repeated(100, |job| {
        let containers = repeated(50, |index| format!("{{name: c{index}, image: i}}, "));
        format!(
            "\n      - name: job{job}\n        replicas: 1000\n        template: {{spec: {{template: {{spec: {{containers: [{containers}]}}}}}}}}"
        )
    });
    let with = |containers: &str, jobs: &str, annotations: &str| {
        RUNTIME
            .replace("NAME", "big")
            .replace("ANNOTATIONS", annotations)
            .replace("CONTAINERS", containers)
            .replace("JOBS", jobs)
            + &train_job("hostile", "big", "")
    };
    let pin = train_job("hostile", "plain", "")
        + "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: hostile-runtime-snapshot\n  namespace: default\n  \
           ownerReferences: [{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, name: hostile, uid: u, controller: true}]\n\
           data:\n  runtime: |\n    "
        + &"[".repeat(10_000);
    let annotated = with("", "", "\"example.dev/params\": \"[[[[[[[[[[[[[[[[[[[[[[[[[[\"");
    vec![
        manifest("10,000 containers", with(&containers, "", ""), Rendered),
        manifest("100 jobs of 50 containers and 1,000 replicas", with("", &jobs, ""), Rendered),
        manifest("a pinned runtime of brackets", pin, Refused("TM0612")),
        Case {
            policy: format!(
                "{POLICY}  params:\n    schema: {{a: string}}\n    runtime: metadata.annotations[example.dev/params]\n"
            ),
            ..manifest("parameters of brackets", annotated, Refused("TM0607"))
        },
    ]
}

fn policies() -> Vec<Case> {
    let deep = |open: &str, close: &str| {
        format!("  variables:\n  - {{name: a, expression: '{}1{}'}}", open.repeat(5_000), close.repeat(5_000))
    };
    let validation = |expression: &str| {
        format!("  validations:\n  - {{name: v, expression: '{expression}', path: spec, message: m}}")
    };
    let doubled = "  variables:\n  - {name: v0, expression: trainJob.metadata.name}\n".to_owned()
        + &repeated(60, |index| {
            format!("  - {{name: v{}, expression: variables.v{index} + variables.v{index}}}\n", index + 1)
        })
        + &validation("variables.v60.size() == 0");
    // The bound of the loop is the TrainJob's, so that only running it can tell.
    let loops = "trainJob.spec.trainer.numNodes >= 0 && lists.range(trainJob.spec.trainer.numNodes).all(a, \
                 lists.range(trainJob.spec.trainer.numNodes).all(b, lists.range(1000).all(c, a + b + c >= 0)))";
    let spends = Case {
        policy: format!("{POLICY}{}\n", validation(loops)),
        ..job("a budget that a TrainJob spends", "  trainer: {numNodes: 1000000}", Refused("TM0221"))
    };
    vec![
        policy("5,000 parentheses", &deep("(", ")"), LeftOut("TM0202")),
        policy("5,000 lists", &deep("[", "]"), LeftOut("TM0202")),
        policy("5,000 signs", &deep("-", ""), LeftOut("TM0202")),
        policy("a long expression", &validation(&"true && ".repeat(10_000)), LeftOut("TM0202")),
        policy("text that doubles", &doubled, Refused("TM0221")),
        policy(
            "loops within loops",
            &validation("lists.range(100000).all(a, lists.range(100000).all(b, a + b >= 0))"),
            LeftOut("TM0210"),
        ),
        policy(
            "a bad pattern",
            &validation("trainJob.metadata.name.matches(\"(((a{1000}){1000}){1000})\")"),
            LeftOut("TM0209"),
        ),
        policy(
            "10,000 rules",
            &("  validations:\n".to_owned()
                + &repeated(10_000, |index| {
                    format!("  - {{name: v{index}, expression: 1, path: spec, message: m}}\n")
                })),
            LeftOut("TM0313"),
        ),
        policy(
            "10,000 unknown fields",
            &repeated(10_000, |index| format!("  f{index}: 1\n")),
            LeftOut("TM0103"),
        ),
        policy(
            "a hole that is not closed",
            "  mutations:\n  - {name: m, phase: ml, podSets: {all: true}, set: {template: {metadata: {labels: {a: \"${{{{{{\"}}}}}",
            LeftOut("TM0311"),
        ),
        spends,
    ]
}

#[test]
fn bad_input_is_answered_within_bounds_and_harms_no_other_object() {
    let mut problems = String::new();
    for (index, case) in [trees(), fields(), runtimes(), policies()].into_iter().flatten().enumerate() {
        let ran = run(&case, index);
        println!(
            "{:<48} {:>6} KiB {:>6} ms  {}",
            case.name,
            ran.peak >> 10,
            ran.time.as_millis(),
            ran.first()
        );
        for problem in ran.problems(&case) {
            _ = writeln!(problems, "{}: {problem}", case.name);
        }
    }
    assert!(problems.is_empty(), "{problems}");
}

struct Ran {
    code: Option<i32>,
    peak: u64,
    time: Duration,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn first(&self) -> String {
        self.stderr.lines().next().unwrap_or_default().chars().take(100).collect()
    }

    fn problems(&self, case: &Case) -> Vec<String> {
        let mut problems = Vec::new();
        let mut must = |holds: bool, what: String| {
            if !holds {
                problems.push(what);
            }
        };
        let (renders, code) = match case.fate {
            Refused(code) => (false, Some(code)),
            LeftOut(code) => (true, Some(code)),
            Rendered => (!case.manifest.starts_with(b"#"), None),
        };
        let hostile = self.stdout.contains("/hostile");
        must(hostile == renders, format!("rendered: {hostile}, should be {renders}"));
        must(
            self.stdout.contains("jobset.jobset.x-k8s.io/good\n"),
            "the other TrainJob is not rendered".into(),
        );
        match code {
            Some(code) => {
                let head = format!("error[{code}]");
                must(self.stderr.contains(&head), format!("no {code}: {}", self.first()));
                must(matches!(self.code, Some(1 | 2)), format!("exit {:?}", self.code));
            }
            None => must(self.code == Some(0), format!("exit {:?}: {}", self.code, self.first())),
        }
        must(self.peak < PEAK, format!("{} bytes", self.peak));
        must(self.stderr.len() < TALK, format!("{} bytes of messages", self.stderr.len()));
        must(!self.stderr.contains(['\u{1b}', '\u{7}']), "control characters reach the terminal".into());
        problems
    }
}

fn run(case: &Case, index: usize) -> Ran {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hostile-{index}"));
    fs::create_dir_all(folder.join("policies")).unwrap();
    let good = runtime("plain") + &train_job("good", "plain", "");
    fs::write(folder.join("good.yaml"), good).unwrap();
    fs::write(folder.join("hostile.yaml"), &case.manifest).unwrap();
    fs::write(folder.join("policies/policy.yaml"), &case.policy).unwrap();
    let (stdout, stderr) = (folder.join("stdout"), folder.join("stderr"));
    let file = |path: &PathBuf| Stdio::from(fs::File::create(path).unwrap());
    let begin = Instant::now();
    let mut child = Command::new(BINARY)
        .args(["render", "-f", ".", "-o", "name", "--policy-dir", "policies"])
        .current_dir(&folder)
        .stdout(file(&stdout))
        .stderr(file(&stderr))
        .spawn()
        .unwrap();
    let (code, peak) = watch(&mut child, begin);
    let read = |path: &PathBuf| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    let ran = Ran { code, peak, time: begin.elapsed(), stdout: read(&stdout), stderr: read(&stderr) };
    fs::remove_dir_all(&folder).unwrap();
    ran
}

/// Waits for the process; its exit code, and the most memory it was seen with.
fn watch(child: &mut Child, begin: Instant) -> (Option<i32>, u64) {
    let mut peak = 0;
    loop {
        peak = resident_peak(child.id()).max(peak);
        if let Some(status) = child.try_wait().unwrap() {
            return (status.code(), peak);
        }
        if begin.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            return (None, peak);
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// The most resident memory so far, in bytes, where the system tells; 0 elsewhere, and once the process has ended.
fn resident_peak(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok()).unwrap_or(0) << 10
}
