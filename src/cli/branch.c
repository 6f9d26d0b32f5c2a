/* heddle branch: branches of a space of a data directory. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/display.h"
#include "cli/look.h"
#include "cli/output.h"
#include "cli/report.h"
#include "host/data_dir.h"
#include "host/system.h"
#include "runtime/piece.h"
#include "store/merge.h"
#include "value/array.h"
#include "value/json.h"
#include "value/object.h"

enum {
    MERGE_ATTEMPTS = 20, /* while commits land on the two branches */
};

static const char main_name[] = "main";

/* -- Opening ------------------------------------------------------------- */

static int open_engine(const struct options *options,
                       enum data_dir_access access,
                       struct engine *engine)
{
    const char *folder = look_folder(options);
    const char *space = look_space(options);
    struct err_detail detail = {0};
    struct buf path = {0};
    enum err err = data_dir_open(folder, access, &detail);
    if (err == ERR_OK) {
        err = data_dir_find(folder, space, access, &detail);
    }
    if (err == ERR_OK) {
        data_dir_path(folder, space, &path);
        const struct engine_options settings = {
            .path = buf_text(&path),
            .read_only = access == DATA_DIR_READ_ONLY,
        };
        err = engine_open(engine, &settings, &detail);
        if (err != ERR_OK) {
            err = data_dir_explain(folder, space, &detail);
        }
    }
    buf_release(&path);
    return err == ERR_OK ? CODE_OK : look_report(options, &detail);
}

/* The name of a branch from the command line, new: the main one is called
 * "main" there, and "" in the store. */
static struct value branch_of(const char *word)
{
    return value_text_new(word == NULL || strcmp(word, main_name) == 0 ? ""
                                                                       : word);
}

static struct value operand_branch(const struct options *options, size_t index)
{
    return branch_of(
        index < options->operand_count ? options->operands[index].word : NULL);
}

static void append_branch(struct buf *to, struct value name)
{
    if (value_is_text(name, "")) {
        buf_append_text(to, main_name);
    } else {
        look_append(to, name);
    }
}

static int check_count(const struct options *options, size_t most)
{
    return options->operand_count <= most
               ? CODE_OK
               : report_usage(options,
                              "'%s' takes %s",
                              options->name,
                              options->command->operands);
}

/* What was done, on standard error or as JSON. */
static void tell(const struct options *options,
                 const char *sentence,
                 uint64_t documents)
{
    if (option_is_given(options, OPTION_JSON)) {
        struct value object = value_empty_object();
        object_put_text(&object, "branch", options->operands[0].word);
        object_put_number(&object, "documents", documents);
        look_print_adopt(options, object);
        return;
    }
    struct buf line = {0};
    display_append(&line, options->operands[0].word);
    (void)fprintf(stderr, "heddle: %s %s\n", buf_text(&line), sentence);
    buf_release(&line);
}

/* -- create, rm ---------------------------------------------------------- */

static int run_create(const struct options *options)
{
    const char *name = options->operands[0].word;
    uint64_t at = ENGINE_HEAD;
    struct engine engine;
    struct err_detail detail = {0};
    int code =
        look_number(options, "--at", options->values.at, ENGINE_HEAD, &at);
    if (code == CODE_OK && (name[0] == '\0' || strcmp(name, main_name) == 0)) {
        return report_usage(options, "a new branch cannot be named main");
    }
    if (code == CODE_OK) {
        code = open_engine(options, DATA_DIR_EXISTING, &engine);
    }
    if (code != CODE_OK) {
        return code;
    }
    const struct value branch = branch_of(name);
    const struct value parent = branch_of(options->values.branch);
    if (engine_fork(&engine, branch, parent, at, &detail) != ERR_OK) {
        code = look_report(options, &detail);
    } else {
        tell(options, "created", 0);
    }
    value_unref(parent);
    value_unref(branch);
    engine_close(&engine);
    return code;
}

static int run_rm(const struct options *options)
{
    struct engine engine;
    struct err_detail detail = {0};
    int code = open_engine(options, DATA_DIR_EXISTING, &engine);
    if (code != CODE_OK) {
        return code;
    }
    const struct value branch = operand_branch(options, 0);
    if (engine_branch_delete(&engine, branch, &detail) != ERR_OK) {
        code = look_report(options, &detail);
    } else {
        tell(options, "closed; it can still be read", 0);
    }
    value_unref(branch);
    engine_close(&engine);
    return code;
}

