"""What becomes of the objects: JobSet to Jobs to pods, when each starts, when all have ended well."""

import re
import secrets
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import kubelet

LIMIT = 300
NODE = Path("/run/truth")


class Failure(Exception):
    """The TrainJob did not do what the case expects of it."""


@dataclass
class Pod:
    """A pod and what is known of it. `key` is job, replica and index: its name in a case."""

    key: str
    job: dict
    index: int
    hostname: str
    subdomain: str
    namespace: str
    labels: dict
    annotations: dict
    spec: dict
    name: str = ""
    address: str = ""
    network: str = ""
    folder: Path = None
    waiting: list = field(default_factory=list)
    process: subprocess.Popen = None
    state: str = "Pending"
    restarts: int = 0

    def log(self, logs):
        return logs / f"{self.key}.log"


def pods_of(jobset):
    """The pods that the JobSet controller and the Job controller would make."""
    metadata, spec = jobset["metadata"], jobset["spec"]
    for job in spec["replicatedJobs"]:
        for replica in range(job.get("replicas", 1)):
            for index in range(job["template"]["spec"].get("completions", 1)):
                yield make_pod(metadata, spec, job, replica, index)


def make_pod(metadata, spec, job, replica, index):
    name = metadata["name"]
    template = job["template"]["spec"]["template"]
    said = template.get("metadata", {})
    jobset = {
        "jobset.sigs.k8s.io/jobset-name": name,
        "jobset.sigs.k8s.io/replicatedjob-name": job["name"],
        "jobset.sigs.k8s.io/replicatedjob-replicas": str(job.get("replicas", 1)),
        "jobset.sigs.k8s.io/job-index": str(replica),
        "jobset.sigs.k8s.io/restart-attempt": "0",
        "batch.kubernetes.io/job-name": f"{name}-{job['name']}-{replica}",
        "batch.kubernetes.io/job-completion-index": str(index),
    }
    pod = Pod(
        key=f"{job['name']}-{replica}-{index}",
        job=job,
        index=index,
        hostname=f"{name}-{job['name']}-{replica}-{index}",
        subdomain=spec.get("network", {}).get("subdomain", name),
        namespace=metadata["namespace"],
        labels={**said.get("labels", {}), **job["template"].get("metadata", {}).get("labels", {}), **jobset},
        annotations={**said.get("annotations", {}), **jobset},
        spec=template["spec"],
    )
    # What the Job controller adds, after all others.
    number = {"fieldRef": {"fieldPath": "metadata.labels['batch.kubernetes.io/job-completion-index']"}}
    for container in pod.spec.get("initContainers", []) + pod.spec["containers"]:
        if not any(entry["name"] == "JOB_COMPLETION_INDEX" for entry in container.get("env", [])):
            container.setdefault("env", []).append({"name": "JOB_COMPLETION_INDEX", "valueFrom": number})
    return pod


