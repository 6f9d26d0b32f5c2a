/* heddle check: every space of a data directory against its own history. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/display.h"
#include "cli/look.h"
#include "cli/output.h"
#include "cli/report.h"
#include "host/data_dir.h"
#include "inspect/collection_check.h"
#include "store/observations.h"
#include "store/rebuild.h"
#include "store/repair_text.h"
#include "store/spaces.h"
#include "store/verify.h"
#include "store/wal.h"
#include "value/array.h"
#include "value/object.h"

struct checking {
    const struct options *options;
    bool shows_progress;
    struct buf name;          /* of the file, as it is shown */
    struct value differences; /* of this file */
    struct value notes;       /* of this file: what may be in order */
    struct value all;         /* one object a file */
    uint64_t found;           /* differences of all */
};

static void end_progress(const struct checking *checking)
{
    if (checking->shows_progress) {
        (void)fprintf(stderr, "\r\033[K");
    }
}

static void add_sentence(struct value *list, const char *sentence)
{
    *list = array_push_adopt(*list, display_text(sentence));
}

static void note_difference(void *ctx, const char *sentence)
{
    struct checking *checking = ctx;
    checking->found++;
    add_sentence(&checking->differences, sentence);
}

/* Before the file is opened: who opens it may begin the log anew. */
static enum err check_log(struct checking *checking,
                          const char *path,
                          struct err_detail *detail)
{
    struct wal_rest rest;
    char sentence[ERR_TEXT_SIZE];
    const enum err err = wal_inspect(path, &rest, detail);
    if (err != ERR_OK || rest.transactions == 0) {
        return err;
    }
    (void)snprintf(sentence,
                   sizeof sentence,
                   rest.transactions > 1
                       ? "the write-ahead log is damaged at byte %" PRIu64
                         ": %" PRIu64 " transactions after it are not read, "
                         "and their data is missing; copy the "
                         "file and its -wal before another "
                         "command changes them, or restore a "
                         "backup"
                       : "the write-ahead log is damaged or incomplete at byte "
                         "%" PRIu64 ": %" PRIu64 " transaction after it "
                         "is not read; it is the "
                         "unfinished last write "
                         "if a process or the "
                         "machine stopped during "
                         "a commit",
                   rest.offset,
                   rest.transactions);
    if (rest.transactions > 1) {
        note_difference(checking, sentence);
    } else {
        add_sentence(&checking->notes, sentence);
    }
    return ERR_OK;
}

static bool note_progress(void *ctx, uint64_t done, uint64_t total)
{
    const struct checking *checking = ctx;
    if (checking->shows_progress) {
        (void)fprintf(stderr,
                      "\r%s: %" PRIu64 " of %" PRIu64,
                      buf_text(&checking->name),
                      done,
                      total);
    }
    return true;
}

/* What the history says first: what was remembered of runs is judged by it. */
static enum err repair(struct engine *engine,
                       struct value *object,
                       struct err_detail *detail)
{
    struct rebuild_counts counts;
    uint64_t removed = 0;
    enum err err = engine_rebuild(engine, &counts, detail);
    if (err == ERR_OK) {
        err = engine_repair_observations(engine, &removed, detail);
    }
    object_put_number(object, "removed", removed + counts.snapshots);
    object_put_number(object, "rebuilt", counts.documents);
    object_put_number(object, "mended", counts.texts);
    return err;
}

/* What --repair could do about texts that no reader takes. */
static enum err note_mangled(struct checking *checking,
                             struct engine *engine,
                             struct err_detail *detail)
{
    uint64_t mangled = 0;
    const enum err err = engine_count_invalid_text(engine, &mangled, detail);
    if (err == ERR_OK && mangled > 0) {
        struct buf sentence = {0};
        display_count(&sentence, mangled, "row");
        buf_append_text(&sentence,
                        " with bytes that are not UTF-8: 'heddle check "
                        "--repair' writes each byte as \\xNN, if the history "
                        "is intact");
        note_difference(checking, buf_text(&sentence));
        buf_release(&sentence);
    }
    return err;
}

/* Of a history that holds. */
static enum err verify_collections(struct checking *checking,
                                   struct engine *engine,
                                   struct value *object,
                                   struct err_detail *detail)
{
    const struct collection_report report = {note_difference, checking};
    struct collection_counts counts;
    enum err err = ERR_OK;
    if (option_is_given(checking->options, OPTION_REPAIR)) {
        err = collections_repair(engine, &counts, detail);
        object_put_number(object, "parts", counts.rebuilt);
    }
    if (err == ERR_OK) {
        err = collections_verify(engine, &report, &counts, detail);
    }
    if (err == ERR_OK && counts.collections > 0) {
        object_put_number(object, "collections", counts.collections);
        object_put_number(object, "rows", counts.rows);
    }
    return err;
}

static enum err verify(struct checking *checking,
                       const char *path,
                       struct value *object,
                       struct err_detail *detail)
{
    const bool repairs = option_is_given(checking->options, OPTION_REPAIR);
    const struct engine_options settings = {.path = path,
                                            .read_only = !repairs};
    const struct verify_options how = {
        .difference = note_difference,
        .progress = note_progress,
        .ctx = checking,
    };
    struct verify_counts counts = {0};
    struct engine engine;
    enum err err = engine_open(&engine, &settings, detail);
    if (err != ERR_OK) {
        return err;
    }
    if (repairs) {
        err = repair(&engine, object, detail);
    }
    if (err == ERR_OK) {
        err = engine_verify(&engine, &how, &counts, detail);
    }
    if (err == ERR_OK && counts.differences > 0) {
        err = note_mangled(checking, &engine, detail);
    } else if (err == ERR_OK) {
        err = verify_collections(checking, &engine, object, detail);
    }
    end_progress(checking);
    object_put_number(object, "commits", counts.commits);
    object_put_number(object, "documents", counts.documents);
    object_put_number(object, "snapshots", counts.snapshots);
    object_put_number(object, "actions", counts.actions);
    engine_close(&engine);
    return err;
}