/* -- list ---------------------------------------------------------------- */

static void add_row(struct look_table *table, struct value branch)
{
    struct look_row *row = look_row(table);
    const struct value parent = object_field(branch, "parent");
    const bool active =
        value_is_same(object_field(branch, "active"), value_bool(true));
    append_branch(&row->cells[0], object_field(branch, "name"));
    if (value_is_string(parent)) {
        append_branch(&row->cells[1], parent);
        buf_printf(&row->cells[2],
                   "%" PRIu64,
                   object_number(branch, "forkSeq"));
    }
    buf_printf(&row->cells[3], "%" PRIu64, object_number(branch, "headSeq"));
    buf_append_text(&row->cells[4], active ? "active" : "closed");
    row->colours[4] = active ? LOOK_GOOD : LOOK_FAINT;
}

static int run_list(const struct options *options)
{
    struct engine engine;
    struct err_detail detail = {0};
    struct value all = VALUE_NONE;
    int code = open_engine(options, DATA_DIR_READ_ONLY, &engine);
    if (code != CODE_OK) {
        return code;
    }
    if (engine_branch_list(&engine, &all, &detail) != ERR_OK) {
        code = look_report(options, &detail);
    } else if (option_is_given(options, OPTION_JSON)) {
        look_print_adopt(options, value_ref(all));
    } else {
        struct look_table table = {
            .columns = 5,
            .headings = {"BRANCH", "FROM", "AT", "HEAD", "STATUS"},
        };
        struct array_iter iter = array_iter(all);
        struct value one;
        while (array_next(&iter, &one)) {
            add_row(&table, one);
        }
        look_table_end(&table, 0);
    }
    value_unref(all);
    engine_close(&engine);
    return code;
}

/* -- diff ---------------------------------------------------------------- */

static void print_difference(struct value one)
{
    struct buf line = {0};
    struct buf json = {0};
    const struct value patch = object_field(one, "patch");
    look_append(&line, object_field(one, "id"));
    if (!value_is_absent(patch)) {
        json_write(&json, patch, JSON_AS_GIVEN, 0);
        buf_append_char(&line, ' ');
        display_append(&line, buf_text(&json));
    } else {
        const bool added =
            value_is_same(object_field(one, "before"), value_null());
        buf_append_text(&line, added ? " added" : " removed");
    }
    output_bytes(buf_text(&line), line.length);
    buf_release(&json);
    buf_release(&line);
}

static int run_diff(const struct options *options)
{
    struct engine engine;
    struct err_detail detail = {0};
    struct value all = VALUE_NONE;
    int code = check_count(options, 2);
    if (code == CODE_OK) {
        code = open_engine(options, DATA_DIR_READ_ONLY, &engine);
    }
    if (code != CODE_OK) {
        return code;
    }
    const struct value to = operand_branch(options, 0);
    const struct value from = operand_branch(options, 1);
    if (engine_branch_diff(&engine, from, to, &all, &detail) != ERR_OK) {
        code = look_report(options, &detail);
    } else if (option_is_given(options, OPTION_JSON)) {
        look_print_adopt(options, value_ref(all));
    } else {
        struct array_iter iter = array_iter(all);
        struct value one;
        while (array_next(&iter, &one)) {
            print_difference(one);
        }
    }
    if (code == CODE_OK && option_is_given(options, OPTION_EXIT_CODE) &&
        array_count(all) > 0) {
        code = CODE_NO;
    }
    value_unref(all);
    value_unref(from);
    value_unref(to);
    engine_close(&engine);
    return code;
}

/* -- merge --------------------------------------------------------------- */

struct merging {
    struct engine *engine;
    struct merge_request request;
    struct value derived; /* ids of what nodes compute, and the kind of each */
    struct value conflicts;
    uint64_t documents;
};

/* -- What nodes compute --------------------------------------------------
 *
 * If the two branches changed two inputs of a computation, both have another
 * result, and neither is that of the merged inputs: it is computed again on
 * the target, so a merge leaves it alone. */

