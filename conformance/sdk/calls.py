"""What users of the kubeflow Python SDK do, against a running controller. `make sdk` runs it.

KUBECONFIG is that of a user with the rights of access.yaml, who makes every call of the SDK. ADMIN_KUBECONFIG is that of
somebody who looks at what the SDK does not show, makes runtimes and volumes, and tells pods how to end: they are on nodes
without kubelets, where a pod runs or ends as its annotations say and every container has written the same log.
"""

import contextlib
import copy
import faulthandler
import io
import json
import logging
import os
import pathlib
import time
import unittest

from kubeflow.common.types import KubernetesBackendConfig
from kubeflow.trainer import (
    BuiltinTrainer,
    CustomTrainer,
    CustomTrainerContainer,
    HuggingFaceDatasetInitializer,
    HuggingFaceModelInitializer,
    Initializer,
    LoraConfig,
    RuntimeKind,
    TorchTuneConfig,
    TrainerClient,
    TrainerType,
)
from kubeflow.trainer.options import (
    ActiveDeadlineSeconds,
    Annotations,
    JobSetSpecPatch,
    JobSetTemplatePatch,
    JobSpecPatch,
    JobTemplatePatch,
    Labels,
    Name,
    PodTemplatePatch,
    ReplicatedJobPatch,
    RuntimePatch,
    TrainerArgs,
    TrainerCommand,
    TrainingRuntimeSpecPatch,
)
from kubernetes import client, config

NAMESPACE = "sdk"
GROUP, VERSION = "trainer.kubeflow.org", "v1alpha1"
RUNTIMES = pathlib.Path(__file__).parents[2] / "charts/trainmaster/runtimes"
# Runs until it is told to end.
ENDLESS = {"testbed.trainmaster.dev/phase": "Running"}
# In seconds. Only what fails takes so long.
LIMIT = 120


def admin():
    """A client that may do everything."""
    return config.new_client_from_config(os.environ["ADMIN_KUBECONFIG"])


CORE = client.CoreV1Api(admin())
CUSTOM = client.CustomObjectsApi(admin())


def sdk():
    """The SDK as its users have it."""
    return TrainerClient(KubernetesBackendConfig(namespace=NAMESPACE))


def patch(annotations, *jobs):
    """The option by which the pods of the jobs have the annotations."""
    template = JobTemplatePatch(spec=JobSpecPatch(template=PodTemplatePatch(metadata={"annotations": annotations})))
    patches = [ReplicatedJobPatch(name=job, template=template) for job in jobs or ["node"]]
    spec = JobSetSpecPatch(replicated_jobs=patches)
    return RuntimePatch(TrainingRuntimeSpecPatch(template=JobSetTemplatePatch(spec=spec)))