/* What --repair has done, if anything. */
static void append_number(struct buf *line,
                          struct value object,
                          const char *name,
                          const char *verb)
{
    const uint64_t number = object_number(object, name);
    if (number > 0) {
        buf_append_text(line, ": ");
        display_count(line, number, "row");
        buf_printf(line, " %s", verb);
    }
}

static void print_sentences(const struct checking *checking, struct value list)
{
    struct buf line = {0};
    struct array_iter iter = array_iter(list);
    struct value one;
    while (array_next(&iter, &one)) {
        buf_append_text(&line, buf_text(&checking->name));
        buf_append_text(&line, ": ");
        look_append(&line, one);
        output_bytes(buf_text(&line), line.length);
        buf_clear(&line);
    }
    buf_release(&line);
}

static void print_file(const struct checking *checking, struct value object)
{
    const struct value differences = object_field(object, "differences");
    struct buf line = {0};
    print_sentences(checking, differences);
    print_sentences(checking, object_field(object, "notes"));
    buf_append_text(&line, buf_text(&checking->name));
    append_number(&line, object, "removed", "removed");
    append_number(&line, object, "rebuilt", "rebuilt");
    append_number(&line, object, "mended", "repaired");
    if (object_number(object, "parts") > 0) {
        buf_append_text(&line, ": ");
        display_count(&line, object_number(object, "parts"), "part");
        buf_append_text(&line, " of collections rebuilt");
    }
    if (object_number(object, "mended") > 0) {
        buf_append_text(&line, " (bytes that were not UTF-8 are \\xNN now)");
    }
    buf_append_text(&line, ": ");
    display_count(&line, object_number(object, "commits"), "commit");
    buf_append_text(&line, ", ");
    display_count(&line, object_number(object, "documents"), "document");
    buf_append_text(&line, ", ");
    display_count(&line, object_number(object, "snapshots"), "snapshot");
    buf_append_text(&line, ", ");
    display_count(&line, object_number(object, "actions"), "action");
    buf_append_text(&line,
                    array_count(differences) == 0 ? ": no error found"
                                                  : ": see above");
    output_bytes(buf_text(&line), line.length);
    buf_release(&line);
}

/* A file that cannot be opened is a difference as well. */
static void check_file(struct checking *checking, const struct space_file *file)
{
    struct buf path = {0};
    struct err_detail detail = {0};
    struct value object = value_empty_object();
    buf_printf(&path,
               "%s/%s",
               look_folder(checking->options),
               buf_text(&file->name));
    buf_clear(&checking->name);
    display_append(&checking->name, buf_text(&file->name));
    checking->differences = value_empty_array();
    checking->notes = value_empty_array();
    object_put_adopt(
        &object,
        "file",
        value_string_new(buf_text(&checking->name), checking->name.length));
    if (check_log(checking, buf_text(&path), &detail) != ERR_OK ||
        verify(checking, buf_text(&path), &object, &detail) != ERR_OK) {
        note_difference(checking, detail.text);
    }
    object_put_adopt(&object, "differences", checking->differences);
    object_put_adopt(&object, "notes", checking->notes);
    if (!option_is_given(checking->options, OPTION_JSON)) {
        print_file(checking, object);
    }
    checking->all = array_push_adopt(checking->all, object);
    buf_release(&path);
}

/* A store; or a space by its name that is none. */
static bool is_space(const struct space_file *file)
{
    const char *name = buf_text(&file->name);
    const size_t length = file->name.length;
    return file->why_not == NULL ||
           (length > 3 && strcmp(name + length - 3, ".db") == 0);
}

/* Whether it is the file of that space; NULL: any. */
static bool is_of(const struct space_file *file, const char *space)
{
    const size_t length = space != NULL ? strlen(space) : 0;
    const char *name = buf_text(&file->name);
    return space == NULL || (strncmp(name, space, length) == 0 &&
                             strcmp(name + length, ".db") == 0);
}

int check_run(const struct options *options)
{
    const char *space = options->values.space;
    struct checking checking = {
        .options = options,
        .shows_progress = isatty(STDERR_FILENO) != 0,
        .all = value_empty_array(),
    };
    space_files files = {0};
    struct err_detail detail = {0};
    enum err err =
        data_dir_open(look_folder(options), DATA_DIR_READ_ONLY, &detail);
    if (err == ERR_OK && space != NULL) {
        err = data_dir_find(look_folder(options),
                            space,
                            DATA_DIR_READ_ONLY,
                            &detail);
    }
    if (err == ERR_OK) {
        err = spaces_list(look_folder(options), &files, &detail);
    }
    if (err != ERR_OK) {
        value_unref(checking.all);
        return look_report(options, &detail);
    }
    VEC_FOREACH (&files, file) {
        if (is_space(file) && is_of(file, space)) {
            check_file(&checking, file);
        }
    }
    int code = checking.found > 0 ? CODE_NO : CODE_OK;
    if (array_count(checking.all) == 0) {
        (void)err_set(&detail,
                      ERR_NOT_FOUND,
                      "not a data directory: it contains no space; check the "
                      "path (%s)",
                      look_folder(options));
        code = look_report(options, &detail);
    } else if (option_is_given(options, OPTION_JSON)) {
        struct value object = value_empty_object();
        object_put_adopt(&object, "spaces", value_ref(checking.all));
        object_put_number(&object, "differences", checking.found);
        look_print_adopt(options, object);
    }
    value_unref(checking.all);
    buf_release(&checking.name);
    space_files_release(&files);
    return code;
}