static enum err read_document(const struct merging *merging,
                              struct value id,
                              struct value *out,
                              struct err_detail *detail)
{
    const struct value space = value_text_new("space");
    const struct engine_address address = {merging->request.source, space, id};
    const enum err err =
        engine_read(merging->engine, &address, ENGINE_HEAD, out, detail);
    value_unref(space);
    return err;
}

static struct value field_of(struct value object, const char *name)
{
    return value_is_object(object) ? object_field(object, name) : VALUE_NONE;
}

static void add_derived(struct merging *merging,
                        struct value name,
                        struct value cell,
                        struct value kind)
{
    merging->derived = object_set_adopt(merging->derived,
                                        piece_document_id(name, cell),
                                        value_ref(kind));
}

/* "cards" and "/" and "3". New. */
static struct value name_below(struct value name, const char *last)
{
    struct buf full = {0};
    const struct text text = value_text(&name);
    buf_append(&full, text.at, text.length);
    buf_append_char(&full, '/');
    buf_append_text(&full, last);
    const struct value made = value_string_new(full.at, full.length);
    buf_release(&full);
    return made;
}

static enum err add_cells(struct merging *merging,
                          struct value name,
                          struct value cells,
                          struct err_detail *detail);

/* What the elements of a list have declared, that are pieces. */
static enum err add_elements(struct merging *merging,
                             struct value list,
                             struct value elements,
                             struct err_detail *detail)
{
    enum err err = ERR_OK;
    struct object_iter iter = object_iter(
        value_is_object(elements) ? elements : value_empty_object());
    struct value key;
    struct value item;
    while (err == ERR_OK && object_next(&iter, &key, &item)) {
        struct buf last = {0};
        look_append(&last, key);
        const struct value element = name_below(list, buf_text(&last));
        const struct value id = piece_document_id(element, VALUE_NONE);
        struct value document = VALUE_NONE;
        err = read_document(merging, id, &document, detail);
        if (err == ERR_OK) {
            const struct value about = field_of(document, "piece");
            err = add_cells(merging, element, field_of(about, "cells"), detail);
        }
        value_unref(document);
        value_unref(id);
        value_unref(element);
        buf_release(&last);
    }
    return err;
}

/* A list whose elements are pieces (keyed-list-6 of runtime/keyed_list.h) is
 * data: it says which states are whose. Any other can be made again. */
static enum err add_list(struct merging *merging,
                         struct value name,
                         struct value cell,
                         struct value kind,
                         struct err_detail *detail)
{
    const struct value id = piece_document_id(name, cell);
    struct value document = VALUE_NONE;
    enum err err = read_document(merging, id, &document, detail);
    const bool pieces = value_is_object(field_of(document, "elements"));
    value_unref(document);
    value_unref(id);
    if (err != ERR_OK || !pieces) {
        add_derived(merging, name, cell, kind);
        return err;
    }
    const struct value part = name_below(cell, "elements");
    const struct value elements_id = piece_document_id(name, part);
    err = read_document(merging, elements_id, &document, detail);
    value_unref(elements_id);
    value_unref(part);
    if (err == ERR_OK) {
        struct buf last = {0};
        look_append(&last, cell);
        const struct value list = name_below(name, buf_text(&last));
        err = add_elements(merging, list, field_of(document, "value"), detail);
        value_unref(list);
        buf_release(&last);
        value_unref(document);
    }
    return err;
}

static enum err add_cells(struct merging *merging,
                          struct value name,
                          struct value cells,
                          struct err_detail *detail)
{
    struct object_iter iter =
        object_iter(value_is_object(cells) ? cells : value_empty_object());
    struct value cell;
    struct value kind;
    enum err err = ERR_OK;
    while (err == ERR_OK && object_next(&iter, &cell, &kind)) {
        if (value_is_text(kind, "computed")) {
            add_derived(merging, name, cell, kind);
        } else if (value_is_text(kind, "list")) {
            err = add_list(merging, name, cell, kind, detail);
        }
    }
    return err;
}

