"""Root file systems that stand for container images: Debian, and layers over it, each what a script in images/ installs.

A script's head says what it builds on: `# from: IMAGE`, or `# debian: SUITE` for a Debian of its own. It runs in the
image with the network of this machine, after the part that it may name by `# part: FILE`, and leaves two files:
/etc/environment, the variables of the image, and /etc/image-version, what the table says of it. Layers are kept in the
cache, by name and by what their scripts say.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent / "images"
USER_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "trainmaster"
CACHE = Path(os.environ.get("TRAINMASTER_CACHE") or USER_CACHE) / "truth"
MIRROR = "http://deb.debian.org/debian"


def of(case):
    """The images that a case needs."""
    return [case["image"], *case.get("images", {}).values()]


def script(name):
    """What is run, as text."""
    part = head(name, "part")
    return (f"{(SCRIPTS / part).read_text()}\n" if part else "") + (SCRIPTS / name).read_text()


def head(name, key):
    match = re.search(rf"^# {key}: (\S+)$", (SCRIPTS / name).read_text(), re.MULTILINE)
    return match and match.group(1)


def ancestry(name):
    """The image and those under it, the lowest last."""
    parent = head(name, "from")
    return [name, *(ancestry(parent) if parent else [])]


def folder(name):
    """Where the layer is kept."""
    said = "".join(script(layer) for layer in ancestry(name))
    return CACHE / f"{name}-{hashlib.sha256(said.encode()).hexdigest()[:12]}"


def layers(name):
    """The folders of the layers, the uppermost first, as overlayfs wants them."""
    return [folder(layer) for layer in ancestry(name)]


def version(name):
    """What the image says of its version."""
    found = [path for path in (layer / "etc/image-version" for layer in layers(name)) if path.exists()]
    return found[0].read_text().strip() if found else name


def build(name):
    """Builds the image, and those under it, where they are not in the cache."""
    CACHE.mkdir(parents=True, exist_ok=True)
    for layer in reversed(ancestry(name)):
        if folder(layer).exists():
            continue
        # Another run may build the same one; then it is waited for.
        with (CACHE / f"{layer}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder(layer).exists():
                build_apart(layer)


def build_apart(layer):
    """Builds one layer in namespaces of its own: its mounts and its processes end with it."""
    print(f"building image {layer}", flush=True)
    log = CACHE / f"{layer}.log"
    own = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    with log.open("w") as output:
        done = subprocess.run([*own, sys.executable, "-B", __file__, layer], stdout=output, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit(f"image {layer} cannot be built:\n{log.read_text()[-4000:]}\nsee {log}")


def build_layer(name):
    """What `build_apart` runs."""
    new, work, root = (CACHE / f"{name}.{part}" for part in ("layer", "work", "root"))
    for path in (new, work, root):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
    if suite := head(name, "debian"):
        debootstrap(suite, new)
        subprocess.run(["mount", "--bind", new, root], check=True)
    else:
        mount_overlay([folder(parent) for parent in ancestry(name)[1:]], new, work, root)
    execute(script(name), root)
    for path in CACHE.glob(f"{name}-????????????"):
        shutil.rmtree(path)
    subprocess.run(["umount", "--recursive", root], check=True)
    new.rename(folder(name))
    for path in (work, root):
        shutil.rmtree(path)


def mount_overlay(lower, upper, work, root):
    options = f"lowerdir={':'.join(map(str, lower))},upperdir={upper},workdir={work}"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, root], check=True)


def debootstrap(suite, root):
    """A least Debian. The program comes from Debian too, if it is not installed."""
    if program := shutil.which("debootstrap"):
        command, environment = [program], os.environ
    else:
        unpacked = CACHE / "debootstrap"
        shutil.rmtree(unpacked, ignore_errors=True)
        unpacked.mkdir()
        subprocess.run(["apt-get", "download", "debootstrap"], cwd=unpacked, check=True)
        subprocess.run(["dpkg-deb", "-x", next(unpacked.glob("*.deb")), unpacked], check=True)
        command = [unpacked / "usr/sbin/debootstrap"]
        environment = {**os.environ, "DEBOOTSTRAP_DIR": str(unpacked / "usr/share/debootstrap")}
    subprocess.run([*command, "--variant=minbase", suite, root, MIRROR], env=environment, check=True)


def execute(text, root):
    """Runs a script in the image, which sees this machine's name server and certificates meanwhile."""
    bind(Path("/etc/resolv.conf"), root / "etc/resolv.conf")
    certificates = Path("/etc/ssl/certs/ca-certificates.crt")
    if certificates.exists():
        bind(certificates, root / "run/certificates.crt")
    (root / "tmp/script").write_text(text)
    for kind, path in (("proc", "proc"), ("sysfs", "sys"), ("tmpfs", "dev/shm")):
        subprocess.run(["mount", "-t", kind, kind, root / path], check=True)
    kept = {key: value for key, value in os.environ.items() if key.lower().endswith("_proxy") or key == "PIP_INDEX_URL"}
    environment = {
        **kept,
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "LC_ALL": "C.UTF-8",
        "DEBIAN_FRONTEND": "noninteractive",
        # What is half written is thrown away, not mended.
        "DPKG_FORCE": "unsafe-io",
        "PIP_NO_CACHE_DIR": "1",
        "PIP_CERT": "/run/certificates.crt",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    subprocess.run(["nice", "-n", "15", "chroot", root, "sh", "-eux", "/tmp/script"], env=environment, check=True)
    (root / "tmp/script").unlink()


def bind(source, target):
    target.touch()
    subprocess.run(["mount", "--bind", source, target], check=True)


if __name__ == "__main__":
    build_layer(sys.argv[1])
