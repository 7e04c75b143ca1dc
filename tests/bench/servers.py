"""Servers to compare, redis-server and quipud, each with a directory of its own."""
import hashlib
import os
import signal
import socket
import ssl
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
QUIPUD = os.path.join(ROOT, "build/release/bin/quipud")
RESP_LOAD = os.path.join(ROOT, "build/release/bin/resp_load")
TICK = os.sysconf("SC_CLK_TCK")


def end_in_order_when_terminated():
    """So that a SIGTERM, too, ends the servers and removes their directories."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Connection:
    """Just enough RESP to ask one thing after the other."""
    user = None  # or a name and a secret

    def __init__(self, port, tls=None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        if tls:
            self.socket = tls.wrap_socket(self.socket)
        self.file = self.socket.makefile("rb")
        if self.user:
            self.ask("AUTH", *self.user)

    def ask(self, *words):
        self.socket.sendall(request(*words))
        return self.read()

    def ask_all(self, requests):
        """Sends them together."""
        self.socket.sendall(b"".join(request(*words) for words in requests))
        return [self.read() for _ in requests]

    def read(self):
        line = self.file.readline()
        if not line:
            raise ConnectionError("closed")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b"$":
            size = int(rest)
            return None if size < 0 else self.file.read(size + 2)[:-2]
        if kind == b"*":
            return [self.read() for _ in range(int(rest))]
        return int(rest) if kind == b":" else rest


def users_file(work):
    """With one user, who may do everything. All Connections are its, from now on."""
    name, secret = "bench", "a secret of the benchmark"
    salt = bytes(16)
    path = os.path.join(work, "users.toml")
    with open(path, "w") as users:
        users.write(f"""[[user]]
name = "{name}"
secrets = ["sha256:{salt.hex()}:{hashlib.sha256(salt + secret.encode()).hexdigest()}"]
may = ["read", "count", "reset", "observe", "admin"]
""")
    Connection.user = name, secret
    return path


class Certificate:
    """One that is its own CA, with its key."""
    def __init__(self, work):
        self.path, self.key = os.path.join(work, "certificate.pem"), os.path.join(work, "key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                        "-nodes", "-days", "2", "-subj", "/CN=bench", "-addext",
                        "subjectAltName=DNS:localhost,IP:127.0.0.1", "-out", self.path, "-keyout", self.key],
                       check=True, stderr=subprocess.DEVNULL)
        self.trusted = ssl.create_default_context(cafile=self.path)  # by clients
        self.trusted.check_hostname = False  # they dial 127.0.0.1 alone


def request(*words):
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        word = word if isinstance(word, bytes) else str(word).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
    return b"".join(parts)


class Server:
    """`tls`: the Certificate by which clients are to speak TLS."""
    def __init__(self, name, command, work, tls=None):
        self.name, self.tls = name, tls
        self.directory = os.path.join(work, name.replace(" ", "-"))
        os.mkdir(self.directory)
        self.port = free_port()
        self.command = command(self.port, self.directory)
        self.start()

    def start(self):
        log = open(os.path.join(self.directory, "log"), "ab")
        began = time.monotonic()
        self.process = subprocess.Popen(self.command, stdout=log, stderr=log)
        while True:
            try:
                if b"\nloading:0" in self.connect().ask("INFO", "persistence"):
                    return time.monotonic() - began
            except (OSError, RuntimeError):  # it does not listen yet, or says LOADING
                pass
            if self.process.poll() is not None:
                sys.exit(f"{self.name} did not start: see {self.directory}/log")
            time.sleep(0.005)  # between two looks

    def connect(self):
        return Connection(self.port, self.tls and self.tls.trusted)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def cpu(self):
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def resident(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(l.split()[1]) * 1024 for l in status if l.startswith("VmRSS"))

    def stored(self):
        return sum(os.path.getsize(os.path.join(at, f))
                   for at, _, files in os.walk(self.directory) for f in files if f != "log")

    def errors(self):
        text = self.connect().ask("INFO", "stats").decode()
        return next(int(l.split(":")[1]) for l in text.splitlines() if "total_error_replies" in l)


def redis(*options):
    return lambda port, directory: [
        "redis-server", "--port", str(port), "--dir", directory, "--save", "", *options]


def quipu(ack, reactors=1):
    def command(port, directory):
        os.makedirs(os.path.join(directory, "data"), exist_ok=True)
        return ["env", f"QUIPU_CLIENT_RESP_ACK={ack}", "QUIPU_CLIENT_FLUSHALL=true", QUIPUD, "--name", "n1",
                "--data", os.path.join(directory, "data"), "--client", f"127.0.0.1:{port}",
                "--reactors", str(reactors)]
    return command


def with_tls(command, certificate):
    """The same server, with TLS on its port."""
    def changed(port, directory):
        plain = command(port, directory)
        if plain[0] == "redis-server":
            return plain + ["--port", "0", "--tls-port", str(port), "--tls-auth-clients", "no",
                            "--tls-cert-file", certificate.path, "--tls-key-file", certificate.key,
                            "--tls-ca-cert-file", certificate.path]
        return ["env", f"QUIPU_TLS_CERTIFICATE={certificate.path}", f"QUIPU_TLS_KEY={certificate.key}", *plain]
    return changed


SERVERS = {
    "redis none": redis("--appendonly", "no"),
    "redis everysec": redis("--appendonly", "yes", "--appendfsync", "everysec"),
    "redis always": redis("--appendonly", "yes", "--appendfsync", "always"),
    "quipu memory": quipu("memory"),
    "quipu disk": quipu("disk"),
}


def fill(server, first, last):
    """Counters of one cell each, with keys of 20 bytes."""
    with server.connect().socket as out:
        replies, sent = out.makefile("rb"), 0
        for begin in range(first, last, 1000):
            out.sendall(b"".join(request("INCRBY", f"counter:{i:012}", 1)
                                 for i in range(begin, min(begin + 1000, last))))
            sent += min(begin + 1000, last) - begin
            for _ in range(min(begin + 1000, last) - begin):
                if replies.readline()[:1] != b":":
                    sys.exit(f"{server.name} refused to be filled")
