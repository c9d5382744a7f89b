"""Becomes a container: run in the pod's network namespace and in mount, PID, UTS and IPC namespaces of its own, it makes
the root file system, mounts what the pod mounts, takes the user's identity and executes the command.

    pod.py SPECIFICATION.json
"""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import images

# What a container runtime gives to every container.
DEVICES = ["null", "zero", "full", "random", "urandom", "tty"]
LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2", "ptmx": "pts/ptmx"}
SHARED_MEMORY = "64m"


def mount(*arguments):
    subprocess.run(["mount", *map(str, arguments)], check=True)


def make_root(layers, folder):
    """An image with a writable layer of its own, which is gone with the container."""
    mount("-t", "tmpfs", "tmpfs", folder)
    upper, work, root = (folder / part for part in ("upper", "work", "root"))
    for path in (upper, work, root):
        path.mkdir()
    images.mount_overlay(layers, upper, work, root)
    # The image's own root is what others see, not that of this temporary file system.
    root.chmod(0o755)
    mount("-t", "proc", "proc", root / "proc")
    mount("-t", "sysfs", "-o", "ro", "sysfs", root / "sys")
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", root / "dev")
    for device in DEVICES:
        (root / "dev" / device).touch()
        mount("--bind", f"/dev/{device}", root / "dev" / device)
    for name, target in LINKS.items():
        (root / "dev" / name).symlink_to(target)
    (root / "dev/pts").mkdir()
    mount("-t", "devpts", "-o", "newinstance,ptmxmode=0666,mode=620", "devpts", root / "dev/pts")
    (root / "dev/shm").mkdir()
    mount("-t", "tmpfs", "-o", f"mode=1777,size={SHARED_MEMORY}", "tmpfs", root / "dev/shm")
    return root


def mount_volume(root, volume):
    target = root / volume["path"].lstrip("/")
    target.mkdir(parents=True, exist_ok=True)
    mount("--bind", volume["source"], target)
    if volume["readOnly"]:
        mount("-o", "remount,bind,ro", target)


def identity(user, group):
    """The user's number, group and home, as the image's /etc/passwd has them; root where nothing is said."""
    for line in Path("/etc/passwd").read_text().splitlines():
        _, _, uid, gid, _, home, _ = line.split(":")
        if int(uid) == user:
            return user, int(gid) if group is None else group, home
    return user, group or 0, "/"


def image_environment():
    path = Path("/etc/environment")
    return dict(line.split("=", 1) for line in path.read_text().splitlines() if "=" in line)


def main():
    specification = json.loads(Path(sys.argv[1]).read_text())
    root = make_root(specification["layers"], Path(specification["folder"]))
    socket.sethostname(specification["hostname"])
    for path, text in specification["files"].items():
        (root / path.lstrip("/")).write_text(text)
    for volume in sorted(specification["volumes"], key=lambda volume: volume["path"]):
        mount_volume(root, volume)
    os.chroot(root)
    user, group, home = identity(specification["user"], specification["group"])
    os.chdir(specification["workingDir"])
    os.setgroups(specification["groups"])
    os.setgid(group)
    os.setuid(user)
    os.umask(0o022)
    environment = {**image_environment(), "HOME": home, "HOSTNAME": specification["hostname"], **specification["env"]}
    os.environ["PATH"] = environment["PATH"]
    command = specification["command"]
    os.execvpe(command[0], command, environment)


if __name__ == "__main__":
    main()
