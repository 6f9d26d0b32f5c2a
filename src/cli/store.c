/* heddle store: the file of a space, from outside.
 *
 * Each command opens the file, asks the engine one thing and prints the
 * answer: a table for people, JSON with --json. Only `commit` creates a file
 * that is not there. Long work shows its progress on standard error if that
 * is a terminal. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/display.h"
#include "cli/input.h"
#include "cli/look.h"
#include "cli/output.h"
#include "cli/report.h"
#include "cli/store.h"
#include "store/engine.h"
#include "store/history.h"
#include "store/maintain.h"
#include "store/observations.h"
#include "store/rebuild.h"
#include "store/spaces.h"
#include "store/verify.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"
#include "value/utf8.h"

/* -- Common -------------------------------------------------------------- */

const char *store_file(const struct options *options)
{
    return options->operands[0].word;
}

/* The public code has the same number. */
int store_report(const struct options *options, const struct err_detail *detail)
{
    return report_detail(options, store_file(options), detail);
}

int store_open(const struct options *options,
               bool (*interrupted)(void *ctx),
               struct engine *engine)
{
    if (access(store_file(options), F_OK) != 0) {
        return report_system(options, store_file(options), errno);
    }
    const struct engine_options settings = {.path = store_file(options),
                                            .interrupted = interrupted};
    struct err_detail detail = {0};
    return engine_open(engine, &settings, &detail) == ERR_OK
               ? CODE_OK
               : store_report(options, &detail);
}

/* A line that is overwritten, for people who wait. */
struct progress {
    bool shown;
    const char *what;
};

static bool show_progress(void *ctx, uint64_t done, uint64_t total)
{
    const struct progress *progress = ctx;
    if (progress->shown) {
        (void)fprintf(stderr,
                      "\r%s: %" PRIu64 " of %" PRIu64,
                      progress->what,
                      done,
                      total);
    }
    return true;
}

static void end_progress(const struct progress *progress)
{
    if (progress->shown) {
        (void)fprintf(stderr, "\r\033[K");
    }
}

static struct progress begin_progress(const char *what)
{
    return (struct progress){isatty(STDERR_FILENO) != 0, what};
}

/* -- commit -------------------------------------------------------------- */

/* The commit in the second operand, decoded. */
static int read_commit(const struct options *options,
                       struct engine *engine,
                       struct commit *commit)
{
    hd_value *document = NULL;
    char *text = NULL;
    size_t length = 0;
    struct value value = VALUE_NONE;
    struct err_detail detail = {0};
    int code = input_read(options, 1, &document);
    if (code != CODE_OK) {
        return code;
    }
    enum err err =
        (enum err)hd_value_write(document, HD_AS_GIVEN, 0, &text, &length);
    if (err == ERR_OK) {
        err = json_read(text, length, NULL, &value, NULL);
    }
    if (err == ERR_OK) {
        err = commit_read(value, &engine->paths, commit, &detail);
    }
    value_unref(value);
    hd_text_free(text);
    hd_value_unref(document);
    return err == ERR_OK ? CODE_OK : store_report(options, &detail);
}

static int land(const struct options *options, struct engine *engine)
{
    struct commit commit = {0};
    int code = read_commit(options, engine, &commit);
    if (code != CODE_OK) {
        return code;
    }
    struct timespec now = {0};
    (void)timespec_get(&now, TIME_UTC);
    struct engine_request request = {
        .commit = &commit,
        .at_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000,
    };
    struct err_detail detail = {0};
    if (engine_commit(engine, &request, 1, &detail) != ERR_OK) {
        code = store_report(options, &detail);
    } else {
        look_print_adopt(options, verdict_write(&request.verdict));
        code = request.verdict.err == ERR_OK ? CODE_OK : CODE_NO;
    }
    verdict_release(&request.verdict);
    commit_release(&commit);
    return code;
}

static int run_commit(const struct options *options)
{
    struct engine engine;
    const struct engine_options settings = {.path = store_file(options)};
    struct err_detail detail = {0};
    if (engine_open(&engine, &settings, &detail) != ERR_OK) {
        return store_report(options, &detail);
    }
    const int code = land(options, &engine);
    engine_close(&engine);
    return code;
}

/* -- info ---------------------------------------------------------------- */

struct info_row {
    const char *name;
    enum statement statement;
};

