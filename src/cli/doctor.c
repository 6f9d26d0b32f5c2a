/* heddle doctor: the facts that a person who helps would ask for first. */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include "cli/command.h"
#include "cli/display.h"
#include "cli/look.h"
#include "cli/output.h"
#include "cli/report.h"
#include "host/data_dir.h"
#include "host/presence.h"
#include "host/system.h"
#include "script/program.h"
#include "server/server.h"
#include "store/engine.h"
#include "store/retention.h"
#include "store/schema.h"
#include "store/spaces.h"
#include "value/array.h"
#include "value/object.h"

enum {
    FREE_BYTES_LEAST = 64 * 1024 * 1024,
    WAL_BYTES_MOST = 256 * 1024 * 1024,
    TELL_BYTES = 64 * 1024, /* that could be returned, without a remark */
    HELD_MS_MOST = 1000,    /* that the write lock is held without a remark */
};

/* File systems on which locks and shared memory between machines do not hold
 * what they promise. */
static const struct {
    uint32_t type;
    const char *name;
} remote[] = {
    {0x6969, "NFS"},
    {0x517B, "SMB"},
    {0xFE534D42, "SMB"},
    {0xFF534D42, "CIFS"},
    {0x01021997, "9P"},
    {0x00C36400, "Ceph"},
    {0x5346414F, "AFS"},
};

struct examination {
    const struct options *options;
    struct value report;
    struct value hazards;
};

__attribute__((format(printf, 2, 3))) static void warn(
    struct examination *visit,
    const char *format,
    ...)
{
    char text[512];
    struct buf shown = {0};
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    display_append(&shown, text);
    visit->hazards =
        array_push_adopt(visit->hazards,
                         value_string_new(buf_text(&shown), shown.length));
    buf_release(&shown);
}

/* -- What there is ------------------------------------------------------- */

static void look_at_versions(struct examination *visit)
{
    struct value versions = value_empty_object();
    object_put_text(&versions, "heddle", hd_version());
    object_put_text(&versions, "sqlite", database_library());
    object_put_text(&versions, "lua", program_lua_release());
    object_put_number(&versions, "schema", SCHEMA_VERSION);
    object_put_adopt(&visit->report, "versions", versions);
}

static void look_at_disk(struct examination *visit)
{
    const char *folder = look_folder(visit->options);
    struct statfs kind;
    struct statvfs room;
    struct value disk = value_empty_object();
    const char *name = "local";
    if (statfs(folder, &kind) == 0) {
        for (size_t i = 0; i < COUNT_OF(remote); i++) {
            if ((uint32_t)kind.f_type == remote[i].type) {
                name = remote[i].name;
                warn(visit,
                     "the directory is on a network file system (%s): locks "
                     "do not hold between machines there, move it to a local "
                     "disk",
                     name);
            }
        }
    }
    object_put_text(&disk, "kind", name);
    if (statvfs(folder, &room) == 0) {
        const uint64_t bytes = (uint64_t)room.f_bavail * room.f_frsize;
        object_put_number(&disk, "freeBytes", bytes);
        if (bytes < FREE_BYTES_LEAST) {
            warn(visit,
                 "the disk is almost full, %" PRIu64
                 " KiB are left: free some space, or commits will fail",
                 bytes / 1024);
        }
        if ((room.f_flag & ST_RDONLY) != 0) {
            warn(visit, "the file system is mounted read-only");
        }
    }
    object_put_adopt(&visit->report, "disk", disk);
}

static uint64_t bytes_of(const char *path, const char *ending)
{
    struct buf name = {0};
    struct stat found;
    buf_printf(&name, "%s%s", path, ending);
    const uint64_t bytes =
        stat(buf_text(&name), &found) == 0 ? (uint64_t)found.st_size : 0;
    buf_release(&name);
    return bytes;
}

/* What a compaction would remove and return. */
static enum err look_at_rows(struct engine *engine,
                             struct value *object,
                             struct err_detail *detail)
{
    const struct retention retention = retention_default(system_wall_ms());
    struct reclaimable found;
    struct value rows = value_empty_object();
    const enum err err = engine_reclaimable(engine, &retention, &found, detail);
    object_put_number(&rows, "revisions", found.revisions);
    object_put_number(&rows, "receipts", found.receipts);
    object_put_number(&rows, "commits", found.commits);
    object_put_number(&rows, "sessions", found.sessions);
    object_put_number(&rows, "freeBytes", found.free_bytes);
    object_put_number(&rows, "bytes", found.row_bytes + found.free_bytes);
    object_put_adopt(object, "reclaimable", rows);
    return err;
}

