#!/usr/bin/env python3
"""Makes tokens.json: tokens of another implementation, valid and invalid.

Python's `cryptography` signs; test/unit/auth/test_token.c checks. The keys are
new in every run, so the file changes as a whole. `error` is a part of the
sentence with which a token is refused; without it the token is accepted with
`principal`, `cap`, `space` and `grants`.
"""
import base64
import hashlib
import hmac
import json
import os
import sys

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

NOW = 1_800_000_000
AUDIENCE = "heddle:test"
ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value, length=None):
    length = length or (value.bit_length() + 7) // 8
    return b64(value.to_bytes(length, "big"))


def did(key):
    value = int.from_bytes(b"\xed\x01" + key.public_key().public_bytes_raw(), "big")
    digits = ""
    while value:
        value, digit = divmod(value, 58)
        digits = ALPHABET[digit] + digits
    return "did:key:z" + digits


def rsa_jwk(key, **more):
    numbers = key.public_key().public_numbers()
    return {"kty": "RSA", "n": number(numbers.n), "e": number(numbers.e), **more}


def ec_jwk(key, curve="P-256", **more):
    numbers = key.public_key().public_numbers()
    size = (key.curve.key_size + 7) // 8
    return {"kty": "EC", "crv": curve, "x": number(numbers.x, size), "y": number(numbers.y, size), **more}


def sign_ed(key):
    return key.sign


def sign_rsa(key):
    return lambda content: key.sign(content, padding.PKCS1v15(), hashes.SHA256())


