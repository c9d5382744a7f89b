"""What becomes of a pod's specification on a node: variables, expansion, files of volumes, host names, the process.

Each function does what the kubelet does; what it does not know it refuses, so that nothing is passed over in silence.
"""

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import images
from network import GATEWAY

DOMAIN = "cluster.local"
HERE = Path(__file__).resolve().parent


class Unsupported(Exception):
    """The pod wants something that this cluster has not."""


def known(what, value, keys):
    """Refuses a map with other keys."""
    if unknown := sorted(set(value) - set(keys)):
        raise Unsupported(f"{what}: {', '.join(unknown)}")


def expand(text, variables):
    """`$(NAME)` as Kubernetes expands it: a name that is not known stays as it is, `$$` is a `$`."""
    def value(match):
        return "$" if match.group() == "$$" else variables.get(match.group(1), match.group())

    return re.sub(r"\$\$|\$\(([^)]*)\)", value, text)


def environment(pod, container, objects):
    """The container's variables. Each may refer to those before it."""
    variables = {}
    for entry in container.get("env", []):
        if "valueFrom" in entry:
            variables[entry["name"]] = source(pod, entry["valueFrom"], objects)
        else:
            variables[entry["name"]] = expand(entry.get("value", ""), variables)
    return variables


def source(pod, value_from, objects):
    known("valueFrom", value_from, ["fieldRef", "secretKeyRef", "configMapKeyRef"])
    if field := value_from.get("fieldRef"):
        return downward(pod, field["fieldPath"])
    kind = "Secret" if "secretKeyRef" in value_from else "ConfigMap"
    reference = value_from.get("secretKeyRef") or value_from["configMapKeyRef"]
    return contents(objects[kind, reference["name"]])[reference["key"]].decode()


def downward(pod, path):
    """A field of the pod, by its path."""
    if match := re.fullmatch(r"metadata\.(labels|annotations)\['([^']+)'\]", path):
        return getattr(pod, match.group(1)).get(match.group(2), "")
    fields = {"metadata.name": pod.name, "metadata.namespace": pod.namespace, "status.podIP": pod.address}
    if path not in fields:
        raise Unsupported(f"fieldPath {path}")
    return fields[path]


def contents(map_or_secret):
    """Keys and bytes of a ConfigMap or a Secret."""
    data, plain = map_or_secret.get("data", {}), map_or_secret.get("stringData", {})
    if map_or_secret["kind"] == "ConfigMap":
        return {key: value.encode() for key, value in data.items()}
    decoded = {key: base64.b64decode(value) for key, value in data.items()}
    return {**decoded, **{key: value.encode() for key, value in plain.items()}}


def make_volume(volume, folder, group, objects):
    """The volume's folder on the node, with the owners and modes that pods see."""
    known(f"volume {volume['name']}", volume, ["name", "configMap", "secret", "emptyDir"])
    folder.mkdir(parents=True)
    # Directly on the mount; the umask is not asked.
    folder.chmod(0o777 if "emptyDir" in volume else 0o1777)
    if "emptyDir" not in volume:
        write_keys(volume, folder, objects)
    if group is not None:
        give_to_group(folder, group, readable_only="emptyDir" not in volume)


def write_keys(volume, folder, objects):
    """Files are links into a folder that is replaced as a whole, as the kubelet has them."""
    kind = "Secret" if "secret" in volume else "ConfigMap"
    said = volume.get("secret") or volume["configMap"]
    known(f"volume {volume['name']}", said, ["name", "secretName", "items", "defaultMode", "optional"])
    keys = contents(objects[kind, said.get("secretName") or said["name"]])
    items = said.get("items") or [{"key": key, "path": key} for key in sorted(keys)]
    data = folder / "..2025"
    data.mkdir(0o755)
    (folder / "..data").symlink_to(data.name)
    for item in items:
        path = data / item["path"]
        path.write_bytes(keys[item["key"]])
        path.chmod(item.get("mode", said.get("defaultMode", 0o644)))
        (folder / item["path"]).symlink_to(f"..data/{item['path']}")


def give_to_group(folder, group, readable_only):
    """What `fsGroup` does to a volume."""
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, -1, group, follow_symlinks=False)
        if not path.is_symlink():
            mode = path.stat().st_mode & 0o7777 | (0o440 if readable_only else 0o660)
            path.chmod(mode | 0o2110 if path.is_dir() else mode)


def host_files(pod):
    """/etc/hosts, /etc/hostname and /etc/resolv.conf of the pod."""
    full = f"{pod.hostname}.{pod.subdomain}.{pod.namespace}.svc.{DOMAIN}"
    search = " ".join(f"{zone}{DOMAIN}" for zone in (f"{pod.namespace}.svc.", "svc.", ""))
    return {
        "/etc/hosts": f"127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost\n{pod.address}\t{full}\t{pod.hostname}\n",
        "/etc/hostname": f"{pod.hostname}\n",
        "/etc/resolv.conf": f"search {search}\nnameserver {GATEWAY}\noptions ndots:5\n",
    }


def start(pod, container, image, objects, log):
    """Starts the container. Returns its process, which is the container's first one as others see it."""
    variables = environment(pod, container, objects)
    command = [*container.get("command", []), *container.get("args", [])]
    if not command:
        raise Unsupported(f"container {container['name']} without command: images have none here")
    security = {**pod.spec.get("securityContext", {}), **container.get("securityContext", {})}
    group = pod.spec.get("securityContext", {}).get("fsGroup")
    mounts = container.get("volumeMounts", [])
    for volume_mount in mounts:
        known(f"volumeMount {volume_mount['name']}", volume_mount, ["name", "mountPath", "readOnly"])
    volumes = pod.folder / "volumes"
    specification = {
        "layers": [str(layer) for layer in images.layers(image)],
        "folder": tempfile.mkdtemp(dir=pod.folder),
        "hostname": pod.hostname,
        "files": host_files(pod),
        "volumes": [
            {"source": str(volumes / each["name"]), "path": each["mountPath"], "readOnly": each.get("readOnly", False)}
            for each in mounts
        ],
        "user": security.get("runAsUser", 0),
        "group": security.get("runAsGroup"),
        "groups": [] if group is None else [group],
        "workingDir": container.get("workingDir", "/"),
        "env": variables,
        "command": [expand(word, variables) for word in command],
    }
    path = Path(specification["folder"] + ".json")
    path.write_text(json.dumps(specification))
    namespaces = ["unshare", "--mount", "--pid", "--uts", "--ipc", "--fork", "--kill-child"]
    own = ["ip", "netns", "exec", pod.network, *namespaces, sys.executable, "-B", str(HERE / "pod.py"), str(path)]
    return subprocess.Popen(own, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)


def prepare(pod, objects):
    """The pod's volumes, which outlive its containers."""
    shutil.rmtree(pod.folder, ignore_errors=True)
    (pod.folder / "volumes").mkdir(parents=True)
    group = pod.spec.get("securityContext", {}).get("fsGroup")
    for volume in pod.spec.get("volumes", []):
        make_volume(volume, pod.folder / "volumes" / volume["name"], group, objects)
