/* Opening and locking locked files, and their contents. */

#include "host/locked_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "value/id.h"
#include "value/json.h"
#include "value/object.h"

enum {
    NAME_LENGTH_MAX = 100, /* of a name that is used as it is */
    TEXT_BYTES_MAX = 64 * 1024,
    ATTEMPTS = 100, /* to open a file that others remove meanwhile */
};

/* -- Names --------------------------------------------------------------- */

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* A name that cannot be the name of a file has its digest. */
static void append_name(struct buf *path, struct value name)
{
    const struct text text = value_text(&name);
    bool plain = text.length > 0 && text.length <= NAME_LENGTH_MAX;
    for (size_t i = 0; plain && i < text.length; i++) {
        plain = is_plain(text.at[i]);
    }
    if (plain) {
        buf_append(path, text.at, text.length);
        return;
    }
    char digest[DIGEST_TEXT_LENGTH + 1];
    digest_write(digest_of_bytes("heddle presence", text.at, text.length),
                 digest);
    buf_append_text(path, digest);
}

/* -- Content ------------------------------------------------------------- */

static bool write_object(int fd, struct value about)
{
    struct value object = value_ref(about);
    struct buf text = {0};
    object_put_adopt(&object, "pid", value_int(getpid()));
    json_write(&text, object, JSON_AS_GIVEN, 0);
    buf_append_char(&text, '\n');
    const bool written =
        ftruncate(fd, 0) == 0 &&
        pwrite(fd, text.at, text.length, 0) == (ssize_t)text.length;
    buf_release(&text);
    value_unref(object);
    return written;
}

struct value locked_file_read(int fd)
{
    struct buf text = {0};
    const ssize_t count =
        pread(fd, buf_reserve(&text, TEXT_BYTES_MAX), TEXT_BYTES_MAX, 0);
    struct value object = VALUE_NONE;
    if (count > 0) {
        buf_advance(&text, (size_t)count);
    }
    if (count <= 0 ||
        json_read(text.at, text.length, NULL, &object, NULL) != ERR_OK ||
        !value_is_object(object)) {
        value_unref(object);
        object = VALUE_NONE;
    }
    buf_release(&text);
    return object;
}

/* -- Opening and closing ------------------------------------------------- */

static enum err refuse(const char *path, struct err_detail *detail)
{
    const int code = errno;
    return err_set(detail,
                   code == ENOSPC || code == EDQUOT ? ERR_FULL : ERR_IO,
                   "cannot write %s: %s",
                   path,
                   strerror(code));
}

static bool is_same_file(int fd, const char *path)
{
    struct stat held;
    struct stat found;
    return fstat(fd, &held) == 0 && stat(path, &found) == 0 &&
           held.st_ino == found.st_ino && held.st_dev == found.st_dev;
}

/* The file at that path, locked. *busy: another process has the lock, and the
 * descriptor is for reading what it wrote. -1 with errno. */
static int open_locked(const char *path, bool *busy)
{
    *busy = false;
    for (unsigned attempts = 0; attempts < ATTEMPTS; attempts++) {
        const int fd =
            open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd < 0) {
            return -1;
        }
        const bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
        if (locked && is_same_file(fd, path)) {
            return fd;
        }
        if (!locked && errno == EWOULDBLOCK && attempts + 1 == ATTEMPTS) {
            *busy = true;
            return fd;
        }
        const int code = errno;
        (void)close(fd);
        errno = code;
    }
    errno = EAGAIN;
    return -1;
}

static enum err make_path(struct buf *path,
                          const char *folder,
                          const char *kind,
                          struct value name,
                          struct err_detail *detail)
{
    buf_printf(path, "%s/%s", folder, kind);
    if (mkdir(buf_text(path), 0777) != 0 && errno != EEXIST) {
        return refuse(buf_text(path), detail);
    }
    buf_append_char(path, '/');
    append_name(path, name);
    return ERR_OK;
}

enum err locked_file_open(struct locked_file *file,
                          const char *folder,
                          const char *kind,
                          struct value name,
                          struct value about,
                          struct value *holder,
                          struct err_detail *detail)
{
    bool busy = false;
    *file = (struct locked_file){.fd = -1};
    enum err err = make_path(&file->path, folder, kind, name, detail);
    if (err == ERR_OK) {
        file->fd = open_locked(buf_text(&file->path), &busy);
        err = file->fd < 0 ? refuse(buf_text(&file->path), detail) : ERR_OK;
    }
    if (err == ERR_OK && busy) {
        if (holder != NULL) {
            *holder = locked_file_read(file->fd);
        }
        (void)close(file->fd);
        file->fd = -1;
        err = err_set(detail,
                      ERR_BUSY,
                      "%s belongs to another process",
                      buf_text(&file->path));
    }
    if (err == ERR_OK && !write_object(file->fd, about)) {
        err = refuse(buf_text(&file->path), detail);
        locked_file_close(file);
    } else if (err != ERR_OK) {
        buf_release(&file->path);
    }
    return err;
}

enum err locked_file_write(struct locked_file *file,
                           struct value about,
                           struct err_detail *detail)
{
    return write_object(file->fd, about)
               ? ERR_OK
               : refuse(buf_text(&file->path), detail);
}

void locked_file_close(struct locked_file *file)
{
    (void)unlink(buf_text(&file->path));
    (void)close(file->fd);
    buf_release(&file->path);
}

bool locked_file_is_held(const char *folder,
                         const char *kind,
                         struct value name,
                         bool cleans)
{
    struct buf path = {0};
    buf_printf(&path, "%s/%s/", folder, kind);
    append_name(&path, name);
    const int fd = open(buf_text(&path), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    const bool is_held =
        fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (fd >= 0 && !is_held && cleans) {
        (void)unlink(buf_text(&path));
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    buf_release(&path);
    return is_held;
}

struct value locked_file_holder(const char *folder,
                                const char *kind,
                                struct value name)
{
    struct buf path = {0};
    struct value about = VALUE_NONE;
    buf_printf(&path, "%s/%s/", folder, kind);
    append_name(&path, name);
    const int fd = open(buf_text(&path), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        about = locked_file_read(fd);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    buf_release(&path);
    return about;
}