static void look_into(struct examination *visit,
                      const char *path,
                      const char *name,
                      struct value *object)
{
    const struct engine_options settings = {.path = path, .read_only = true};
    struct engine engine;
    struct err_detail detail = {0};
    enum err err = engine_open(&engine, &settings, &detail);
    if (err == ERR_OK) {
        err = engine_read_begin(&engine, &detail);
        if (err == ERR_OK) {
            object_put_number(object, "seq", engine.seq);
            object_put_number(object, "horizon", engine.horizon);
            err = look_at_rows(&engine, object, &detail);
            engine_read_end(&engine);
        }
        engine_close(&engine);
    }
    if (err != ERR_OK) {
        warn(visit,
             "%s cannot be read: %s; 'heddle check' may show more",
             name,
             detail.text);
    }
}

/* A lock that is held for a moment is as it should be. */
static bool is_held_long(const struct lock_holder *holder)
{
    return holder->stopped || holder->kind == LOCK_SQLITE ||
           (holder->since_ms != 0 &&
            system_wall_ms() >= holder->since_ms + HELD_MS_MOST);
}

static void look_at_lock(struct examination *visit,
                         const char *path,
                         const char *name,
                         struct value *object)
{
    struct lock_holder holder;
    struct err_detail detail = {0};
    lock_holder_find(path, &holder);
    const bool held = holder.kind != LOCK_NONE;
    object_put_adopt(object, "locked", value_bool(held));
    if (held && holder.pid != 0) {
        struct value by = value_empty_object();
        object_put_number(&by, "pid", holder.pid);
        object_put_text(&by, "program", holder.name);
        object_put_number(&by, "since", holder.since_ms);
        object_put_adopt(&by, "stopped", value_bool(holder.stopped));
        object_put_adopt(object, "lockedBy", by);
    }
    if (held && is_held_long(&holder)) {
        (void)lock_holder_explain(&holder, &detail);
        warn(visit, "%s: %s", name, detail.text);
    }
}

static void look_at_file(struct examination *visit,
                         const struct space_file *file,
                         struct value *list)
{
    struct buf path = {0};
    struct buf name = {0};
    struct value object = value_empty_object();
    buf_printf(&path,
               "%s/%s",
               look_folder(visit->options),
               buf_text(&file->name));
    display_append(&name, buf_text(&file->name));
    const uint64_t wal = bytes_of(buf_text(&path), "-wal");
    object_put_text(&object, "file", buf_text(&name));
    object_put_number(&object, "bytes", bytes_of(buf_text(&path), ""));
    object_put_number(&object, "walBytes", wal);
    object_put_text(&object, "durability", "full");
    look_at_lock(visit, buf_text(&path), buf_text(&name), &object);
    if (wal > WAL_BYTES_MOST) {
        warn(visit,
             "the WAL of %s has %" PRIu64
             " MiB: a process holds a read transaction for long, or a writer "
             "was killed; the next commit truncates it",
             buf_text(&name),
             wal / 1024 / 1024);
    }
    look_into(visit, buf_text(&path), buf_text(&name), &object);
    *list = array_push_adopt(*list, object);
    buf_release(&path);
    buf_release(&name);
}

static enum err look_at_files(struct examination *visit,
                              struct err_detail *detail)
{
    const char *folder = look_folder(visit->options);
    space_files files = {0};
    struct value list = value_empty_array();
    enum err err = data_dir_open(folder, DATA_DIR_READ_ONLY, detail);
    if (err == ERR_OK) {
        err = spaces_list(folder, &files, detail);
    }
    VEC_FOREACH (&files, file) {
        const size_t length = file->name.length;
        if (file->why_not == NULL) {
            look_at_file(visit, file, &list);
        } else if (length > 3 &&
                   memcmp(buf_text(&file->name) + length - 3, ".db", 3) == 0) {
            warn(visit,
                 "%s is not a space: %s",
                 buf_text(&file->name),
                 file->why_not);
        }
    }
    space_files_release(&files);
    object_put_adopt(&visit->report, "spaces", list);
    return err;
}

/* -- A server on the directory ------------------------------------------- */

static void look_at_server(struct examination *visit)
{
    struct value server = server_presence(look_folder(visit->options));
    if (value_is_absent(server)) {
        return;
    }
    if (value_is_same(object_field(server, "insecureLocal"),
                      value_bool(true))) {
        warn(visit,
             "the server with process id %" PRIu64
             " runs with --insecure-local: every process on this machine can "
             "read and write every space",
             object_number(server, "pid"));
    }
    object_put_adopt(&visit->report, "server", server);
}

/* -- Telling ------------------------------------------------------------- */

static void print_line(struct buf *line)
{
    output_bytes(buf_text(line), line->length);
    buf_clear(line);
}

