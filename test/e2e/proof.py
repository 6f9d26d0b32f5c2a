#!/usr/bin/env python3
"""Proofs of identity at a running server, signed by another implementation (test/e2e/lib/ed25519.py): scenarios K05 and K07
over the wire."""
import base64
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
sys.path.insert(0, str(HERE / "lib"))
from ed25519 import Key
from tap import expect, expect_equal, expect_in, main, test
from wire import Server, Wire, put

HEDDLE = os.path.abspath(os.environ.get("HEDDLE", "build/gcc-release/heddle"))
ANN = Key(bytes(range(32)))
BOB = Key(bytes(range(1, 33)))


def run(*words):
    return subprocess.run([HEDDLE, *words], check=True, capture_output=True, text=True).stdout.strip()


def now():
    return int(time.time() * 1000)


def proof(key, audience, challenge, says=True, space="main", branch="", session=None, issued=None, expires=None, command="attach"):
    """Signs these; with `says`, the proof repeats audience and challenge."""
    issued = now() if issued is None else issued
    expires = issued + 60000 if expires is None else expires
    claim = {"command": command, "audience": audience, "challenge": challenge, "space": space, "branch": branch,
             "session": session, "issuedAt": issued, "expires": expires}
    text = json.dumps(claim, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    signature = base64.urlsafe_b64encode(key.sign(text.encode())).rstrip(b"=").decode()
    made = {"key": key.name(), "issuedAt": issued, "expires": expires, "signature": signature}
    return {**made, "audience": audience, "challenge": challenge} if says else made


class Connection(Wire):
    """Keeps the challenge that is valid."""

    def __init__(self, port):
        super().__init__(port)
        self.challenge = self.welcome["challenge"]
        self.audience = self.welcome["audience"]
        self.channel = 0

    def prove(self, key=ANN, asks=None, challenge=None, audience=None, **signed):
        """Attaches with a proof; `asks` is what the attach itself says."""
        self.channel += 1
        made = proof(key, audience or self.audience, challenge or self.challenge, **signed)
        answer = self.attach(self.channel, **(asks or {}), proof=made)
        if "challenge" in answer:
            self.challenge = answer["challenge"]
        return answer


@contextlib.contextmanager
def realm():
    """A server with a space that Ann may write."""
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "data")
        server = Server(HEDDLE, data, insecure=False)
        try:
            token = run("token", "--key", os.path.join(data, "server.key"), "--audience", server.audience, "--cap", "owner",
                        "--for", "1h")
            wire = Wire(server.port)
            wire.open(1, "owner", token=token)
            wire.commit(1, "owner", 1, put("access:document", {ANN.name(): "OWNER"}))
            expect("seq" in wire.verdict(1), "the access document was not set")
            yield server
        finally:
            code = server.stop()
            expect(code in (0, -signal.SIGKILL), f"the server ended with {code}")


@test
def the_second_implementation_agrees_with_rfc_8032_and_with_ours():
    seed = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    expect_equal(Key(seed).sign(b"").hex()[:32], "e5564300c360ac729086e2cc806e828a")
    expect_equal(Key(bytes(32)).name(), "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp")
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "key")
        name = run("key", "new", file)
        with open(file, encoding="ascii") as lines:
            seed = base64.urlsafe_b64decode(lines.read().split()[1] + "=")
        expect_equal(Key(seed).name(), name)


@test
def k07_a_signed_attach_is_by_the_key():
    with realm() as server:
        wire = Connection(server.port)
        for says in (True, False):
            answer = wire.prove(says=says)
            expect_equal((answer["kind"], answer.get("principal"), answer.get("capability")), ("attached", ANN.name(), "OWNER"))
        answer = wire.prove(asks={"session": "größe \u2028"}, session="größe \u2028")
        expect_equal(answer["kind"], "attached")
        expect_equal(wire.prove(BOB)["code"], "ACCESS")


@test
def k05_a_challenge_is_good_for_one_attach():
    with realm() as server:
        wire = Connection(server.port)
        first = wire.challenge
        expect_equal(wire.prove()["kind"], "attached")
        expect(wire.challenge != first, "the challenge was not renewed")
        for says in (True, False):
            refused = wire.prove(challenge=first, says=says)
            expect_equal((refused["code"], refused["class"]), ("UNAUTHENTICATED", "retry" if says else "terminal"))
        refused = wire.prove(challenge="0" * 64)
        expect_equal((refused["code"], refused["class"]), ("UNAUTHENTICATED", "retry"))
        expect_equal(wire.prove(challenge=Connection(server.port).challenge)["code"], "UNAUTHENTICATED")
        unused = wire.challenge
        expect_equal(wire.prove(space="other")["code"], "UNAUTHENTICATED")
        expect_equal(wire.prove(challenge=unused)["code"], "UNAUTHENTICATED")
        expect_equal(wire.prove()["kind"], "attached")


@test
def k05_a_proof_for_another_server_is_refused():
    with realm() as server:
        wire = Connection(server.port)
        refused = wire.prove(audience="heddle:other")
        expect_equal((refused["code"], refused["class"]), ("UNAUTHENTICATED", "terminal"))
        expect_in("another server", refused["message"])
        expect_equal(wire.prove(audience="heddle:other", says=False)["code"], "UNAUTHENTICATED")


@test
def k07_what_was_changed_after_signing_is_refused():
    with realm() as server:
        wire = Connection(server.port)
        changes = [{"signed": {"space": "other"}}, {"signed": {"branch": "draft"}}, {"signed": {"session": "s1"}},
                   {"asks": {"session": "s1"}}, {"asks": {"session": "s1"}, "signed": {"session": "s2"}},
                   {"asks": {"branch": "draft"}}, {"signed": {"command": "detach"}}]
        for change in changes:
            refused = wire.prove(asks=change.get("asks"), **change.get("signed", {}))
            expect_equal((change, refused.get("code")), (change, "UNAUTHENTICATED"))
        wire.channel += 1
        forged = {**proof(BOB, wire.audience, wire.challenge), "key": ANN.name()}
        refused = wire.attach(wire.channel, proof=forged)
        expect_equal(refused["code"], "UNAUTHENTICATED")
        wire.challenge = refused["challenge"]
        for shape in (None, 1, "x", [], {}, {"key": ANN.name()}, {**proof(ANN, wire.audience, wire.challenge), "expires": "soon"}):
            wire.channel += 1
            refused = wire.attach(wire.channel, proof=shape)
            expect_equal((shape, refused["code"]), (shape, "UNAUTHENTICATED"))
            wire.challenge = refused["challenge"]
        expect_equal(wire.prove()["kind"], "attached")


@test
def k07_100_s_late_is_accepted_and_140_s_is_refused():
    """The exact limit is a unit test: here the clocks run."""
    with realm() as server:
        wire = Connection(server.port)
        expect_equal(wire.prove(issued=now() - 600000, expires=now() - 100000)["kind"], "attached")
        refused = wire.prove(issued=now() - 600000, expires=now() - 140000)
        expect_equal(refused["code"], "UNAUTHENTICATED")
        expect_in("expired", refused["message"])


main()