/* Of the pieces in the list, and of those that they have launched. */
static enum err find_derived(struct merging *merging, struct err_detail *detail)
{
    const struct value index_id = value_text_new("pieces");
    struct value index = VALUE_NONE;
    VEC(struct value) names = {0};
    enum err err = read_document(merging, index_id, &index, detail);
    value_unref(index_id);
    const struct value lines = field_of(index, "value");
    struct object_iter iter =
        object_iter(value_is_object(lines) ? lines : value_empty_object());
    struct value name;
    struct value line;
    while (object_next(&iter, &name, &line)) {
        vec_push(&names, value_ref(name));
    }
    value_unref(index);
    merging->derived = value_empty_object();
    for (size_t i = 0; err == ERR_OK && i < names.count; i++) {
        const struct value id = piece_document_id(names.at[i], VALUE_NONE);
        struct value document = VALUE_NONE;
        err = read_document(merging, id, &document, detail);
        const struct value about = field_of(document, "piece");
        if (err == ERR_OK) {
            err = add_cells(merging,
                            names.at[i],
                            field_of(about, "cells"),
                            detail);
        }
        const struct value launched = field_of(about, "launched");
        iter = object_iter(value_is_object(launched) ? launched
                                                     : value_empty_object());
        while (object_next(&iter, &name, &line)) {
            if (!value_is_object(line)) { /* of this space */
                vec_push(&names, value_ref(name));
            }
        }
        value_unref(document);
        value_unref(id);
    }
    VEC_FOREACH (&names, one) {
        value_unref(*one);
    }
    vec_release(&names);
    return err;
}

/* The id of a result, or of what is below a list. */
static bool is_derived(void *ctx, struct value id)
{
    const struct merging *merging = ctx;
    const struct text text = value_text(&id);
    if (!value_is_absent(object_get(merging->derived, id))) {
        return true;
    }
    for (size_t i = 0; i < text.length; i++) {
        if (text.at[i] == '/' &&
            value_is_text(object_get_text(merging->derived, text.at, i),
                          "list")) {
            return true;
        }
    }
    return false;
}

/* -- Merging ------------------------------------------------------------- */

/* Once; STALE and the like: a branch has moved on meanwhile. */
static enum err merge_once(struct merging *merging, struct err_detail *detail)
{
    struct commit commit = {0};
    value_unref(merging->conflicts);
    merging->conflicts = VALUE_NONE;
    merging->request.local_seq++;
    enum err err = engine_merge(merging->engine,
                                &merging->request,
                                &commit,
                                &merging->conflicts,
                                detail);
    merging->documents = commit.ops.count;
    if (err == ERR_OK && commit.ops.count > 0) {
        struct engine_request request = {
            .commit = &commit,
            .at_ms = system_wall_ms(),
        };
        err = engine_commit(merging->engine, &request, 1, detail);
        if (err == ERR_OK && request.verdict.err != ERR_OK) {
            *detail = request.verdict.detail;
            err = request.verdict.err;
        }
        verdict_release(&request.verdict);
    }
    commit_release(&commit);
    return err;
}

static int print_conflicts(const struct options *options,
                           struct value conflicts)
{
    if (option_is_given(options, OPTION_JSON)) {
        struct value object = value_empty_object();
        object_put_adopt(&object, "conflicts", value_ref(conflicts));
        look_print_adopt(options, object);
        return CODE_NO;
    }
    struct array_iter iter = array_iter(conflicts);
    struct value one;
    while (array_next(&iter, &one)) {
        struct buf line = {0};
        struct buf path = {0};
        json_write(&path, object_field(one, "path"), JSON_AS_GIVEN, 0);
        buf_append_text(&line, "conflict: ");
        look_append(&line, object_field(one, "id"));
        buf_append_char(&line, ' ');
        display_append(&line, buf_text(&path));
        output_bytes(buf_text(&line), line.length);
        buf_release(&path);
        buf_release(&line);
    }
    (void)fprintf(stderr,
                  "heddle: not merged: both branches changed the documents "
                  "that are listed\n");
    return CODE_NO;
}

