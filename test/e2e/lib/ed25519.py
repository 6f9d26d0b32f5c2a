"""Ed25519 signatures and the names of their keys, after RFC 8032 and the did:key specification: a second implementation, so
that what a server verifies was not signed by the code that verifies it. Slow, and not for secrets."""
import hashlib

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def add(a, b):
    """Two points of the curve, in extended coordinates."""
    e, f = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    g, h = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    w, x, y, z = f - e, h - g, h + g, f + e
    return w * x % P, y * z % P, x * y % P, w * z % P


def times(number, point):
    result = (0, 1, 1, 0)
    while number:
        if number & 1:
            result = add(result, point)
        point = add(point, point)
        number >>= 1
    return result


def pack(point):
    inverse = pow(point[2], P - 2, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def base():
    y = 4 * pow(5, P - 2, P) % P
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    x = x if x % 2 == 0 else P - x
    return x, y, 1, x * y % P


BASE = base()


class Key:
    def __init__(self, seed):
        digest = hashlib.sha512(seed).digest()
        self.scalar = int.from_bytes(digest[:32], "little") & (2**254 - 8) | 2**254
        self.prefix = digest[32:]
        self.public = pack(times(self.scalar, BASE))

    def sign(self, message):
        nonce = int.from_bytes(hashlib.sha512(self.prefix + message).digest(), "little") % ORDER
        point = pack(times(nonce, BASE))
        hashed = int.from_bytes(hashlib.sha512(point + self.public + message).digest(), "little") % ORDER
        return point + ((nonce + hashed * self.scalar) % ORDER).to_bytes(32, "little")

    def name(self):
        value = int.from_bytes(b"\xed\x01" + self.public, "big")
        digits = ""
        while value:
            value, digit = divmod(value, 58)
            digits = ALPHABET[digit] + digits
        return "did:key:z" + digits