def until(what, found):
    """Asks until there is something, and returns it."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        try:
            if (it := found()) is not None:
                return it
        except client.ApiException as error:
            if error.status != 404:
                raise
        time.sleep(0.2)
    raise TimeoutError(what)


def job_set(name):
    """The JobSet of a TrainJob, once it is there."""
    args = ("jobset.x-k8s.io", "v1alpha2", NAMESPACE, "jobsets", name)
    return until(f"JobSet {name}", lambda: CUSTOM.get_namespaced_custom_object(*args))


def container(name, job="node"):
    """The container of a job's pods in the JobSet of a TrainJob, by the job's name or `node`."""
    for it in job_set(name)["spec"]["replicatedJobs"]:
        if it["name"] == job:
            containers = it["template"]["spec"]["template"]["spec"]["containers"]
            return next(c for c in containers if c["name"] in (job, "node"))
    raise KeyError(job)


def train_job(name):
    """The TrainJob as the cluster has it."""
    return CUSTOM.get_namespaced_custom_object(GROUP, VERSION, NAMESPACE, "trainjobs", name)


def pods(name):
    """The pods of a TrainJob."""
    return CORE.list_namespaced_pod(NAMESPACE, label_selector=f"jobset.sigs.k8s.io/jobset-name={name}").items


def end(name, phase="Succeeded"):
    """Lets the pods of a TrainJob end."""
    annotations = {"testbed.trainmaster.dev/phase": phase, "testbed.trainmaster.dev/after": "0s"}
    for pod in pods(name):
        CORE.patch_namespaced_pod(pod.metadata.name, NAMESPACE, {"metadata": {"annotations": annotations}})


def hello():
    print("hello")


def fine_tune(lr):
    print(lr)


class Runtimes(unittest.TestCase):
    def test_every_shipped_runtime_is_listed_and_nothing_is_missing(self):
        with self.assertNoLogs("kubeflow", logging.WARNING):
            listed = sdk().list_runtimes()
        self.assertEqual({it.name for it in listed}, {path.stem for path in RUNTIMES.glob("*.yaml")})
        self.assertEqual({it.kind for it in listed}, {RuntimeKind.CLUSTER_TRAINING_RUNTIME})

    def test_a_runtime_tells_its_trainer_and_its_devices(self):
        torch = sdk().get_runtime("torch-distributed").trainer
        self.assertEqual((torch.framework, torch.trainer_type, torch.num_nodes), ("torch", TrainerType.CUSTOM_TRAINER, 1))
        tune = sdk().get_runtime("torchtune-llama3.2-1b").trainer
        self.assertEqual((tune.trainer_type, tune.device, tune.device_count), (TrainerType.BUILTIN_TRAINER, "gpu", "2"))
        self.assertEqual(sdk().get_runtime("deepspeed-distributed").trainer.command[0], "mpirun")

    def test_a_runtime_of_the_namespace_goes_before_that_of_the_cluster(self):
        with runtime("jax-distributed", lambda it: None):
            self.assertEqual(sdk().get_runtime("jax-distributed").kind, RuntimeKind.TRAINING_RUNTIME)
            listed = {it.name: it.kind for it in sdk().list_runtimes()}
            self.assertEqual(listed["jax-distributed"], RuntimeKind.TRAINING_RUNTIME)
        self.assertEqual(sdk().get_runtime("jax-distributed").kind, RuntimeKind.CLUSTER_TRAINING_RUNTIME)

    def test_a_runtime_that_is_not_there_is_an_error(self):
        with self.assertRaises(RuntimeError):
            sdk().get_runtime("none")


@contextlib.contextmanager
def runtime(name, change, new_name=None):
    """A copy of a runtime of the cluster in the namespace, changed."""
    it = copy.deepcopy(CUSTOM.get_cluster_custom_object(GROUP, VERSION, "clustertrainingruntimes", name))
    it["kind"] = "TrainingRuntime"
    it["metadata"] = {"name": new_name or name, "labels": it["metadata"]["labels"]}
    change(it)
    args = (GROUP, VERSION, NAMESPACE, "trainingruntimes")
    CUSTOM.create_namespaced_custom_object(*args, it)
    try:
        yield it["metadata"]["name"]
    finally:
        CUSTOM.delete_namespaced_custom_object(*args, it["metadata"]["name"])


class Training(unittest.TestCase):
    def test_a_function_runs_on_two_nodes_to_its_end(self):
        trainer = CustomTrainer(
            func=fine_tune, func_args={"lr": 0.1}, num_nodes=2, resources_per_node={"gpu": 2, "memory": "1Gi"}, env={"A": "b"}
        )
        options = [Labels({"team": "ml"}), Annotations({"note": "mine"}), ActiveDeadlineSeconds(3600), patch(ENDLESS)]
        name = sdk().train(trainer=trainer, options=options)
        node = container(name)
        env = {it["name"]: it.get("value") for it in node["env"]}
        self.assertEqual((env["PET_NNODES"], env["PET_NPROC_PER_NODE"], env["A"]), ("2", "auto", "b"))
        # The SDK sends numbers: 2.0.
        self.assertEqual(node["resources"]["limits"], {"nvidia.com/gpu": "2", "memory": "1Gi"})
        self.assertIn("fine_tune(**{'lr': 0.1})", node["command"][2])
        self.assertEqual(train_job(name)["metadata"]["labels"], {"team": "ml"})

        job = sdk().wait_for_job_status(name, {"Running"}, timeout=LIMIT)
        steps = sorted(job.steps, key=lambda step: step.name)
        self.assertEqual([(it.name, it.status, it.device, it.device_count) for it in steps],
                         [("node-0", "Running", "gpu", "2"), ("node-1", "Running", "gpu", "2")])
        self.assertEqual((job.num_nodes, job.runtime.name), (2, "torch-distributed"))
        self.assertEqual(list(sdk().get_job_logs(name)), ["epoch 1: loss 0.50", "epoch 2: loss 0.25"])
        # Followed, they have no end before the container's.
        self.assertEqual(next(sdk().get_job_logs(name, step="node-1", follow=True)), "epoch 1: loss 0.50")

        end(name)
        seen = []
        job = sdk().wait_for_job_status(name, timeout=LIMIT, callbacks=[lambda it: seen.append(it.status)])
        self.assertEqual((job.status, seen[-1]), ("Complete", "Complete"))
        counters = {"name": "node", "ready": 0, "succeeded": 1, "failed": 0, "active": 0, "suspended": 0}
        until("counters", lambda: train_job(name)["status"]["jobsStatus"] == [counters] or None)

    def test_a_container_runs_the_command_that_is_asked_for(self):
        trainer = CustomTrainerContainer(image="example/train", num_nodes=1)
        options = [Name("container"), TrainerCommand(["python", "-m", "train"]), TrainerArgs(["--epochs", "2"])]
        name = sdk().train(runtime="jax-distributed", trainer=trainer, options=options)
        self.assertEqual(name, "container")
        node = container(name)
        self.assertEqual((node["image"], node["command"], node["args"]),
                         ("example/train", ["python", "-m", "train"], ["--epochs", "2"]))
        self.assertIn("JAX_COORDINATOR_ADDRESS", {it["name"] for it in node["env"]})
        self.assertEqual(sdk().wait_for_job_status(name, timeout=LIMIT).status, "Complete")

    def test_mpirun_starts_a_function_on_the_launcher_and_a_node(self):
        trainer = CustomTrainer(func=hello, num_nodes=2)
        options = [patch(ENDLESS, "launcher", "node")]
        name = sdk().train(runtime="deepspeed-distributed", trainer=trainer, options=options)
        command = container(name, "launcher")["command"]
        self.assertEqual(command[:5], ["mpirun", "--hostfile", "/etc/mpi/hostfile", "bash", "-c"])
        hosts = CORE.read_namespaced_config_map(f"{name}-mpi-hostfile", NAMESPACE).data["hostfile"].splitlines()
        self.assertEqual(hosts, [f"{name}-node-0-0.{name} slots=1", f"{name}-launcher-0-0.{name} slots=1"])
        job = sdk().wait_for_job_status(name, {"Running"}, timeout=LIMIT)
        self.assertEqual(sorted(it.name for it in job.steps), ["node-0", "node-1"])
        self.assertIn("-launcher-", next(it.pod_name for it in job.steps if it.name == "node-0"))
        end(name)
        self.assertEqual(sdk().wait_for_job_status(name, timeout=LIMIT).status, "Complete")

    def test_a_model_is_tuned_once_data_and_model_are_fetched(self):
        volume()
        initializer = Initializer(
            dataset=HuggingFaceDatasetInitializer("hf://tatsu-lab/alpaca/data"),
            model=HuggingFaceModelInitializer("hf://meta-llama/Llama-3.2-1B-Instruct", access_token="secret"),
        )
        tune = TorchTuneConfig(epochs=2, batch_size=4, peft_config=LoraConfig(lora_rank=8, use_dora=True))
        name = sdk().train("torchtune-llama3.2-1b", initializer, BuiltinTrainer(tune), [patch(ENDLESS, "model-initializer")])
        node = container(name)
        self.assertEqual(node["command"][:6], ["tune", "run", f"--rdzv_endpoint={name}-node-0-0.{name}:29500",
                                               "lora_finetune_distributed", "--config", "llama3_2/1B_lora"])
        self.assertIn("dataset.data_dir=/workspace/dataset/data", node["args"])
        env = {it["name"]: it.get("value") for it in container(name, "model-initializer")["env"]}
        self.assertEqual((env["STORAGE_URI"], env["ACCESS_TOKEN"]), ("hf://meta-llama/Llama-3.2-1B-Instruct", "secret"))

        def fetching():
            steps = {it.name: it.status for it in sdk().get_job(name).steps}
            return steps if steps.get("model-initializer") == "Running" else None

        self.assertNotIn("node-0", until("the model initializer runs", fetching))
        self.assertEqual(sdk().get_job(name).status, "Created")
        logs = sdk().get_job_logs(name, step="model-initializer")
        self.assertEqual(next(logs), "epoch 1: loss 0.50")
        end(name)
        job = sdk().wait_for_job_status(name, timeout=LIMIT)
        self.assertEqual({it.name: it.status for it in job.steps},
                         {"dataset-initializer": "Succeeded", "model-initializer": "Succeeded", "node-0": "Succeeded"})

    def test_each_shipped_runtime_trains_what_the_sdk_gives_it(self):
        names = {}
        for it in sdk().list_runtimes():
            if it.trainer.trainer_type == TrainerType.CUSTOM_TRAINER:
                names[sdk().train(it, trainer=CustomTrainer(func=hello, num_nodes=2))] = it.name
        self.assertGreater(len(names), 7)
        for name, of in names.items():
            with self.subTest(runtime=of):
                self.assertEqual(sdk().wait_for_job_status(name, timeout=LIMIT).status, "Complete")

    def test_packages_of_a_runtime_are_what_its_pod_says_and_nothing_is_left(self):
        before = {it.name for it in sdk().list_jobs()}
        with contextlib.redirect_stdout(io.StringIO()) as said:
            sdk().get_runtime_packages(sdk().get_runtime("torch-distributed"))
        self.assertIn("epoch 2: loss 0.25", said.getvalue())
        self.assertLessEqual({it.name for it in sdk().list_jobs()}, before)


def refused(call):
    """Why the API server refuses what is called."""
    try:
        call()
    except RuntimeError as error:
        assert error.__cause__.status == 403, error.__cause__
        return json.loads(error.__cause__.body)["message"]
    raise AssertionError("was not refused")


def volume():
    """A volume for the runtime's claim: nobody provisions one."""
    spec = {"capacity": {"storage": "20Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/none"}}
    CORE.create_persistent_volume({"metadata": {"generateName": "sdk-"}, "spec": spec})