static int merge(const struct options *options, struct merging *merging)
{
    struct err_detail detail = {0};
    enum err err = find_derived(merging, &detail);
    if (err == ERR_OK) {
        err = merge_once(merging, &detail);
    }
    for (unsigned i = 0;
         err_class_of(err) == ERR_CLASS_RETRY && i < MERGE_ATTEMPTS;
         i++) {
        err = merge_once(merging, &detail);
    }
    if (err != ERR_OK) {
        return look_report(options, &detail);
    }
    if (array_count(merging->conflicts) > 0) {
        return print_conflicts(options, merging->conflicts);
    }
    struct buf sentence = {0};
    if (merging->documents == 0) {
        buf_append_text(&sentence, "has nothing to merge");
    } else {
        buf_append_text(&sentence, "merged into ");
        append_branch(&sentence, merging->request.target);
        buf_printf(&sentence,
                   ", %" PRIu64 " document%s",
                   merging->documents,
                   merging->documents == 1 ? "" : "s");
    }
    tell(options, buf_text(&sentence), merging->documents);
    buf_release(&sentence);
    return CODE_OK;
}

static int run_merge(const struct options *options)
{
    struct engine engine;
    int code = check_count(options, 2);
    if (code == CODE_OK) {
        code = open_engine(options, DATA_DIR_EXISTING, &engine);
    }
    if (code != CODE_OK) {
        return code;
    }
    struct host *host = system_host();
    struct buf session = {0};
    buf_printf(&session,
               "merge-%016llx%016llx",
               (unsigned long long)host->random(host),
               (unsigned long long)host->random(host));
    struct merging merging = {
        .engine = &engine,
        .request = {.source = operand_branch(options, 0),
                    .target = operand_branch(options, 1),
                    .session = value_text_new(buf_text(&session))},
    };
    merging.request.is_derived = is_derived;
    merging.request.ctx = &merging;
    code = merge(options, &merging);
    value_unref(merging.derived);
    value_unref(merging.request.source);
    value_unref(merging.request.target);
    value_unref(merging.request.session);
    value_unref(merging.conflicts);
    buf_release(&session);
    engine_close(&engine);
    return code;
}

const struct command branch_commands[] = {
    {
        .name = "create",
        .operands = "BRANCH",
        .operand_count = 1,
        .options = OPTION_DIR | OPTION_SPACE | OPTION_BRANCH | OPTION_AT,
        .brief = "a new branch",
        .manual = "Creates a branch from the current state of the main branch, "
                  "or\n"
                  "of --branch, or from its state at a sequence number.\n",
        .example = "  $ heddle branch create draft\n"
                   "  $ heddle set list items/0/done true --branch draft\n",
        .run = run_create,
    },
    {
        .name = "list",
        .operands = "",
        .options = OPTION_DIR | OPTION_SPACE | OPTION_PRETTY | OPTION_CANONICAL,
        .brief = "the branches of a data directory",
        .manual = "Lists the branches with their origins and last commits.\n",
        .example = "  $ heddle branch list\n",
        .run = run_list,
    },
    {
        .name = "diff",
        .operands = "BRANCH [OTHER]",
        .operand_count = 1,
        .takes_more = true,
        .options = OPTION_DIR | OPTION_SPACE | OPTION_PRETTY |
                   OPTION_CANONICAL | OPTION_EXIT_CODE,
        .brief = "show how a branch differs from another",
        .manual = "Prints a line per document that differs: the patch from\n"
                  "OTHER (default: main) to BRANCH.\n",
        .example = "  $ heddle branch diff draft\n",
        .run = run_diff,
    },
    {
        .name = "merge",
        .operands = "BRANCH [OTHER]",
        .operand_count = 1,
        .takes_more = true,
        .options = OPTION_DIR | OPTION_SPACE,
        .brief = "apply the changes of a branch to another branch",
        .manual =
            "Applies the changes on BRANCH since it was created to OTHER\n"
            "(default: main), in one commit. Values that both branches\n"
            "changed differently are conflicts: then nothing is merged, each\n"
            "conflict is listed, and the exit code is 1.\n",
        .example = "  $ heddle branch merge draft\n",
        .run = run_merge,
    },
    {
        .name = "rm",
        .operands = "BRANCH",
        .operand_count = 1,
        .options = OPTION_DIR | OPTION_SPACE,
        .brief = "close a branch",
        .manual =
            "Closes a branch: no process can write to it any more. Its data\n"
            "can still be read and merged.\n",
        .example = "  $ heddle branch rm draft\n",
        .run = run_rm,
    },
    {.name = NULL},
};
