/* heddle admin backup: a copy of a space of a running server.
 *
 * The server copies the space as of one moment, and the client fetches that
 * copy in parts. The file appears under its name when it is complete and
 * verified; until then it is FILE.part. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auth/key.h"
#include "base/buf.h"
#include "cli/admin.h"
#include "cli/look.h"
#include "cli/report.h"
#include "host/questions.h"
#include "server/admin.h"
#include "store/engine.h"
#include "store/verify.h"
#include "value/object.h"

enum {
    AHEAD = 8, /* parts that are asked for before the first has come */
};

struct fetch {
    struct admin *admin;
    int fd;
    uint64_t bytes;
    uint64_t asked; /* offsets */
    uint64_t written;
    uint64_t numbers[AHEAD]; /* of the questions, by part */
};

static uint64_t *number_at(struct fetch *fetch, uint64_t offset)
{
    return &fetch->numbers[offset / ADMIN_READ_BYTES % AHEAD];
}

static void ask_ahead(struct fetch *fetch)
{
    while (fetch->asked < fetch->bytes &&
           fetch->asked < fetch->written + (uint64_t)AHEAD * ADMIN_READ_BYTES) {
        struct value question = question_new("adminRead");
        object_put_number(&question, "offset", fetch->asked);
        *number_at(fetch, fetch->asked) = admin_send(fetch->admin, question);
        fetch->asked += ADMIN_READ_BYTES;
    }
}

/* 0 or an errno. */
static int write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        const ssize_t count = write(fd, bytes, length);
        if (count < 0 && errno != EINTR) {
            return errno;
        }
        if (count > 0) {
            bytes += count;
            length -= (size_t)count;
        }
    }
    return 0;
}

static int take_part(struct fetch *fetch, const char *name)
{
    const struct options *options = fetch->admin->options;
    const uint64_t left = fetch->bytes - fetch->written;
    const size_t want =
        left < ADMIN_READ_BYTES ? (size_t)left : ADMIN_READ_BYTES;
    struct value answer;
    struct buf bytes = {0};
    int code =
        admin_wait(fetch->admin, *number_at(fetch, fetch->written), &answer);
    const struct value part = object_field(answer, "bytes");
    if (code == CODE_OK &&
        (!value_is_string(part) || !base64url_read(&bytes, value_text(&part)) ||
         bytes.length != want)) {
        struct err_detail detail = {0};
        (void)err_set(&detail,
                      ERR_PROTOCOL,
                      "the server has sent an invalid part of the backup");
        code = report_detail(options, NULL, &detail);
    }
    if (code == CODE_OK) {
        const int failed = write_all(fetch->fd, bytes.at, bytes.length);
        code = failed == 0 ? CODE_OK : report_system(options, name, failed);
        fetch->written += want;
    }
    buf_release(&bytes);
    value_unref(answer);
    return code;
}

/* Everything, to a descriptor. *about: what the server says about it, new. */
static int fetch_all(struct admin *admin,
                     int fd,
                     const char *name,
                     struct value *about)
{
    struct fetch fetch = {.admin = admin, .fd = fd};
    int code = admin_ask(admin, question_new("adminBackup"), about);
    fetch.bytes = code == CODE_OK ? object_number(*about, "bytes") : 0;
    while (code == CODE_OK && fetch.written < fetch.bytes) {
        ask_ahead(&fetch);
        code = take_part(&fetch, name);
    }
    return code;
}

/* -- Into a file --------------------------------------------------------- */

static void tell_difference(void *ctx, const char *sentence)
{
    (void)ctx;
    (void)fprintf(stderr, "heddle: %s\n", sentence);
}

/* Whether the copy agrees with its history; and its seq. */
static int verify(const struct options *options,
                  const char *path,
                  struct value *about)
{
    const struct engine_options settings = {.path = path, .read_only = true};
    const struct verify_options check = {.difference = tell_difference};
    struct verify_counts counts = {0};
    struct engine engine;
    struct err_detail detail = {0};
    enum err err = engine_open(&engine, &settings, &detail);
    if (err == ERR_OK) {
        object_put_number(about, "seq", engine.seq);
        err = engine_verify(&engine, &check, &counts, &detail);
        engine_close(&engine);
    }
    if (err == ERR_OK && counts.differences > 0) {
        err = err_set(&detail,
                      ERR_CORRUPT,
                      "the space of the server is damaged: 'heddle check' "
                      "beside it shows more");
    }
    return err == ERR_OK ? CODE_OK : report_detail(options, path, &detail);
}

/* Gives the part its name, which never replaces another file. */
static int publish(const struct options *options,
                   int fd,
                   const char *part,
                   const char *name)
{
    return fsync(fd) == 0 && link(part, name) == 0
               ? CODE_OK
               : report_system(options, name, errno);
}

/* With what was created beside it to read it. */
static void remove_part(const char *part)
{
    static const char *const tails[] = {"", "-wal", "-shm", "-lock"};
    for (size_t i = 0; i < COUNT_OF(tails); i++) {
        struct buf name = {0};
        buf_printf(&name, "%s%s", part, tails[i]);
        (void)unlink(buf_text(&name));
        buf_release(&name);
    }
}

static int to_file(struct admin *admin, const char *name, struct value *about)
{
    const struct options *options = admin->options;
    struct buf part = {0};
    if (access(name, F_OK) == 0) {
        return report_system(options, name, EEXIST);
    }
    buf_printf(&part, "%s.part", name);
    const int fd = open(buf_text(&part),
                        O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                        0600);
    int code =
        fd >= 0 ? CODE_OK : report_system(options, buf_text(&part), errno);
    if (code == CODE_OK) {
        code = fetch_all(admin, fd, buf_text(&part), about);
        if (code == CODE_OK) {
            code = verify(options, buf_text(&part), about);
        }
        if (code == CODE_OK) {
            code = publish(options, fd, buf_text(&part), name);
        }
        (void)close(fd);
        remove_part(buf_text(&part));
    }
    buf_release(&part);
    return code;
}

int admin_backup_run(const struct options *options)
{
    const char *name = options->operands[1].word;
    struct admin admin;
    struct value about = VALUE_NONE;
    const bool to_output = strcmp(name, "-") == 0;
    int code = admin_open(&admin, options, options->operands[0].word, false);
    if (code == CODE_OK) {
        code = to_output ? fetch_all(&admin, STDOUT_FILENO, name, &about)
                         : to_file(&admin, name, &about);
    }
    admin_close(&admin);
    if (code == CODE_OK && !to_output) {
        if (option_is_given(options, OPTION_JSON)) {
            look_print_adopt(options, value_ref(about));
        } else {
            (void)fprintf(stderr,
                          "heddle: %s: verified, seq %" PRIu64 ", %" PRIu64
                          " KiB\n",
                          name,
                          object_number(about, "seq"),
                          object_number(about, "bytes") / 1024);
        }
    }
    value_unref(about);
    return code;
}