static const struct info_row info_rows[] = {
    {"documents", STATEMENT_DOCUMENT_COUNT},
    {"revisions", STATEMENT_REVISION_COUNT},
    {"snapshots", STATEMENT_SNAPSHOT_COUNT},
    {"sessions", STATEMENT_SESSION_COUNT},
    {"actions", STATEMENT_ACTION_COUNT},
    {"pages", STATEMENT_PAGE_COUNT},
};

static enum err count_info(struct engine *engine,
                           enum statement statement,
                           uint64_t *out,
                           struct err_detail *detail)
{
    struct query query = query_begin(&engine->database, statement);
    if (statement == STATEMENT_REVISION_COUNT) {
        query_int(&query, 1, 0);
    }
    if (query_step(&query)) {
        *out = query_get_int(&query, 0);
    }
    return query_end(&query, detail);
}

static enum err collect_info(struct engine *engine,
                             struct value *out,
                             struct err_detail *detail)
{
    enum err err = engine_read_begin(engine, detail);
    if (err != ERR_OK) {
        return err;
    }
    object_put_number(out, "seq", engine->seq);
    object_put_number(out, "records", engine->record);
    object_put_number(out, "horizon", engine->horizon);
    object_put_number(out, "branches", engine->branches.count);
    for (size_t i = 0; err == ERR_OK && i < COUNT_OF(info_rows); i++) {
        uint64_t count = 0;
        err = count_info(engine, info_rows[i].statement, &count, detail);
        object_put_number(out, info_rows[i].name, count);
    }
    char chain[DIGEST_TEXT_LENGTH + 1];
    digest_write(engine->chain, chain);
    object_put_text(out, "chain", chain);
    engine_read_end(engine);
    return err;
}

/* "name  value" lines, aligned. */
static void print_fields(struct value object)
{
    struct object_iter iter = object_iter(object);
    struct value name;
    struct value item;
    while (object_next(&iter, &name, &item)) {
        struct buf text = {0};
        if (value_is_string(item)) {
            const struct text string = value_text(&item);
            buf_append(&text, string.at, string.length);
        } else {
            json_write(&text, item, JSON_AS_GIVEN, 0);
        }
        const struct text label = value_text(&name);
        (void)printf("%-12.*s %s\n",
                     (int)label.length,
                     label.at,
                     buf_text(&text));
        buf_release(&text);
    }
}

static int run_info(const struct options *options)
{
    struct engine engine;
    struct err_detail detail = {0};
    struct value info = value_empty_object();
    int code = store_open(options, NULL, &engine);
    if (code != CODE_OK) {
        return code;
    }
    if (collect_info(&engine, &info, &detail) != ERR_OK) {
        code = store_report(options, &detail);
    } else if (option_is_given(options, OPTION_JSON)) {
        look_print_adopt(options, value_ref(info));
    } else {
        print_fields(info);
    }
    value_unref(info);
    engine_close(&engine);
    return code;
}

/* -- log ----------------------------------------------------------------- */

struct log_printer {
    const struct options *options;
    uint64_t left;
};

/* "3  commit  s1 #7  set of:a, patch of:b" */
static void print_record(const struct commit_record *commit_record)
{
    struct buf line = {0};
    struct buf shown = {0};
    if (commit_record->kind == RECORD_COMMIT) {
        const struct text session = value_text(&commit_record->session);
        buf_printf(&line,
                   "%6" PRIu64 "  %.*s #%" PRIu64 " ",
                   commit_record->seq,
                   (int)session.length,
                   session.at,
                   commit_record->local_seq);
        for (size_t i = 0; i < commit_record->writes.count; i++) {
            const struct record_write *write = &commit_record->writes.at[i];
            const struct text id = value_text(&write->id);
            buf_printf(&line,
                       "%s %s %.*s",
                       i > 0 ? "," : "",
                       commit_op_name(write->op),
                       (int)id.length,
                       id.at);
        }
    } else {
        buf_printf(&line,
                   "     -  %s",
                   commit_record->kind == RECORD_FORK ? "fork" : "close");
    }
    const struct text branch = value_text(&commit_record->branch);
    if (branch.length > 0) {
        buf_printf(&line, "  on %.*s", (int)branch.length, branch.at);
    }
    display_append(&shown, buf_text(&line));
    output_bytes(buf_text(&shown), shown.length);
    buf_release(&line);
    buf_release(&shown);
}