def sign_ec(key):
    def sign(content):
        r, s = decode_dss_signature(key.sign(content, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")
    return sign


def token(header, payload, sign):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    content = b64(text) + "." + b64(body)
    return content + "." + b64(sign(content.encode()))


service = ed25519.Ed25519PrivateKey.generate()
ann = ed25519.Ed25519PrivateKey.generate()
rsa_a = rsa.generate_private_key(65537, 2048)
rsa_b = rsa.generate_private_key(65537, 2048)
ec_a = ec.generate_private_key(ec.SECP256R1())
ec_b = ec.generate_private_key(ec.SECP256R1())

JWKS = {"keys": [
    rsa_jwk(rsa_a, kid="rsa", use="sig", alg="RS256"),
    rsa_jwk(rsa_b, kid="pinned", iss="https://login.example"),
    ec_jwk(ec_a, kid="ec"),
    {"kty": "oct", "kid": "shared", "k": b64(b"a shared secret that is no key of ours")},
    {"kty": "OKP", "crv": "Ed25519", "kid": "okp", "x": b64(ann.public_key().public_bytes_raw())},
    ec_jwk(ec.generate_private_key(ec.SECP384R1()), "P-384", kid="p384"),
    rsa_jwk(rsa_b, kid="encrypts", use="enc"),
    ec_jwk(ec_b, kid="wraps", key_ops=["wrapKey"]),
    rsa_jwk(rsa_b, kid="pss", alg="PS256"),
]}

cases = []


def case(name, text, error=None, **result):
    cases.append({"name": name, "token": text, **({"error": error} if error else result)})


def own(key=service, **changes):
    claims = {"iss": did(key), "sub": did(ann), "aud": AUDIENCE, "space": "main", "cap": "WRITE",
              "iat": NOW, "nbf": NOW, "exp": NOW + 3600, "jti": "1"}
    claims.update(changes)
    return {name: value for name, value in claims.items() if value is not None}


def login(**changes):
    claims = {"iss": "https://login.example", "sub": "ann@example.com", "aud": AUDIENCE, "exp": NOW + 3600}
    claims.update(changes)
    return {name: value for name, value in claims.items() if value is not None}


ED = {"alg": "EdDSA", "typ": "JWT"}
RS = {"alg": "RS256", "kid": "rsa"}
ES = {"alg": "ES256", "kid": "ec"}
ACCEPTED = {"principal": did(ann), "cap": "WRITE", "space": "main", "grants": True}
LOGIN = {"principal": "ann@example.com", "cap": "OWNER", "space": "", "grants": False}

# Accepted.
case("a service key grants", token(ED, own(), sign_ed(service)), **ACCEPTED)
case("a service key grants to a name", token(ED, own(sub="build robot"), sign_ed(service)),
     **{**ACCEPTED, "principal": "build robot"})
case("every space", token(ED, own(space="*", cap="READ"), sign_ed(service)), **{**ACCEPTED, "space": "", "cap": "READ"})
case("a key for itself", token(ED, own(ann), sign_ed(ann)), **{**ACCEPTED, "grants": False})
case("kid is the did:key", token({**ED, "kid": did(service)}, own(), sign_ed(service)), **ACCEPTED)
case("kid is the verification method",
     token({**ED, "kid": did(service) + "#" + did(service)[8:]}, own(), sign_ed(service)), **ACCEPTED)
case("without typ", token({"alg": "EdDSA"}, own(), sign_ed(service)), **ACCEPTED)
case("typ in small letters", token({"alg": "EdDSA", "typ": "jwt"}, own(), sign_ed(service)), **ACCEPTED)
case("RS256", token(RS, login(), sign_rsa(rsa_a)), **LOGIN)
case("RS256 with at+jwt", token({**RS, "typ": "at+jwt"}, login(), sign_rsa(rsa_a)), **LOGIN)
case("ES256", token(ES, login(), sign_ec(ec_a)), **LOGIN)
case("ES256 without kid: one key", token({"alg": "ES256"}, login(), sign_ec(ec_a)), **LOGIN)
case("a key with its issuer", token({"alg": "RS256", "kid": "pinned"}, login(), sign_rsa(rsa_b)), **LOGIN)
case("a login narrows", token(RS, login(cap="READ", space="main"), sign_rsa(rsa_a)),
     **{**LOGIN, "cap": "READ", "space": "main"})
case("a list of audiences", token(RS, login(aud=["other", AUDIENCE]), sign_rsa(rsa_a)), **LOGIN)
case("times with a fraction", token(RS, login(exp=NOW + 0.5, iat=NOW - 0.5), sign_rsa(rsa_a)), **LOGIN)
case("expired 59 s ago", token(ED, own(exp=NOW - 59), sign_ed(service)), **ACCEPTED)
case("valid in 60 s", token(ED, own(nbf=NOW + 60), sign_ed(service)), **ACCEPTED)

# The algorithm.
case("alg none", token({"alg": "none"}, own(), lambda _: b""), "alg")
case("alg None", token({"alg": "None"}, own(), lambda _: b""), "alg")
case("alg none with a signature", token({"alg": "none"}, own(), sign_ed(service)), "alg")
case("no alg", token({"typ": "JWT"}, own(), sign_ed(service)), "alg")
case("alg is a number", token({"alg": 1}, own(), sign_ed(service)), "alg")
case("alg in small letters", token({"alg": "eddsa"}, own(), sign_ed(service)), "alg")
modulus = rsa_a.public_key().public_numbers().n.to_bytes(256, "big")
case("HS256 with the modulus",
     token({"alg": "HS256", "kid": "rsa"}, login(), lambda c: hmac.new(modulus, c, hashlib.sha256).digest()), "alg")
case("HS256 with the shared key",
     token({"alg": "HS256", "kid": "shared"}, login(),
           lambda c: hmac.new(b"a shared secret that is no key of ours", c, hashlib.sha256).digest()), "alg")
case("HS256 with the service key",
     token({"alg": "HS256"}, own(), lambda c: hmac.new(service.public_key().public_bytes_raw(), c,
                                                       hashlib.sha256).digest()), "alg")
case("RS256 with an EC key", token({"alg": "RS256", "kid": "ec"}, login(), sign_ec(ec_a)), "another algorithm")
case("ES256 with an RSA key", token({"alg": "ES256", "kid": "rsa"}, login(), sign_rsa(rsa_a)), "another algorithm")
case("EdDSA with an RSA key", token({"alg": "EdDSA", "kid": "rsa"}, login(), sign_rsa(rsa_a)), "did:key")
case("EdDSA of the key set", token({"alg": "EdDSA", "kid": "okp"}, login(), sign_ed(ann)), "did:key")
case("RS384", token({"alg": "RS384", "kid": "rsa"}, login(), sign_rsa(rsa_a)), "alg")
case("RS256 signed with PSS",
     token(RS, login(), lambda c: rsa_a.sign(c, padding.PSS(padding.MGF1(hashes.SHA256()), 32), hashes.SHA256())),
     "signature")

# The key.
case("another kid", token({"alg": "RS256", "kid": "rsb"}, login(), sign_rsa(rsa_a)), "not in the server's key set")
case("a kid that is no string", token({"alg": "RS256", "kid": 1}, login(), sign_rsa(rsa_a)), "kid")
case("a kid of another key", token({"alg": "RS256", "kid": "pinned"}, login(), sign_rsa(rsa_a)), "signature")
case("no kid, several keys", token({"alg": "RS256"}, login(), sign_rsa(rsa_a)), "kid")
case("a key for encryption", token({"alg": "RS256", "kid": "encrypts"}, login(), sign_rsa(rsa_b)), "key set")
case("a key for wrapping", token({"alg": "ES256", "kid": "wraps"}, login(), sign_ec(ec_b)), "key set")
case("a key for PS256", token({"alg": "RS256", "kid": "pss"}, login(), sign_rsa(rsa_b)), "key set")
case("another issuer than the key's",
     token({"alg": "RS256", "kid": "pinned"}, login(iss="https://evil.example"), sign_rsa(rsa_b)), "another issuer")
case("no issuer for a key with one",
     token({"alg": "RS256", "kid": "pinned"}, login(iss=None), sign_rsa(rsa_b)), "another issuer")
case("a key set that was not given", token({"alg": "ES256", "kid": "ec"}, login(), sign_ec(ec_b)), "signature")
case("kid names another key than iss", token({**ED, "kid": did(ann)}, own(), sign_ed(service)), "kid")
case("iss is no key", token(ED, own(iss="service"), sign_ed(service)), "did:key")
case("no iss", token(ED, own(iss=None), sign_ed(service)), "did:key")
case("a stranger for another", token(ED, own(ann, sub="boss"), sign_ed(ann)), "service key")
case("a stranger for the service", token(ED, own(ann, sub=did(service)), sign_ed(ann)), "service key")
case("a stranger as the service", token(ED, own(), sign_ed(ann)), "signature")
case("ES256 signature in DER", token(ES, login(), lambda c: ec_a.sign(c, ec.ECDSA(hashes.SHA256()))), "signature")
case("ES256 signature of zeros", token(ES, login(), lambda c: bytes(64)), "signature")
case("an empty signature", token(ED, own(), lambda _: b""), "signature")
case("a short signature", token(ED, own(), lambda c: service.sign(c)[:63]), "signature")

# Header and payload.
case("crit", token({**ED, "crit": ["exp"]}, own(), sign_ed(service)), "crit")
case("another typ", token({"alg": "EdDSA", "typ": "secevent+jwt"}, own(), sign_ed(service)), "typ")
case("the header is a list", token(b"[]", own(), sign_ed(service)), "malformed")
case("the payload is a string", token(ED, b'"text"', sign_ed(service)), "malformed")
case("the payload is no JSON", token(ED, b"{", sign_ed(service)), "malformed")
good = token(ED, own(), sign_ed(service))
head, body, tail = good.split(".")
case("empty", "", "empty")
case("two parts", head + "." + body, "three parts")
case("four parts", good + ".x", "malformed")
case("padding", head + "." + body + "." + tail + "==", "malformed")
case("the other base64", head + "." + body + "." + base64.b64encode(b"\xfb\xff" * 32).decode(), "malformed")
case("a blank", good + " ", "malformed")
case("a newline", good + "\n", "malformed")
case("unused bits", head + "." + body + "." + tail[:-1] + chr(ord(tail[-1]) + 1), "malformed")
case("too large", token(ED, own(jti="x" * 9000), sign_ed(service)), "limit")
forged = json.loads(base64.urlsafe_b64decode(body + "=="))
forged["cap"] = "OWNER"
case("a changed payload", head + "." + b64(json.dumps(forged).encode()) + "." + tail, "signature")

# Claims.
case("another audience", token(ED, own(aud="heddle:other"), sign_ed(service)), "heddle:test")
case("no audience", token(ED, own(aud=None), sign_ed(service)), "aud")
case("an empty list of audiences", token(RS, login(aud=[]), sign_rsa(rsa_a)), "aud")
case("a list of others", token(RS, login(aud=["a", 1]), sign_rsa(rsa_a)), "aud")
case("expired 60 s ago", token(ED, own(exp=NOW - 60), sign_ed(service)), "expired")
case("no exp", token(ED, own(exp=None), sign_ed(service)), "exp")
case("exp is a text", token(ED, own(exp=str(NOW + 1)), sign_ed(service)), "exp")
case("exp is negative", token(ED, own(exp=-1), sign_ed(service)), "exp")
case("exp is huge", token(ED, own(exp=1e300), sign_ed(service)), "exp")
case("nbf is null", token(ED, b'{"nbf":null,' + json.dumps(own(nbf=None)).encode()[1:], sign_ed(service)), "nbf")
case("valid in 61 s", token(ED, own(nbf=NOW + 61), sign_ed(service)), "not valid yet")
case("issued in 61 s", token(ED, own(iat=NOW + 61, nbf=None), sign_ed(service)), "not valid yet")
case("no sub", token(ED, own(sub=None), sign_ed(service)), "sub")
case("an empty sub", token(RS, login(sub=""), sign_rsa(rsa_a)), "sub")
case("sub is everyone", token(ED, own(sub="*"), sign_ed(service)), "sub")
case("sub of 256 bytes", token(RS, login(sub="x" * 256), sign_rsa(rsa_a)), "sub")
case("sub of 255 bytes", token(RS, login(sub="x" * 255), sign_rsa(rsa_a)), **{**LOGIN, "principal": "x" * 255})
case("sub with a zero byte", token(RS, login(sub="ann\0x"), sign_rsa(rsa_a)), "sub")
case("sub with a newline", token(RS, login(sub="ann\nx"), sign_rsa(rsa_a)), "sub")
case("a login as a key", token(RS, login(sub=did(ann)), sign_rsa(rsa_a)), "did:")
case("a login as the service", token(ES, login(sub=did(service)), sign_ec(ec_a)), "did:")
case("no cap", token(ED, own(cap=None), sign_ed(service)), "cap")
case("cap in small letters", token(ED, own(cap="write"), sign_ed(service)), "cap")
case("cap NONE", token(ED, own(cap="NONE"), sign_ed(service)), "cap")
case("a login with a cap of its own", token(RS, login(cap=["admin"]), sign_rsa(rsa_a)), "cap")
case("no space", token(ED, own(space=None), sign_ed(service)), "space")
case("an empty space", token(ED, own(space=""), sign_ed(service)), "space")
case("a space with a slash", token(ED, own(space="a/b"), sign_ed(service)), "space")
case("a space of 256 bytes", token(ED, own(space="s" * 256), sign_ed(service)), "space")
case("a list of spaces", token(ED, own(space=["main"]), sign_ed(service)), "space")

with open(os.path.join(os.path.dirname(sys.argv[0]), "tokens.json"), "w") as out:
    json.dump({"now": NOW, "audience": AUDIENCE, "service": did(service), "jwks": JWKS, "cases": cases}, out, indent=1)
    out.write("\n")
