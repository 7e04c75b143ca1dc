# connection.py: one connection, over which a test sends the very bytes that a client would.
import hashlib
import socket


class Connection:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.replies = self.socket.makefile("rb")

    # Sends all requests at once, and returns the replies: integers, strings, nils, arrays. Errors
    # and statuses are strings with their first byte.
    def pipeline(self, *requests):
        sent = b""
        for request in requests:
            words = [str(word).encode() for word in request]
            sent += b"*%d\r\n" % len(words)
            sent += b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)
        self.socket.sendall(sent)
        return [self.read() for _ in requests]

    def read(self):
        line = self.replies.readline().decode().rstrip("\r\n")
        if line[:1] == ":":
            return int(line[1:])
        if line[:1] == "$":
            return None if line == "$-1" else self.replies.read(int(line[1:]) + 2)[:-2].decode()
        if line[:1] == "*":
            return [self.read() for _ in range(int(line[1:]))]
        return line

    def ask(self, *words):
        return self.pipeline(words)[0]

    # Runs a script as most clients do: by its hash, and with its text if the server has not got it.
    def run(self, script, keys, arguments):
        words = [len(keys), *keys, *arguments]
        reply = self.ask("EVALSHA", hashlib.sha1(script.encode()).hexdigest(), *words)
        if isinstance(reply, str) and reply.startswith("-NOSCRIPT "):
            reply = self.ask("EVAL", script, *words)
        return reply