static enum err log_record(void *ctx, const struct history_record *record)
{
    struct log_printer *printer = ctx;
    if (printer->left == 0) {
        return ERR_LISTING_MOVED; /* enough: not an error of anybody's */
    }
    printer->left--;
    if (option_is_given(printer->options, OPTION_JSON)) {
        look_print_adopt(printer->options, value_ref(record->record));
    } else {
        print_record(record->commit_record);
    }
    return ERR_OK;
}

static int print_log(const struct options *options,
                     struct engine *engine,
                     uint64_t limit)
{
    struct log_printer printer = {options, limit};
    struct err_detail detail = {0};
    enum err err = engine_read_begin(engine, &detail);
    if (err == ERR_OK) {
        err = history_walk(engine, 0, log_record, &printer, &detail);
        engine_read_end(engine);
    }
    return err == ERR_OK || err == ERR_LISTING_MOVED
               ? CODE_OK
               : store_report(options, &detail);
}

static int run_log(const struct options *options)
{
    struct engine engine;
    uint64_t limit = 0;
    int code = look_number(options,
                           "--limit",
                           options->values.limit,
                           UINT64_MAX,
                           &limit);
    if (code == CODE_OK) {
        code = store_open(options, NULL, &engine);
    }
    if (code == CODE_OK) {
        code = print_log(options, &engine, limit);
        engine_close(&engine);
    }
    return code;
}

/* -- show ---------------------------------------------------------------- */

static int print_ids(const struct options *options,
                     struct engine *engine,
                     const struct engine_address *address)
{
    struct value ids = VALUE_NONE;
    struct value after = VALUE_NONE;
    struct err_detail detail = {0};
    enum err err = ERR_OK;
    do {
        value_unref(ids);
        const struct engine_page page = {
            .branch = address->branch,
            .scope_key = address->scope_key,
            .after = after,
            .limit = ENGINE_PAGE_MAX,
        };
        err = engine_list(engine, &page, &ids, &detail);
        value_unref(after);
        after = VALUE_NONE;
        for (uint32_t i = 0; err == ERR_OK && i < array_count(ids); i++) {
            const struct value id = array_at(ids, i);
            if (option_is_given(options, OPTION_JSON)) {
                look_print_adopt(options, value_ref(id));
            } else {
                const struct text text = value_text(&id);
                output_bytes(text.at, text.length);
            }
            value_unref(after);
            after = value_ref(id);
        }
    } while (err == ERR_OK && array_count(ids) == ENGINE_PAGE_MAX);
    value_unref(after);
    value_unref(ids);
    return err == ERR_OK ? CODE_OK : store_report(options, &detail);
}

static int print_document(const struct options *options,
                          struct engine *engine,
                          const struct engine_address *address,
                          uint64_t at)
{
    struct value document = VALUE_NONE;
    struct err_detail detail = {0};
    if (engine_read(engine, address, at, &document, &detail) != ERR_OK) {
        return store_report(options, &detail);
    }
    if (value_is_absent(document)) {
        (void)err_set(&detail, ERR_NOT_FOUND, "document not found");
        return store_report(options, &detail);
    }
    look_print_adopt(options, document);
    return CODE_OK;
}

static int show_in(const struct options *options, struct engine *engine)
{
    const char *branch = options->values.branch;
    const char *scope = options->values.scope;
    uint64_t at = ENGINE_HEAD;
    int code =
        look_number(options, "--at", options->values.at, ENGINE_HEAD, &at);
    if (code != CODE_OK) {
        return code;
    }
    const struct engine_address address = {
        .branch = value_text_new(branch != NULL ? branch : ""),
        .scope_key = value_text_new(scope != NULL ? scope : "space"),
        .id = options->operand_count > 1
                  ? value_text_new(options->operands[1].word)
                  : VALUE_NONE,
    };
    code = value_is_absent(address.id)
               ? print_ids(options, engine, &address)
               : print_document(options, engine, &address, at);
    value_unref(address.branch);
    value_unref(address.scope_key);
    value_unref(address.id);
    return code;
}

static int run_show(const struct options *options)
{
    struct engine engine;
    if (options->operand_count > 2) {
        return report_usage(options, "'store show' takes FILE and one ID");
    }
    int code = store_open(options, NULL, &engine);
    if (code == CODE_OK) {
        code = show_in(options, &engine);
        engine_close(&engine);
    }
    return code;
}

