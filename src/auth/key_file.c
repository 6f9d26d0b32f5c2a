/* Files of keys (key-2, key-3, key-4). */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "auth/key.h"

static const char header[] = "heddle-key-1 ";

enum {
    HEADER_LENGTH = sizeof header - 1,
    SEED_DIGITS = 43,
    /* Header, seed, newline. */
    FILE_LENGTH = HEADER_LENGTH + SEED_DIGITS + 1,
    RANDOM_BYTES = 8, /* in the name of the file before it has its own */
};

/* -- Reading ------------------------------------------------------------- */

static enum err check_file(int fd, const char *path, struct err_detail *detail)
{
    struct stat about;
    if (fstat(fd, &about) != 0) {
        return err_set(detail,
                       ERR_IO,
                       "cannot read the key %s: %s",
                       path,
                       strerror(errno));
    }
    if (!S_ISREG(about.st_mode)) {
        return err_set(detail,
                       ERR_SYNTAX,
                       "cannot read the key %s: it is not a regular file",
                       path);
    }
    if ((about.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        return err_set(detail,
                       ERR_ACCESS,
                       "the key %s can be accessed by other users (mode %03o): "
                       "run chmod 600 on it",
                       path,
                       (unsigned)(about.st_mode & 0777U));
    }
    return ERR_OK;
}

/* Reads up to `size` bytes; -1 on an error. */
static ssize_t read_all(int fd, char *to, size_t size)
{
    size_t length = 0;
    while (length < size) {
        const ssize_t got = read(fd, to + length, size - length);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? -1 : (ssize_t)length;
        }
        length += (size_t)got;
    }
    return (ssize_t)length;
}

static bool read_text(const char *text, size_t length, struct key *out)
{
    struct buf seed = {0};
    if (length == FILE_LENGTH && text[length - 1] == '\n') {
        length--;
    }
    const bool valid =
        length == HEADER_LENGTH + SEED_DIGITS &&
        memcmp(text, header, HEADER_LENGTH) == 0 &&
        base64url_read(&seed,
                       (struct text){text + HEADER_LENGTH, SEED_DIGITS}) &&
        seed.length == KEY_SEED_BYTES;
    if (valid) {
        key_of_seed((const unsigned char *)seed.at, out);
    }
    if (seed.at != NULL) {
        sodium_memzero(seed.at, seed.capacity); /* key-4 */
    }
    buf_release(&seed);
    return valid;
}

static enum err read_open(int fd,
                          const char *path,
                          struct key *out,
                          struct err_detail *detail)
{
    char text[FILE_LENGTH + 1]; /* one more, to notice a longer file */
    enum err err = check_file(fd, path, detail);
    if (err != ERR_OK) {
        return err;
    }
    const ssize_t length = read_all(fd, text, sizeof text);
    if (length < 0) {
        err = err_set(detail,
                      ERR_IO,
                      "cannot read the key %s: %s",
                      path,
                      strerror(errno));
    } else if (!read_text(text, (size_t)length, out)) {
        err = err_set(detail,
                      ERR_SYNTAX,
                      "%s is not a key file: it must be one line that begins "
                      "with 'heddle-key-1'",
                      path);
    }
    sodium_memzero(text, sizeof text);
    return err;
}

enum err key_file_read(const char *path,
                       struct key *out,
                       struct err_detail *detail)
{
    *out = (struct key){0};
    /* A pipe has no other end to wait for. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return err_set(detail,
                       errno == ENOENT ? ERR_NOT_FOUND : ERR_IO,
                       errno == ENOENT
                           ? "there is no key %s (%s): 'heddle key new' "
                             "creates one"
                           : "cannot read the key %s: %s",
                       path,
                       strerror(errno));
    }
    const enum err err = read_open(fd, path, out, detail);
    (void)close(fd);
    return err;
}

/* -- Writing ------------------------------------------------------------- */

static bool write_all(int fd, const char *text, size_t length)
{
    size_t done = 0;
    while (done < length) {
        const ssize_t wrote = write(fd, text + done, length - done);
        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote <= 0) {
            return false;
        }
        done += (size_t)wrote;
    }
    return true;
}

/* Creates the file under a name of its own. False, with errno, on an error. */
static bool write_new(const char *path, const struct key *key)
{
    char text[FILE_LENGTH + 1];
    memcpy(text, header, HEADER_LENGTH);
    /* The first half of a secret key is its seed. */
    (void)sodium_bin2base64(text + HEADER_LENGTH,
                            SEED_DIGITS + 1,
                            key->secret,
                            KEY_SEED_BYTES,
                            sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    text[FILE_LENGTH - 1] = '\n';
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        sodium_memzero(text, sizeof text);
        return false;
    }
    /* The mode of a new file depends on the umask, which can only narrow it. */
    const bool written = fchmod(fd, 0600) == 0 &&
                         write_all(fd, text, FILE_LENGTH) && fsync(fd) == 0;
    const int fault = errno;
    (void)close(fd);
    sodium_memzero(text, sizeof text);
    errno = fault;
    return written;
}

/* So that the name survives a power loss. */
static void sync_directory(const char *path)
{
    struct buf directory = {0};
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        buf_append_char(&directory, '.');
    } else {
        buf_append(&directory, path, (size_t)(slash - path) + 1);
    }
    const int fd = open(buf_text(&directory), O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        (void)close(fd);
    }
    buf_release(&directory);
}

/* link, unlike rename, refuses a name that exists. */
static bool give_name(const char *from, const char *path, bool replace)
{
    return replace ? rename(from, path) == 0 : link(from, path) == 0;
}

enum err key_file_write(const char *path,
                        const struct key *key,
                        bool replace,
                        struct err_detail *detail)
{
    unsigned char random[RANDOM_BYTES];
    char digits[2 * RANDOM_BYTES + 1];
    struct buf fresh = {0};
    enum err err = key_random(random, sizeof random, detail);
    if (err != ERR_OK) {
        return err;
    }
    (void)sodium_bin2hex(digits, sizeof digits, random, sizeof random);
    buf_printf(&fresh, "%s.%s", path, digits);
    const bool written = write_new(buf_text(&fresh), key) &&
                         give_name(buf_text(&fresh), path, replace);
    const int fault = errno;
    if (!written && fault == EEXIST) {
        err = err_set(detail,
                      ERR_MISUSE,
                      "there is already a key %s: it is not overwritten",
                      path);
    } else if (!written) {
        err = err_set(detail,
                      ERR_IO,
                      "cannot write the key %s: %s",
                      path,
                      strerror(fault));
    }
    (void)unlink(buf_text(&fresh));
    buf_release(&fresh);
    sync_directory(path);
    return err;
}