class Trouble(unittest.TestCase):
    def test_a_pod_that_fails_fails_the_job(self):
        def once(it):
            job = it["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]
            job["spec"]["backoffLimit"] = 0

        with runtime("torch-distributed", once, "torch-once") as name:
            options = [patch({"testbed.trainmaster.dev/phase": "Failed"})]
            name = sdk().train(name, trainer=CustomTrainer(func=hello), options=options)
            with self.assertRaisesRegex(RuntimeError, "is Failed"):
                sdk().wait_for_job_status(name, timeout=LIMIT)
            self.assertEqual(sdk().wait_for_job_status(name, {"Failed"}, timeout=LIMIT).status, "Failed")

    def test_a_job_that_takes_too_long_has_failed(self):
        options = [ActiveDeadlineSeconds(3), patch(ENDLESS)]
        name = sdk().train(trainer=CustomTrainer(func=hello), options=options)
        self.assertEqual(sdk().wait_for_job_status(name, {"Failed"}, timeout=LIMIT).status, "Failed")
        condition = next(it for it in train_job(name)["status"]["conditions"] if it["type"] == "Failed")
        self.assertEqual(condition["reason"], "DeadlineExceeded")

    def test_what_cannot_be_is_refused_with_its_field_and_reason(self):
        reserved = CustomTrainer(func=hello, env={"PET_NNODES": "9"})
        message = refused(lambda: sdk().train(trainer=reserved))
        self.assertIn("spec.trainer.env: Invalid value", message)
        self.assertIn("must not have reserved envs, invalid envs configured: [PET_NNODES]", message)
        # A job that the runtime has not is added, and has no containers.
        options = [patch({"a": "b"}, "worker")]
        message = refused(lambda: sdk().train(trainer=CustomTrainer(func=hello), options=options))
        self.assertIn("spec.replicatedJobs[0].template.spec.template.spec.containers: Required value", message)
        tune = BuiltinTrainer(TorchTuneConfig(num_nodes=2))
        message = refused(lambda: sdk().train("torchtune-llama3.2-1b", trainer=tune))
        self.assertIn("spec.trainer.numNodes: Invalid value: 2: must be 1 for llama3_2/1B model", message)

    def test_an_event_says_why_nothing_starts(self):
        CUSTOM.create_namespaced_custom_object("jobset.x-k8s.io", "v1alpha2", NAMESPACE, "jobsets", {
            "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "taken"},
            "spec": {"suspend": True, "replicatedJobs": [{"name": "node", "template": {"spec": {"template": {"spec": {
                "restartPolicy": "Never", "containers": [{"name": "node", "image": "none"}]}}}}}]},
        })
        name = sdk().train(trainer=CustomTrainer(func=hello), options=[Name("taken")])
        events = until("an event", lambda: sdk().get_job_events(name) or None)
        self.assertEqual((events[0].involved_object_kind, events[0].reason), ("TrainJob", "TrainJobResourcesCreationFailed"))
        self.assertIn("does not belong to this TrainJob", events[0].message)
        self.assertEqual(sdk().get_job(name).status, "Created")


class Jobs(unittest.TestCase):
    def test_jobs_are_listed_by_runtime_and_gone_with_their_pods_once_deleted(self):
        options = [patch(ENDLESS)]
        torch = sdk().train(trainer=CustomTrainer(func=hello), options=options)
        jax = sdk().train("jax-distributed", trainer=CustomTrainer(func=hello), options=options)
        self.assertLessEqual({torch, jax}, {it.name for it in sdk().list_jobs()})
        of_jax = {it.name for it in sdk().list_jobs(sdk().get_runtime("jax-distributed"))}
        self.assertEqual({torch, jax} & of_jax, {jax})
        for name in (torch, jax):
            sdk().wait_for_job_status(name, {"Running"}, timeout=LIMIT)
            sdk().delete_job(name)
            with self.assertRaises(RuntimeError):
                sdk().get_job(name)
            until("pods are gone", lambda: pods(name) == [] or None)
        self.assertTrue({torch, jax}.isdisjoint(it.name for it in sdk().list_jobs()))


if __name__ == "__main__":
    # Nothing waits for ever, whatever the SDK does.
    faulthandler.dump_traceback_later(10 * LIMIT, exit=True)
    unittest.main(verbosity=2)
