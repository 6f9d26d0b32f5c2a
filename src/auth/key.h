/* Identities: Ed25519 keys, their files and their names.
 *
 * The name of a key is its did:key: "did:key:z" and the base58 text (alphabet
 * of Bitcoin) of the bytes 0xED 0x01 and the public key. So a name is the
 * public key, and needs no directory to be verified.
 *
 * A key file is one line of text, "heddle-key-1 " and the 32 bytes of the seed
 * in base64url. The public key follows from the seed.
 *
 *   key-1  One public key has one name: key_name_read accepts exactly what
 *          key_name_write makes.
 *   key-2  A key file is readable by its owner only. key_file_read refuses a
 *          file that its group or others can access.
 *   key-3  A key file appears whole or not at all, and is never overwritten
 *          unless the caller asks for it.
 *   key-4  Secrets are cleared before their memory is released.
 *
 * Nothing here is shared: a struct key belongs to its owner, and the functions
 * may be called from any thread. */

#ifndef AUTH_KEY_H
#define AUTH_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "value/value.h"

enum {
    KEY_PUBLIC_BYTES = 32,
    KEY_SEED_BYTES = 32,
    KEY_SECRET_BYTES = 64,
    KEY_SIGNATURE_BYTES = 64,
    KEY_NAME_LENGTH = 56, /* of "did:key:z6Mk..." */
};

struct public_key {
    unsigned char bytes[KEY_PUBLIC_BYTES];
};

struct key {
    struct public_key public_key;
    unsigned char secret[KEY_SECRET_BYTES];
};

/* A new key from the random numbers of the system. */
MUST_CHECK enum err key_make(struct key *out, struct err_detail *detail);

/* The key of a seed: the same seed gives the same key. */
void key_of_seed(const unsigned char seed[KEY_SEED_BYTES], struct key *out);

/* Clears it (key-4). */
void key_release(struct key *key);

/* Unpredictable bytes, for challenges and the ids of tokens. */
MUST_CHECK enum err key_random(void *out,
                               size_t length,
                               struct err_detail *detail);

/* -- Names --------------------------------------------------------------- */

/* The did:key, terminated. */
void key_name_write(const struct public_key *key,
                    char out[KEY_NAME_LENGTH + 1]);

/* The reverse (key-1); false for any other text. */
bool key_name_read(struct text name, struct public_key *out);

/* -- Signatures ---------------------------------------------------------- */

void key_sign(const struct key *key,
              const void *bytes,
              size_t length,
              unsigned char out[KEY_SIGNATURE_BYTES]);

bool key_verify(const struct public_key *key,
                const void *bytes,
                size_t length,
                const unsigned char signature[KEY_SIGNATURE_BYTES]);

/* -- Files --------------------------------------------------------------- */

/* Errors: NOT_FOUND if there is no such file, ACCESS (key-2), SYNTAX for
 * another content, IO. */
MUST_CHECK enum err key_file_read(const char *path,
                                  struct key *out,
                                  struct err_detail *detail);

/* Creates the file with mode 0600 (key-3). MISUSE if there is one and `replace`
 * is false. Directories are not created. */
MUST_CHECK enum err key_file_write(const char *path,
                                   const struct key *key,
                                   bool replace,
                                   struct err_detail *detail);

/* -- base64url without padding -------------------------------------------- */

/* Appends the text of the bytes. */
void base64url_write(struct buf *to, const void *bytes, size_t length);

/* Appends the bytes of a text, which is strictly RFC 4648 section 5: no
 * padding, no blanks, no unused bits. False otherwise; `to` then has its old
 * content. */
MUST_CHECK bool base64url_read(struct buf *to, struct text text);

#endif