/* -- check --------------------------------------------------------------- */

struct check_printer {
    const struct options *options;
    struct progress progress;
    struct value differences;
    uint64_t removed; /* rows, by --repair */
    uint64_t rebuilt; /* likewise */
    uint64_t mended;  /* likewise */
};

static void note_difference(void *ctx, const char *sentence)
{
    struct check_printer *printer = ctx;
    if (option_is_given(printer->options, OPTION_JSON)) {
        printer->differences =
            array_push_adopt(printer->differences, display_text(sentence));
        return;
    }
    struct buf shown = {0};
    end_progress(&printer->progress);
    display_append(&shown, sentence);
    output_bytes(buf_text(&shown), shown.length);
    buf_release(&shown);
}

static bool note_progress(void *ctx, uint64_t done, uint64_t total)
{
    struct check_printer *printer = ctx;
    return show_progress(&printer->progress, done, total);
}

static void print_counts(const struct check_printer *printer,
                         const struct verify_counts *counts)
{
    if (option_is_given(printer->options, OPTION_JSON)) {
        struct value object = value_empty_object();
        object_put_number(&object, "commits", counts->commits);
        object_put_number(&object, "documents", counts->documents);
        object_put_number(&object, "snapshots", counts->snapshots);
        object_put_number(&object, "actions", counts->actions);
        if (option_is_given(printer->options, OPTION_REPAIR)) {
            object_put_number(&object, "removed", printer->removed);
            object_put_number(&object, "rebuilt", printer->rebuilt);
            object_put_number(&object, "mended", printer->mended);
        }
        object_put_adopt(&object,
                         "differences",
                         value_ref(printer->differences));
        look_print_adopt(printer->options, object);
        return;
    }
    struct buf line = {0};
    if (option_is_given(printer->options, OPTION_REPAIR)) {
        display_count(&line, printer->removed, "row");
        buf_printf(&line, " removed, %" PRIu64 " rebuilt\n", printer->rebuilt);
    }
    if (printer->mended > 0) {
        display_count(&line, printer->mended, "row");
        buf_append_text(&line,
                        " repaired: bytes that were not UTF-8 are \\xNN now\n");
    }
    display_count(&line, counts->commits, "commit");
    buf_append_text(&line, ", ");
    display_count(&line, counts->documents, "document");
    buf_append_text(&line, ", ");
    display_count(&line, counts->snapshots, "snapshot");
    if (counts->actions > 0) {
        buf_append_text(&line, ", ");
        display_count(&line, counts->actions, "action");
    }
    buf_append_text(&line, ": ");
    display_count(&line, counts->differences, "difference");
    output_bytes(buf_text(&line), line.length);
    buf_release(&line);
}

/* What the history says first: what was remembered of runs is judged by it. */
static enum err repair(struct engine *engine,
                       struct check_printer *printer,
                       struct err_detail *detail)
{
    struct rebuild_counts counts;
    enum err err = engine_rebuild(engine, &counts, detail);
    printer->rebuilt = counts.documents;
    printer->mended = counts.texts;
    if (err == ERR_OK) {
        err = engine_repair_observations(engine, &printer->removed, detail);
    }
    printer->removed += counts.snapshots;
    return err;
}

static int run_check(const struct options *options)
{
    struct engine engine;
    int code = store_open(options, NULL, &engine);
    if (code != CODE_OK) {
        return code;
    }
    struct check_printer printer =
        {options, begin_progress("checking"), value_empty_array(), 0, 0, 0};
    const struct verify_options settings = {
        .difference = note_difference,
        .progress = note_progress,
        .ctx = &printer,
    };
    struct verify_counts counts;
    struct err_detail detail = {0};
    enum err err = ERR_OK;
    if (option_is_given(options, OPTION_REPAIR)) {
        err = repair(&engine, &printer, &detail);
    }
    if (err == ERR_OK) {
        err = engine_verify(&engine, &settings, &counts, &detail);
    }
    end_progress(&printer.progress);
    if (err != ERR_OK) {
        code = store_report(options, &detail);
    } else {
        print_counts(&printer, &counts);
        code = counts.differences == 0 ? CODE_OK : CODE_NO;
    }
    value_unref(printer.differences);
    engine_close(&engine);
    return code;
}

