"""A receiver of webhooks on plain Python (3.9 or later), without dependencies:

    PORT=3000 WEBHOOK_SECRET=whsec_… python3 receiver.py

It listens on loopback in plain HTTP. A reverse proxy in front of it does TLS: endpoints are registered as https.
"""

import base64
import hashlib
import hmac
import json
import os
import queue
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOLERANCE_SECONDS = 5 * 60
LARGEST_BODY = 1_048_576  # a limit of this receiver, so that a stranger cannot fill its memory


def key_of(secret):
    if not secret.startswith("whsec_"):
        raise SystemExit("WEBHOOK_SECRET must be the secret of the endpoint, which begins with whsec_.")
    return base64.b64decode(secret[len("whsec_"):], validate=True)


KEY = key_of(os.environ.get("WEBHOOK_SECRET", ""))


def is_genuine(headers, raw_body):
    """Says whether the raw body has a valid signature whose timestamp is at most 5 minutes away from this clock."""
    message_id = headers.get("webhook-id")
    timestamp = headers.get("webhook-timestamp")
    signatures = headers.get("webhook-signature")
    if not message_id or not signatures or not re.fullmatch("[0-9]{1,12}", timestamp or ""):
        return False
    if abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    signed = f"{message_id}.{timestamp}.".encode() + raw_body
    expected = b"v1," + base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest())
    return any(hmac.compare_digest(signature.encode(), expected) for signature in signatures.split(" "))


# In production, replace these two by one table with a unique column for the id: insert the message, then answer. A process
# that dies after its answer loses its memory, and the service does not send an accepted message again.
known = set()
inbox = queue.Queue()
lock = threading.Lock()


def keep(message_id, event):
    """Stores a message, to handle it after the answer. Ignores a message whose id is known."""
    with lock:
        if message_id not in known:
            known.add(message_id)
            inbox.put(event)


def handle(event):
    """Put your own work here. Unknown types and webhook.test need only the answer."""
    print("handled", event["id"], event["type"], flush=True)


def work():
    while True:
        handle(inbox.get())


class Server(ThreadingHTTPServer):
    request_queue_size = 128  # after a pause, many messages can arrive at the same time


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 20  # seconds after which a silent connection ends

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            self.answer(411, close=True)  # let the reverse proxy send bodies with their length
        elif int(length) > LARGEST_BODY:
            self.answer(413, close=True)
        else:
            self.answer(self.receive(self.rfile.read(int(length))))

    def receive(self, raw_body):
        if not is_genuine(self.headers, raw_body):
            return 401
        try:
            event = json.loads(raw_body)
        except ValueError:
            return 400
        keep(self.headers["webhook-id"], event)
        return 204

    def do_GET(self):
        self.answer(405, close=True)

    def answer(self, status, close=False):
        self.close_connection = self.close_connection or close
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", "0")
        if close:
            self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, format, *args):
        """Writes no log line for each request."""


if __name__ == "__main__":
    threading.Thread(target=work, daemon=True).start()
    server = Server(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Receiver)
    print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()
