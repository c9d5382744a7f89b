"""A network for pods: a bridge that joins their network namespaces, and a name server that knows what CoreDNS would.

Lives in the network namespace of the process, which has no way out: a case cannot fetch anything.
"""

import socket
import socketserver
import struct
import subprocess
import threading

GATEWAY = "10.24.0.1"
A, PTR = 1, 12
NO_ERROR, NO_SUCH_NAME = 0, 3


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


class Network:
    """The bridge; `names` maps a full name to its addresses, and may change while the name server runs."""

    def __init__(self):
        self.names = {}
        self.used = 1
        # Named namespaces are files there; on a file system of our own they are gone when we are.
        subprocess.run(["mkdir", "-p", "/run/netns"], check=True)
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run/netns"], check=True)
        ip("link", "set", "lo", "up")
        ip("link", "add", "pods", "type", "bridge")
        ip("address", "add", f"{GATEWAY}/16", "dev", "pods")
        ip("link", "set", "pods", "up")
        server = socketserver.ThreadingUDPServer((GATEWAY, 53), handler(self.names))
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def join(self):
        """A new namespace on the bridge. Returns its name and its address."""
        self.used += 1
        number, address = self.used, f"10.24.{self.used // 250}.{self.used % 250 + 2}"
        namespace = f"pod{number}"
        ip("netns", "add", namespace)
        ip("link", "add", f"veth{number}", "type", "veth", "peer", "name", "eth0", "netns", namespace)
        ip("link", "set", f"veth{number}", "master", "pods", "up")
        ip("-n", namespace, "address", "add", f"{address}/16", "dev", "eth0")
        ip("-n", namespace, "link", "set", "eth0", "up")
        ip("-n", namespace, "link", "set", "lo", "up")
        ip("-n", namespace, "route", "add", "default", "via", GATEWAY)
        return namespace, address

    def leave(self, namespace):
        ip("netns", "delete", namespace)


def handler(names):
    """Answers questions for addresses of names and names of addresses."""

    class Question(socketserver.BaseRequestHandler):
        def handle(self):
            query, server = self.request
            server.sendto(answer(query, names), self.client_address)

    return Question


def answer(query, names):
    """The reply to a DNS query of one question."""
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode().lower())
        at += 1 + query[at]
    kind = struct.unpack("!H", query[at + 1 : at + 3])[0]
    question, name = query[12 : at + 5], ".".join(labels)
    if name.endswith(".in-addr.arpa"):
        address = ".".join(reversed(labels[:-2]))
        # A pod has one name: that of the service alone has many addresses.
        found = [encode(known) for known, addresses in names.items() if addresses == [address]][:1]
        known, answers = bool(found), found if kind == PTR else []
    else:
        known = name in names
        answers = [socket.inet_aton(address) for address in names.get(name, ())] if kind == A else []
    flags = 0x8580 | (NO_ERROR if known else NO_SUCH_NAME)
    reply = query[:2] + struct.pack("!HHHHH", flags, 1, len(answers), 0, 0) + question
    for data in answers:
        reply += struct.pack("!HHHIH", 0xC00C, kind, 1, 5, len(data)) + data
    return reply


def encode(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"