/* -- backup -------------------------------------------------------------- */

static int run_backup(const struct options *options)
{
    struct engine engine;
    int code = store_open(options, NULL, &engine);
    if (code != CODE_OK) {
        return code;
    }
    struct progress progress = begin_progress("copying pages");
    struct err_detail detail = {0};
    const enum err err = engine_backup(&engine,
                                       options->operands[1].word,
                                       show_progress,
                                       &progress,
                                       &detail);
    end_progress(&progress);
    if (err != ERR_OK) {
        code = store_report(options, &detail);
    } else if (option_is_given(options, OPTION_JSON)) {
        struct value object = value_empty_object();
        object_put_number(&object, "seq", engine.seq);
        look_print_adopt(options, object);
    }
    engine_close(&engine);
    return code;
}

/* -- list ---------------------------------------------------------------- */

/* "2026-11-16T09:30:00Z" */
static void put_time(struct buf *to, int64_t ms)
{
    const time_t seconds = (time_t)(ms / 1000);
    struct tm parts = {0};
    char text[32] = "";
    if (gmtime_r(&seconds, &parts) != NULL) {
        (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    }
    buf_append_text(to, text);
}

/* A name is shown as it is where JSON can hold it. */
static struct value file_name(const struct space_file *file)
{
    const char *name = buf_text(&file->name);
    return utf8_is_valid(name, file->name.length)
               ? value_string_new(name, file->name.length)
               : display_text(name);
}

static struct value describe_file(const struct space_file *file)
{
    struct value object = value_empty_object();
    struct buf time = {0};
    object_put_adopt(&object, "file", file_name(file));
    if (file->why_not != NULL) {
        object_put_text(&object, "why", file->why_not);
    } else {
        object_put_number(&object, "bytes", file->bytes);
        put_time(&time, file->changed_ms);
        object_put_text(&object, "changed", buf_text(&time));
        buf_release(&time);
    }
    return object;
}

static void print_files_json(const struct options *options,
                             const space_files *files)
{
    struct value spaces = value_empty_array();
    struct value others = value_empty_array();
    for (size_t i = 0; i < files->count; i++) {
        const struct space_file *file = &files->at[i];
        struct value *list = file->why_not == NULL ? &spaces : &others;
        *list = array_push_adopt(*list, describe_file(file));
    }
    struct value object = value_empty_object();
    object_put_adopt(&object, "spaces", spaces);
    object_put_adopt(&object, "others", others);
    look_print_adopt(options, object);
}

static void print_file(const struct space_file *file)
{
    struct buf line = {0};
    if (file->why_not == NULL) {
        put_time(&line, file->changed_ms);
        buf_printf(&line, "  %10" PRIu64 "  ", file->bytes);
    } else {
        buf_printf(&line, "not a space: %s: ", file->why_not);
    }
    display_append(&line, buf_text(&file->name));
    output_bytes(buf_text(&line), line.length);
    buf_release(&line);
}

/* First the spaces, then what else is there. */
static void print_files(const space_files *files)
{
    for (unsigned pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < files->count; i++) {
            if ((files->at[i].why_not == NULL) == (pass == 0)) {
                print_file(&files->at[i]);
            }
        }
    }
}

static int run_list(const struct options *options)
{
    space_files files;
    struct err_detail detail = {0};
    if (spaces_list(store_file(options), &files, &detail) != ERR_OK) {
        return store_report(options, &detail);
    }
    if (option_is_given(options, OPTION_JSON)) {
        print_files_json(options, &files);
    } else {
        print_files(&files);
    }
    space_files_release(&files);
    return CODE_OK;
}

/* -- The table ----------------------------------------------------------- */