class Cluster:
    """One TrainJob's objects, and its pods until it has ended."""

    def __init__(self, items, case, logs, network):
        self.objects = {(item["kind"], item["metadata"]["name"]): item for item in items}
        self.jobset = next(item for item in items if item["kind"] == "JobSet")
        self.pods = {pod.key: pod for pod in pods_of(self.jobset)}
        self.case = case
        self.logs = logs
        self.network = network
        self.network.names.clear()
        self.steps = list(case.get("steps", []))
        self.restarts = 0
        logs.mkdir(parents=True, exist_ok=True)
        for old in logs.glob("*.log"):
            old.unlink()

    def run(self):
        """Until the JobSet is complete; fails where it is not in time, or has printed something else."""
        begun = time.monotonic()
        try:
            while not self.complete():
                elapsed = time.monotonic() - begun
                if elapsed > self.case.get("timeout", LIMIT):
                    states = ", ".join(f"{pod.key} {pod.state}" for pod in self.pods.values())
                    raise Failure(f"not done after {elapsed:.0f} s: {states}")
                self.start_pods(elapsed)
                self.watch()
                self.take_steps()
                time.sleep(0.1)
        finally:
            for pod in self.pods.values():
                self.kill(pod)
        if self.steps:
            raise Failure(f"never came to: {self.steps[0]}")
        self.compare()

    def complete(self):
        """By the JobSet's success policy, or when all jobs are."""
        policy = self.jobset["spec"].get("successPolicy", {})
        targets = policy.get("targetReplicatedJobs") or [job["name"] for job in self.jobset["spec"]["replicatedJobs"]]
        done = [self.job_complete(job) for job in self.jobset["spec"]["replicatedJobs"] if job["name"] in targets]
        return any(done) if policy.get("operator") == "Any" else all(done)

    def job_complete(self, job):
        pods = [pod for pod in self.pods.values() if pod.job is job]
        succeeded = sum(pod.state == "Succeeded" for pod in pods)
        rules = job["template"]["spec"].get("successPolicy", {}).get("rules", [])
        return succeeded == len(pods) or any(succeeded >= rule["succeededCount"] for rule in rules)

    def start_pods(self, elapsed):
        late = self.case.get("late", {})
        for pod in self.pods.values():
            if pod.state == "Pending" and elapsed >= late.get(pod.key, 0) and self.may_start(pod):
                self.start(pod)

    def may_start(self, pod):
        return all(
            self.ready(other) if wanted["status"] == "Ready" else other.state == "Succeeded"
            for wanted in pod.job.get("dependsOn", [])
            for other in self.pods.values()
            if other.job["name"] == wanted["name"]
        )

    def ready(self, pod):
        """Whether the pod's containers run, and answer if they have a probe for that."""
        probe = pod.spec["containers"][0].get("readinessProbe", {}).get("tcpSocket")
        if pod.state != "Running" or probe is None:
            return pod.state == "Running"
        try:
            socket.create_connection((pod.address, probe["port"]), 0.2).close()
            return True
        except OSError:
            return False

    def start(self, pod):
        """A new pod: another name and address than one before it had."""
        pod.name = f"{pod.hostname}-{secrets.token_hex(3)[:5]}"
        pod.network, pod.address = self.network.join()
        pod.folder = NODE / pod.name
        if len(pod.spec["containers"]) > 1:
            raise kubelet.Unsupported("pods of several containers")
        kubelet.prepare(pod, self.objects)
        pod.waiting = [*pod.spec.get("initContainers", []), pod.spec["containers"][0]]
        self.publish()
        self.start_container(pod)

    def start_container(self, pod):
        container = pod.waiting[0]
        image = self.case.get("images", {}).get(container["name"], self.case["image"])
        with pod.log(self.logs).open("ab") as log:
            pod.process = kubelet.start(pod, container, image, self.objects, log)
        pod.state = "Running" if len(pod.waiting) == 1 else "Initializing"

    def publish(self):
        """The names that the services give: the JobSet's own, and those that were rendered."""
        names, zone = {}, f"svc.{kubelet.DOMAIN}"
        services = [item for item in self.objects.values() if item["kind"] == "Service"]
        for pod in self.pods.values():
            if pod.address:
                service = f"{pod.subdomain}.{pod.namespace}.{zone}"
                names.setdefault(service, []).append(pod.address)
                names[f"{pod.hostname}.{service}"] = [pod.address]
            for item in services:
                if pod.address and item["spec"]["selector"].items() <= pod.labels.items():
                    metadata = item["metadata"]
                    names.setdefault(f"{metadata['name']}.{metadata['namespace']}.{zone}", []).append(pod.address)
        self.network.names.clear()
        self.network.names.update(names)

    def watch(self):
        for pod in self.pods.values():
            if pod.process is not None and pod.process.poll() is not None:
                self.ended(pod, pod.process.returncode)

    def ended(self, pod, code):
        """A container has ended: the next one's turn, or the pod's end, or once more as its restart policy says."""
        pod.process = None
        if code == 0:
            pod.waiting.pop(0)
            if pod.waiting:
                self.start_container(pod)
            else:
                pod.state = "Succeeded"
        elif pod.spec.get("restartPolicy", "OnFailure") == "OnFailure" and pod.restarts < self.case.get("restarts", 0):
            pod.restarts += 1
            self.restarts += 1
            self.start_container(pod)
        else:
            pod.state = "Failed"
            raise Failure(f"{pod.key} ended with {code}")

    def take_steps(self):
        """What is done to the pods: once the line has been seen, `kill` ends one, `start` puts another in its place."""
        while self.steps and all(self.printed(key, line) for key, line in self.steps[0]["seen"].items()):
            step = self.steps.pop(0)
            if "kill" in step:
                self.kill(self.pods[step["kill"]])
                self.pods[step["kill"]].state = "Killed"
                self.publish()
            if "start" in step:
                self.start(self.pods[step["start"]])

    def kill(self, pod):
        """As a machine is lost: nothing in the pod can say a word."""
        if pod.process is not None:
            pod.process.send_signal(signal.SIGKILL)
            pod.process.wait()
            pod.process = None
        if pod.network:
            self.network.leave(pod.network)
        pod.network = pod.address = ""

    def printed(self, key, line):
        pattern = re.compile(line)
        pods = self.pods.values() if key == "any" else [self.pods[key]]
        logs = [pod.log(self.logs) for pod in pods]
        return any(pattern.search(log.read_text(errors="replace")) for log in logs if log.exists())

    def compare(self):
        expected = [(key, line) for key, lines in self.case["expect"].items() for line in lines]
        missing = [f"{key}: {line}" for key, line in expected if not self.printed(key, line)]
        if missing:
            raise Failure("not printed:\n  " + "\n  ".join(missing))