static void print_server(struct buf *line, struct value server)
{
    if (!value_is_object(server)) {
        return;
    }
    buf_append_text(line, "serving: ");
    look_append(line, object_field(server, "url"));
    buf_printf(line, " (pid %" PRIu64 ")", object_number(server, "pid"));
    print_line(line);
}

static void print_spaces(struct buf *line, struct value spaces)
{
    struct array_iter iter = array_iter(spaces);
    struct value one;
    while (array_next(&iter, &one)) {
        look_append(line, object_field(one, "file"));
        buf_printf(line,
                   "  seq %" PRIu64 ", %" PRIu64 " KiB, WAL %" PRIu64
                   " KiB, durability full, %s",
                   object_number(one, "seq"),
                   object_number(one, "bytes") / 1024,
                   object_number(one, "walBytes") / 1024,
                   value_is_same(object_field(one, "locked"), value_bool(true))
                       ? "a process holds the write lock"
                       : "not locked");
        print_line(line);
    }
}

static void print_reclaimable(struct buf *line, struct value spaces)
{
    static const char *const kinds[] = {"revisions",
                                        "receipts",
                                        "commits",
                                        "sessions"};
    struct array_iter iter = array_iter(spaces);
    struct value one;
    while (array_next(&iter, &one)) {
        const struct value rows = object_field(one, "reclaimable");
        if (value_is_absent(rows) ||
            object_number(rows, "bytes") < TELL_BYTES) {
            continue;
        }
        look_append(line, object_field(one, "file"));
        buf_printf(line,
                   "  'heddle store compact' would return about %" PRIu64
                   " KiB: %" PRIu64 " KiB are free",
                   object_number(rows, "bytes") / 1024,
                   object_number(rows, "freeBytes") / 1024);
        for (size_t i = 0; i < COUNT_OF(kinds); i++) {
            buf_printf(line,
                       ", %" PRIu64 " %s",
                       object_number(rows, kinds[i]),
                       kinds[i]);
        }
        print_line(line);
    }
}

static void print_report(struct value report, struct value hazards)
{
    const struct value versions = object_field(report, "versions");
    const struct value disk = object_field(report, "disk");
    struct array_iter sessions = array_iter(object_field(report, "sessions"));
    struct array_iter warnings = array_iter(hazards);
    struct value one;
    struct buf line = {0};
    buf_append_text(&line, "heddle ");
    look_append(&line, object_field(versions, "heddle"));
    buf_append_text(&line, ", SQLite ");
    look_append(&line, object_field(versions, "sqlite"));
    buf_append_text(&line, ", Lua ");
    look_append(&line, object_field(versions, "lua"));
    buf_printf(&line, ", schema %" PRIu64, object_number(versions, "schema"));
    print_line(&line);
    buf_append_text(&line, "disk: ");
    look_append(&line, object_field(disk, "kind"));
    buf_printf(&line,
               ", %" PRIu64 " MiB free",
               object_number(disk, "freeBytes") / 1024 / 1024);
    print_line(&line);
    print_spaces(&line, object_field(report, "spaces"));
    print_reclaimable(&line, object_field(report, "spaces"));
    print_server(&line, object_field(report, "server"));
    while (array_next(&sessions, &one)) {
        buf_append_text(&line, "running: ");
        look_append(&line, object_field(one, "command"));
        buf_printf(&line, " (pid %" PRIu64 "), ", object_number(one, "pid"));
        look_append(&line, object_field(one, "session"));
        print_line(&line);
    }
    while (array_next(&warnings, &one)) {
        buf_append_text(&line, look_colour(LOOK_BAD));
        buf_append_text(&line, "hazard: ");
        buf_append_text(&line, look_colour(LOOK_PLAIN));
        look_append(&line, one);
        print_line(&line);
    }
    if (array_count(hazards) == 0) {
        buf_append_text(&line, "no hazards found");
        print_line(&line);
    }
    buf_release(&line);
}

int doctor_run(const struct options *options)
{
    struct examination visit = {
        .options = options,
        .report = value_empty_object(),
        .hazards = value_empty_array(),
    };
    struct err_detail detail = {0};
    look_at_versions(&visit);
    const enum err err = look_at_files(&visit, &detail);
    if (err != ERR_OK) {
        warn(&visit, "%s", detail.text);
    }
    look_at_disk(&visit);
    look_at_server(&visit);
    object_put_adopt(&visit.report,
                     "sessions",
                     presence_list(look_folder(options)));
    const int code = array_count(visit.hazards) > 0 ? CODE_NO : CODE_OK;
    if (option_is_given(options, OPTION_JSON)) {
        object_put_adopt(&visit.report, "hazards", value_ref(visit.hazards));
        look_print_adopt(options, value_ref(visit.report));
    } else {
        print_report(visit.report, visit.hazards);
    }
    value_unref(visit.report);
    value_unref(visit.hazards);
    return code;
}