const struct command store_commands[] = {
    {
        .name = "commit",
        .operands = "FILE COMMIT",
        .operand_count = 2,
        .options = OPTION_TEXT | OPTION_PRETTY | OPTION_CANONICAL,
        .brief = "apply one commit and print the verdict",
        .manual =
            "Applies a commit, a JSON document, to the space in FILE, which\n"
            "is created if it does not exist. Prints the verdict and exits\n"
            "with 1 if the commit was rejected. Commits are idempotent: the\n"
            "same commit again prints the same verdict and changes nothing.\n",
        .example = "  $ heddle store commit new.db --text \\\n"
                   "      '{\"session\":\"me\",\"localSeq\":1,\"operations\":["
                   "{\"op\":\"delete\",\"id\":\"a\"}]}'\n"
                   "  {\"seq\":1}\n",
        .run = run_commit,
    },
    {
        .name = "info",
        .operands = "FILE",
        .operand_count = 1,
        .options = OPTION_PRETTY | OPTION_CANONICAL,
        .brief = "sizes, counts and the range of the history",
        .manual = "Prints counts, the last sequence number, the horizon of\n"
                  "compaction and the digest over the whole history.\n",
        .example = "  $ heddle store info space.db\n",
        .run = run_info,
    },
    {
        .name = "log",
        .operands = "FILE",
        .operand_count = 1,
        .options = OPTION_LIMIT | OPTION_PRETTY | OPTION_CANONICAL,
        .brief = "commits and the sessions that made them",
        .manual = "Prints the commits and branch changes since the horizon,\n"
                  "one per line; with --json the complete records.\n",
        .example = "  $ heddle store log space.db --limit 10\n",
        .run = run_log,
    },
    {
        .name = "show",
        .operands = "FILE [ID]",
        .operand_count = 1,
        .takes_more = true,
        .options = OPTION_AT | OPTION_BRANCH | OPTION_SCOPE | OPTION_PRETTY |
                   OPTION_CANONICAL,
        .brief = "a document, now or at a sequence number; without ID, all ids",
        .manual = "Prints a document, as it is now or as it was at a sequence\n"
                  "number. Exits with 1 if it does not exist.\n",
        .example = "  $ heddle store show space.db of:settings --at 12\n",
        .run = run_show,
    },
    {
        .name = "list",
        .operands = "FOLDER",
        .operand_count = 1,
        .options = OPTION_PRETTY | OPTION_CANONICAL,
        .brief = "the spaces in a directory, most recently changed first",
        .manual = "Prints the time of the last change, the size in bytes and "
                  "the\n"
                  "name of each space; then the other files and what they "
                  "are.\n"
                  "Subdirectories are not searched. Changes nothing.\n",
        .example = "  $ heddle store list .\n",
        .run = run_list,
    },
    {
        .name = "check",
        .operands = "FILE",
        .operand_count = 1,
        .options = OPTION_PRETTY | OPTION_CANONICAL | OPTION_REPAIR,
        .brief = "verify a space against its history",
        .manual =
            "Verifies SQLite's structures, the digest chain of the records,\n"
            "the row of each document, every snapshot, and the recorded runs.\n"
            "Prints each difference and exits with 1 if there is one. Changes\n"
            "nothing without --repair. With --repair, and if the history is\n"
            "intact, it rebuilds the rows of documents that differ, and\n"
            "removes snapshots that differ and inconsistent records of runs;\n"
            "those nodes run again.\n",
        .example = "  $ heddle store check space.db\n",
        .run = run_check,
    },
    {
        .name = "backup",
        .operands = "FILE COPY",
        .operand_count = 2,
        .brief = "copy a space while it is in use",
        .manual = "Copies the space to a new file, which appears only when it "
                  "is\n"
                  "complete. COPY must not exist.\n",
        .example = "  $ heddle store backup space.db monday.db\n",
        .run = run_backup,
    },
    {
        .name = "compact",
        .operands = "FILE",
        .operand_count = 1,
        .options = OPTION_KEEP_FROM | OPTION_KEEP_COMMITS | OPTION_KEEP_AGE |
                   OPTION_FULL,
        .brief = "compact the history and shrink the file",
        .manual =
            "Compacts the history of every document to one value, up to the\n"
            "head or to --keep-from: earlier states can no longer be read. No\n"
            "document is removed. Then removes rows that no process needs:\n"
            "commits, sessions that have ended, receipts of events, and\n"
            "records of runs. An event with an id that is sent again after\n"
            "its receipt was removed is handled again; receipts younger than\n"
            "--keep-age stay, as do those of the last --keep-commits commits.\n"
            "Last, free pages are returned to the file system. Works in small\n"
            "steps, while other processes read and write. It may be\n"
            "interrupted or killed; run it again to continue. A file that an\n"
            "earlier version created cannot shrink until --full has rewritten\n"
            "it, which blocks other writers.\n",
        .example = "  $ heddle store compact space.db --keep-from 10\n",
        .run = store_compact,
    },
    {.name = NULL},
};
