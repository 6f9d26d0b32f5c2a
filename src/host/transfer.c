/* Collecting, writing, removing and renaming documents of pieces. */

#include <string.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "host/presence.h"
#include "host/system.h"
#include "host/transfer_internal.h"
#include "runtime/piece.h"
#include "runtime/relink.h"
#include "store/observations.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/doc_link.h"
#include "value/object.h"

enum {
    COMMIT_OPERATIONS = 10000, /* within LIMIT_COMMIT_OPERATIONS */
};

/* -- Life ---------------------------------------------------------------- */

static struct value new_session(void)
{
    struct host *host = system_host();
    struct buf text = {0};
    buf_printf(&text,
               TRANSFER_SESSION "%016llx%016llx",
               (unsigned long long)host->random(host),
               (unsigned long long)host->random(host));
    const struct value name = value_string_new(text.at, text.length);
    buf_release(&text);
    return name;
}

enum err transfer_open(const char *folder,
                       const char *space,
                       enum data_dir_access access,
                       struct transfer **out,
                       struct err_detail *detail)
{
    *out = NULL;
    enum err err = data_dir_open(folder, access, detail);
    if (err == ERR_OK) {
        err = data_dir_find(folder, space, access, detail);
    }
    if (err != ERR_OK) {
        return err;
    }
    struct buf path = {0};
    data_dir_path(folder, space, &path);
    struct transfer *transfer = mem_alloc_zero(sizeof *transfer);
    const struct engine_options options = {
        .path = buf_text(&path),
        .read_only = access == DATA_DIR_READ_ONLY,
    };
    err = engine_open(&transfer->engine, &options, detail);
    buf_release(&path);
    if (err != ERR_OK) {
        mem_free(transfer, sizeof *transfer);
        return data_dir_explain(folder, space, detail);
    }
    transfer->folder = folder;
    transfer->name = space;
    transfer->session = new_session();
    transfer->branch = value_text_new("");
    transfer->space = value_text_new("space");
    *out = transfer;
    return ERR_OK;
}

void transfer_close(struct transfer *transfer)
{
    if (transfer == NULL) {
        return;
    }
    engine_close(&transfer->engine);
    value_unref(transfer->session);
    value_unref(transfer->branch);
    value_unref(transfer->space);
    mem_free(transfer, sizeof *transfer);
}

void moved_set_release(struct moved_set *set)
{
    VEC_FOREACH (&set->names, name) {
        value_unref(*name);
    }
    VEC_FOREACH (&set->documents, one) {
        value_unref(one->scope_key);
        value_unref(one->id);
        value_unref(one->document);
    }
    value_unref(set->space);
    value_unref(set->relatives);
    vec_release(&set->names);
    vec_release(&set->documents);
}

/* -- Reading ------------------------------------------------------------- */

enum err transfer_read(struct transfer *transfer,
                       struct value scope_key,
                       struct value id,
                       struct value *out,
                       struct err_detail *detail)
{
    const struct engine_address address = {transfer->branch, scope_key, id};
    uint64_t seq = 0;
    return engine_head(&transfer->engine, &address, out, &seq, detail);
}

struct value transfer_about(struct value document)
{
    const struct value about = object_field(document, "piece");
    return value_is_object(about) &&
                   value_is_absent(object_field(about, "removed"))
               ? about
               : VALUE_NONE;
}

uint64_t transfer_generation(struct value document)
{
    const struct value about = object_field(document, "piece");
    const struct value generation = object_field(about, "generation");
    return value_kind(generation) == VALUE_INT
               ? (uint64_t)value_integer(generation)
               : 0;
}

static enum err read_index(struct transfer *transfer,
                           struct value *out,
                           struct err_detail *detail)
{
    const struct value id = value_text_new("pieces");
    const enum err err =
        transfer_read(transfer, transfer->space, id, out, detail);
    value_unref(id);
    return err;
}

static enum err refuse_name(struct transfer *transfer,
                            const char *name,
                            struct err_detail *detail)
{
    struct value index = VALUE_NONE;
    struct nearest nearest;
    const enum err err = read_index(transfer, &index, detail);
    if (err != ERR_OK) {
        return err;
    }
    nearest_begin(&nearest, name, strlen(name));
    const struct value all = object_field(index, "value");
    struct object_iter iter =
        object_iter(value_is_object(all) ? all : value_empty_object());
    struct value known;
    struct value line;
    while (object_next(&iter, &known, &line)) {
        const struct text text = value_text(&known);
        nearest_offer(&nearest, text.at, text.length);
    }
    value_unref(index);
    return err_set(detail,
                   ERR_NOT_FOUND,
                   "there is no piece %s in %s%s",
                   name,
                   transfer->folder,
                   nearest_hint(&nearest));
}

/* -- Gathering ----------------------------------------------------------- */

static void add_document(void *ctx, struct value scope_key, struct value id)
{
    struct moved_set *set = ctx;
    if (!value_begins_with(scope_key, "session:")) { /* transfer-2 */
        const struct moved_document one = {
            .scope_key = value_ref(scope_key),
            .id = value_ref(id),
        };
        vec_push(&set->documents, one);
    }
}

/* "piece:NAME" in each scope, and then what is below it. No id has a control
 * character, and '0' comes after '/'. */
static enum err add_documents(struct transfer *transfer,
                              struct value name,
                              struct moved_set *set,
                              struct err_detail *detail)
{
    const struct value id = piece_document_id(name, VALUE_NONE);
    const struct text text = value_text(&id);
    struct buf from = {0};
    struct buf to = {0};
    buf_append(&from, text.at, text.length);
    buf_append(&to, text.at, text.length);
    buf_append_char(&to, '\x01');
    enum err err = engine_documents(&transfer->engine,
                                    buf_text(&from),
                                    buf_text(&to),
                                    add_document,
                                    set,
                                    detail);
    to.at[to.length - 1] = '0';
    buf_append_char(&from, '/');
    if (err == ERR_OK) {
        err = engine_documents(&transfer->engine,
                               buf_text(&from),
                               buf_text(&to),
                               add_document,
                               set,
                               detail);
    }
    buf_release(&from);
    buf_release(&to);
    value_unref(id);
    return err;
}

/* The names that the piece has launched. */
static enum err add_launched(struct transfer *transfer,
                             struct value name,
                             struct moved_set *set,
                             struct err_detail *detail)
{
    struct value document = VALUE_NONE;
    const struct value id = piece_document_id(name, VALUE_NONE);
    const enum err err =
        transfer_read(transfer, transfer->space, id, &document, detail);
    value_unref(id);
    const struct value about = transfer_about(document);
    const struct value launched = object_field(about, "launched");
    struct object_iter iter = object_iter(
        value_is_object(launched) ? launched : value_empty_object());
    struct value child;
    struct value pattern;
    while (object_next(&iter, &child, &pattern)) {
        if (!value_is_object(pattern)) { /* of this space */
            vec_push(&set->names, value_ref(child));
        }
    }
    value_unref(document);
    return err;
}

static enum err read_documents(struct transfer *transfer,
                               struct moved_set *set,
                               struct err_detail *detail)
{
    enum err err = ERR_OK;
    VEC_FOREACH (&set->documents, one) {
        if (err == ERR_OK) {
            err = transfer_read(transfer,
                                one->scope_key,
                                one->id,
                                &one->document,
                                detail);
        }
    }
    return err;
}

static enum err check_exists(struct transfer *transfer,
                             const char *name,
                             struct err_detail *detail)
{
    const struct value text = value_text_new(name);
    const struct value id = piece_document_id(text, VALUE_NONE);
    struct value document = VALUE_NONE;
    enum err err =
        transfer_read(transfer, transfer->space, id, &document, detail);
    if (err == ERR_OK && value_is_absent(transfer_about(document))) {
        err = refuse_name(transfer, name, detail);
    }
    value_unref(document);
    value_unref(id);
    value_unref(text);
    return err;
}

enum err transfer_gather(struct transfer *transfer,
                         const char *name,
                         struct moved_set *set,
                         struct err_detail *detail)
{
    enum err err = ERR_OK;
    if (name == NULL) {
        err = engine_documents(&transfer->engine,
                               "",
                               "",
                               add_document,
                               set,
                               detail);
        return err == ERR_OK ? read_documents(transfer, set, detail) : err;
    }
    err = check_exists(transfer, name, detail);
    if (err == ERR_OK) {
        vec_push(&set->names, value_text_new(name));
    }
    for (size_t i = 0; err == ERR_OK && i < set->names.count; i++) {
        const struct value one = set->names.at[i]; /* which may move */
        err = add_documents(transfer, one, set, detail);
        if (err == ERR_OK) {
            err = add_launched(transfer, one, set, detail);
        }
    }
    return err == ERR_OK ? read_documents(transfer, set, detail) : err;
}

enum err transfer_check_stopped(const struct transfer *transfer,
                                const char *name,
                                struct err_detail *detail)
{
    const struct value present = presence_list(transfer->folder);
    const struct value space = value_text_new(transfer->name);
    const struct value piece = value_text_new(name);
    struct array_iter iter = array_iter(present);
    struct value one;
    enum err err = ERR_OK;
    while (err == ERR_OK && array_next(&iter, &one)) {
        const struct value pid = object_field(one, "pid");
        if (presence_has(one, space, piece)) {
            err = err_set(detail,
                          ERR_ARGUMENT,
                          "the piece %s is running in process %lld: stop that "
                          "process first",
                          name,
                          value_kind(pid) == VALUE_INT
                              ? (long long)value_integer(pid)
                              : 0);
        }
    }
    value_unref(piece);
    value_unref(space);
    value_unref(present);
    return err;
}

/* -- Writing ------------------------------------------------------------- */

static enum err flush(struct moved_writer *writer, struct err_detail *detail)
{
    struct transfer *transfer = writer->transfer;
    struct commit *commit = &writer->commit;
    if (commit->ops.count == 0) {
        return ERR_OK;
    }
    enum scope scope;
    struct identity identity = {0};
    enum err err = scope_key_read(writer->scope_key, &scope, &identity, detail);
    if (err == ERR_OK) {
        value_unref(commit->session);
        value_unref(commit->branch);
        commit->session = value_ref(transfer->session);
        commit->branch = value_ref(transfer->branch);
        commit->local_seq = ++transfer->local_seq;
        struct engine_request request = {
            .commit = commit,
            .principal = identity.principal,
            .at_ms = system_wall_ms(),
        };
        err = engine_write_commit(&transfer->engine, &request, detail);
        if (err == ERR_OK && request.verdict.err != ERR_OK) {
            *detail = request.verdict.detail;
            err = request.verdict.err;
        }
        verdict_release(&request.verdict);
    }
    value_unref(identity.principal);
    value_unref(identity.session);
    commit_release(commit);
    *commit = (struct commit){0};
    return err;
}

enum err moved_write(struct moved_writer *writer,
                     struct value scope_key,
                     struct value id,
                     struct value document,
                     struct err_detail *detail)
{
    const bool is_same = !value_is_absent(writer->scope_key) &&
                         key_equal(writer->scope_key, scope_key);
    enum err err = ERR_OK;
    if (!is_same || writer->commit.ops.count >= COMMIT_OPERATIONS) {
        err = flush(writer, detail);
        const struct value before = writer->scope_key;
        writer->scope_key = value_ref(scope_key);
        value_unref(before);
    }
    if (err == ERR_OK) {
        struct commit_op *op = commit_add_op(&writer->commit);
        op->kind = value_is_absent(document) ? COMMIT_DELETE : COMMIT_SET;
        op->target.id = value_ref(id);
        op->target.scope =
            value_begins_with(scope_key, "user:") ? SCOPE_USER : SCOPE_SPACE;
        op->document = value_ref(document);
    }
    return err;
}

enum err moved_write_end(struct moved_writer *writer,
                         enum err err,
                         struct err_detail *detail)
{
    if (err == ERR_OK) {
        err = flush(writer, detail);
    }
    commit_release(&writer->commit);
    value_unref(writer->scope_key);
    return err;
}

enum err moved_write_index(struct moved_writer *writer,
                           struct value gone,
                           struct value added,
                           struct value document,
                           struct err_detail *detail)
{
    struct transfer *transfer = writer->transfer;
    struct value index = VALUE_NONE;
    enum err err = read_index(transfer, &index, detail);
    if (err != ERR_OK) {
        return err;
    }
    if (!value_is_object(index)) {
        index = value_empty_object();
    }
    const struct value before = object_field(index, "value");
    struct value lines =
        value_is_object(before) ? value_ref(before) : value_empty_object();
    if (!value_is_absent(gone)) {
        lines = object_remove_adopt(lines, value_ref(gone));
    }
    if (!value_is_absent(added)) {
        const struct value about = object_field(document, "piece");
        struct value line = value_empty_object();
        object_put_adopt(&line,
                         "pattern",
                         value_ref(object_field(about, "pattern")));
        if (!value_is_absent(object_field(about, "note"))) {
            object_put_adopt(&line,
                             "note",
                             value_ref(object_field(about, "note")));
        }
        lines = object_set_adopt(lines, value_ref(added), line);
    }
    object_put_adopt(&index, "value", lines);
    const struct value id = value_text_new("pieces");
    err = moved_write(writer, transfer->space, id, index, detail);
    value_unref(id);
    value_unref(index);
    return err;
}

enum err transfer_forget(struct transfer *transfer,
                         const struct moved_set *set,
                         struct err_detail *detail)
{
    enum err err = ERR_OK;
    VEC_FOREACH (&set->names, name) {
        if (err == ERR_OK) {
            err = engine_piece_forget(&transfer->engine,
                                      transfer->branch,
                                      *name,
                                      detail);
        }
    }
    return err;
}

/* -- Removing ------------------------------------------------------------ */

bool moved_is_piece(struct value id)
{
    const struct text text = value_text(&id);
    return value_begins_with(id, "piece:") &&
           memchr(text.at, '/', text.length) == NULL;
}

/* Whether it is the result document of a piece. */
static bool is_result(const struct transfer *transfer,
                      const struct moved_document *one)
{
    return key_equal(one->scope_key, transfer->space) &&
           moved_is_piece(one->id);
}

/* Deletes the document; a result document keeps the generation, so that a later
 * piece of its name gets another one. */
static enum err write_gone(struct moved_writer *writer,
                           const struct moved_document *one,
                           struct err_detail *detail)
{
    struct value left = VALUE_NONE;
    if (is_result(writer->transfer, one)) {
        const uint64_t generation = transfer_generation(one->document);
        struct value about = value_empty_object();
        object_put_adopt(&about, "removed", value_bool(true));
        object_put_adopt(&about,
                         "generation",
                         value_int(generation > 0 ? (int64_t)generation : 1));
        left = value_empty_object();
        object_put_adopt(&left, "piece", about);
    }
    const enum err err =
        moved_write(writer, one->scope_key, one->id, left, detail);
    value_unref(left);
    return err;
}

/* The name of the piece that launched it, new; absent if none did. Pieces of
 * earlier versions only say that they were launched: "a~x" was by "a". */
static enum err read_launcher(struct transfer *transfer,
                              struct value name,
                              struct value *out,
                              struct err_detail *detail)
{
    const struct value id = piece_document_id(name, VALUE_NONE);
    struct value document = VALUE_NONE;
    const enum err err =
        transfer_read(transfer, transfer->space, id, &document, detail);
    const struct value about =
        err == ERR_OK ? transfer_about(document) : VALUE_NONE;
    const struct value child = object_field(about, "child");
    const struct text text = value_text(&name);
    size_t length = text.length;
    while (length > 0 && text.at[length - 1] != '~') {
        length--;
    }
    *out = value_is_string(child) ? value_ref(child)
           : !value_is_absent(child) && !value_is_object(child) && length > 1
               ? value_string_new(text.at, length - 1)
               : VALUE_NONE;
    value_unref(document);
    value_unref(id);
    return err;
}

/* A piece that was launched is named in the one that launched it. */
static enum err leave_parent(struct moved_writer *writer,
                             struct value name,
                             struct err_detail *detail)
{
    struct transfer *transfer = writer->transfer;
    struct value parent;
    enum err err = read_launcher(transfer, name, &parent, detail);
    if (err != ERR_OK || value_is_absent(parent)) {
        return err;
    }
    const struct value id = piece_document_id(parent, VALUE_NONE);
    struct value document = VALUE_NONE;
    err = transfer_read(transfer, transfer->space, id, &document, detail);
    const struct value about =
        err == ERR_OK ? transfer_about(document) : VALUE_NONE;
    const struct value launched = object_field(about, "launched");
    if (value_is_object(launched) &&
        !value_is_absent(object_get(launched, name))) {
        struct value changed = value_ref(about);
        object_put_adopt(
            &changed,
            "launched",
            object_remove_adopt(value_ref(launched), value_ref(name)));
        object_put_adopt(&document, "piece", changed);
        err = moved_write(writer, transfer->space, id, document, detail);
    }
    value_unref(document);
    value_unref(id);
    value_unref(parent);
    return err;
}

static enum err remove_in(struct transfer *transfer,
                          const struct moved_set *set,
                          struct err_detail *detail)
{
    struct moved_writer writer = {.transfer = transfer};
    const struct value name = set->names.at[0];
    enum err err =
        moved_write_index(&writer, name, VALUE_NONE, VALUE_NONE, detail);
    if (err == ERR_OK) {
        err = leave_parent(&writer, name, detail);
    }
    VEC_FOREACH (&set->documents, one) {
        if (err == ERR_OK) {
            err = write_gone(&writer, one, detail);
        }
    }
    if (err == ERR_OK) {
        err = moved_write_events(&writer, set, NULL, detail);
    }
    return moved_write_end(&writer, err, detail);
}

enum err transfer_remove_here(struct transfer *transfer,
                              const char *name,
                              struct value children,
                              struct transfer_counts *counts,
                              struct err_detail *detail)
{
    struct moved_set set = {0};
    struct value now = VALUE_NONE;
    struct value parent = VALUE_NONE;
    enum err err = engine_write_begin(&transfer->engine, detail);
    if (err != ERR_OK) {
        return err;
    }
    err = transfer_gather(transfer, name, &set, detail);
    if (err == ERR_OK) {
        err = transfer_elsewhere(transfer, &set, &now, detail);
    }
    if (err == ERR_OK && !value_equal(now, children)) {
        err = err_set(detail, ERR_STALE, "it has got another child");
    }
    if (err == ERR_OK) {
        err = transfer_read_parent(transfer, set.names.at[0], &parent, detail);
    }
    if (err == ERR_OK) {
        set.relatives = value_ref(now);
        if (!value_is_absent(parent)) {
            set.relatives = array_push_adopt(set.relatives, value_ref(parent));
        }
        err = remove_in(transfer, &set, detail);
    }
    err = engine_write_end(&transfer->engine, err, detail);
    if (err == ERR_OK) {
        err = transfer_forget(transfer, &set, detail);
        counts->pieces += set.names.count;
        counts->documents += set.documents.count;
    }
    value_unref(parent);
    value_unref(now);
    moved_set_release(&set);
    return err;
}

/* -- Renaming ------------------------------------------------------------ */

/* `text`, of which the first `length` bytes are the old name, with the new
 * one. */
static void append_renamed(struct buf *to,
                           const struct moved_names *names,
                           struct text text)
{
    const size_t length = strlen(names->from);
    buf_append_text(to, names->to);
    buf_append(to, text.at + length, text.length - length);
}

/* Whether the name is one of the set, and begins with the old name. */
static bool is_renamed(const struct moved_names *names, struct text name)
{
    const size_t length = strlen(names->from);
    if (name.length < length || memcmp(name.at, names->from, length) != 0 ||
        (name.length > length && name.at[length] != '~')) {
        return false;
    }
    VEC_FOREACH (&names->set->names, known) {
        const struct text text = value_text(known);
        if (text.length == name.length &&
            memcmp(text.at, name.at, text.length) == 0) {
            return true;
        }
    }
    return false;
}

struct value moved_name(const struct moved_names *names, struct value name)
{
    const struct text text = value_text(&name);
    if (!is_renamed(names, text)) {
        return value_ref(name);
    }
    struct buf renamed = {0};
    append_renamed(&renamed, names, text);
    const struct value made = value_string_new(renamed.at, renamed.length);
    buf_release(&renamed);
    return made;
}

struct value moved_id(const struct moved_names *names, struct value id)
{
    static const char front[] = "piece:";
    const size_t front_length = strlen(front);
    const struct text text = value_text(&id);
    if (!value_begins_with(id, front)) {
        return value_ref(id);
    }
    const struct text rest = {text.at + front_length,
                              text.length - front_length};
    const char *slash = memchr(rest.at, '/', rest.length);
    const struct text name = {rest.at,
                              slash != NULL ? (size_t)(slash - rest.at)
                                            : rest.length};
    if (!is_renamed(names, name)) {
        return value_ref(id);
    }
    struct buf renamed = {0};
    buf_append_text(&renamed, front);
    append_renamed(&renamed, names, rest);
    const struct value made = value_string_new(renamed.at, renamed.length);
    buf_release(&renamed);
    return made;
}

static struct value rename_link(void *ctx, struct value value)
{
    const struct moved_names *names = ctx;
    const struct moved_set *set = names->set;
    struct doc_link link = doc_link_of(value);
    const bool has_space = !value_is_absent(link.space);
    if (value_is_absent(link.id) ||
        (has_space && !key_equal(link.space, names->space))) {
        return VALUE_NONE;
    }
    const struct value id = moved_id(names, link.id);
    const bool moves = has_space && !key_equal(names->space, names->to_space) &&
                       (set->names.count == 0 || moved_set_has(set, link.id));
    struct value made = VALUE_NONE;
    if (moves || !key_equal(id, link.id)) {
        link.id = id;
        link.space = moves ? names->to_space : link.space;
        made = doc_link_new(&link);
    }
    value_unref(id);
    return made;
}

struct value moved_value(const struct moved_names *names, struct value document)
{
    struct moved_names ctx = *names;
    return relink_each_adopt(value_ref(document), rename_link, &ctx);
}

struct value moved_result(const struct moved_names *names,
                          struct value document)
{
    struct value made = moved_value(names, document);
    struct value about = value_ref(object_field(made, "piece"));
    const struct value launched = object_field(about, "launched");
    if (value_is_object(launched)) {
        struct value renamed = value_empty_object();
        struct object_iter iter = object_iter(launched);
        struct value name;
        struct value pattern;
        while (object_next(&iter, &name, &pattern)) {
            renamed = object_set_adopt(renamed,
                                       moved_name(names, name),
                                       value_ref(pattern));
        }
        object_put_adopt(&about, "launched", renamed);
    }
    const struct value child = object_field(about, "child");
    if (value_is_string(child)) {
        object_put_adopt(&about, "child", moved_name(names, child));
    }
    if (transfer_generation(made) < names->generation) {
        object_put_number(&about, "generation", names->generation);
    }
    object_put_adopt(&made, "piece", about);
    return made;
}

enum err moved_read_generation(struct transfer *transfer,
                               struct moved_names *names,
                               bool replace,
                               struct err_detail *detail)
{
    const struct value name = value_text_new(names->to);
    const struct value id = piece_document_id(name, VALUE_NONE);
    struct value document = VALUE_NONE;
    enum err err =
        transfer_read(transfer, transfer->space, id, &document, detail);
    const uint64_t generation = transfer_generation(document);
    names->generation = generation > 0 ? generation + 1 : 0;
    if (err == ERR_OK && !replace &&
        !value_is_absent(transfer_about(document))) {
        err = err_set(detail,
                      ERR_ARGUMENT,
                      "a piece %s already exists",
                      names->to);
    }
    value_unref(document);
    value_unref(id);
    value_unref(name);
    return err;
}

static enum err write_renamed(struct moved_writer *writer,
                              const struct moved_names *names,
                              const struct moved_document *one,
                              struct err_detail *detail)
{
    const struct value id = moved_id(names, one->id);
    const struct value document = moved_is_piece(one->id)
                                      ? moved_result(names, one->document)
                                      : moved_value(names, one->document);
    enum err err = moved_write(writer, one->scope_key, id, document, detail);
    if (err == ERR_OK && !key_equal(id, one->id)) {
        err = write_gone(writer, one, detail);
    }
    value_unref(document);
    value_unref(id);
    return err;
}

bool moved_set_has(const struct moved_set *set, struct value wanted)
{
    VEC_FOREACH (&set->names, name) {
        const struct value id = piece_document_id(*name, VALUE_NONE);
        const struct text text = value_text(&id);
        const struct text is = value_text(&wanted);
        const bool has =
            is.length >= text.length &&
            memcmp(is.at, text.at, text.length) == 0 &&
            (is.length == text.length || is.at[text.length] == '/');
        value_unref(id);
        if (has) {
            return true;
        }
    }
    return false;
}

/* Links to the piece in documents of others. */
static enum err relink_others(struct moved_writer *writer,
                              const struct moved_names *names,
                              uint64_t *count,
                              struct err_detail *detail)
{
    struct transfer *transfer = writer->transfer;
    struct moved_set all = {0};
    enum err err =
        engine_documents(&transfer->engine, "", "", add_document, &all, detail);
    VEC_FOREACH (&all.documents, one) {
        if (err != ERR_OK || moved_set_has(names->set, one->id)) {
            continue;
        }
        struct value document = VALUE_NONE;
        err =
            transfer_read(transfer, one->scope_key, one->id, &document, detail);
        const struct value made = moved_value(names, document);
        if (err == ERR_OK && !value_is_same(made, document)) {
            (*count)++;
            err = moved_write(writer, one->scope_key, one->id, made, detail);
        }
        value_unref(made);
        value_unref(document);
    }
    moved_set_release(&all);
    return err;
}

static enum err rename_in(struct transfer *transfer,
                          const struct moved_names *names,
                          uint64_t *relinked,
                          struct err_detail *detail)
{
    struct moved_writer writer = {.transfer = transfer};
    const struct value old_name = names->set->names.at[0];
    const struct value new_name = value_text_new(names->to);
    enum err err = ERR_OK;
    struct value result = VALUE_NONE;
    VEC_FOREACH (&names->set->documents, one) {
        if (err == ERR_OK) {
            err = write_renamed(&writer, names, one, detail);
        }
        if (value_is_absent(result) && is_result(transfer, one)) {
            result = one->document;
        }
    }
    if (err == ERR_OK) {
        err = relink_others(&writer, names, relinked, detail);
    }
    if (err == ERR_OK) {
        err = moved_write_events(&writer, NULL, names, detail);
    }
    if (err == ERR_OK) {
        err = moved_write_index(&writer, old_name, new_name, result, detail);
    }
    value_unref(new_name);
    return moved_write_end(&writer, err, detail);
}

static enum err check_rename(const struct transfer *transfer,
                             const char *name,
                             const char *new_name,
                             struct err_detail *detail)
{
    const struct value text = value_text_new(new_name);
    enum err err = piece_check_name(text, detail);
    value_unref(text);
    if (err == ERR_OK && strcmp(name, new_name) == 0) {
        err = err_set(detail, ERR_ARGUMENT, "%s already has that name", name);
    }
    return err == ERR_OK ? transfer_check_stopped(transfer, name, detail) : err;
}

/* Its name is in the document of the piece that launched it. */
static enum err refuse_launched(struct transfer *transfer,
                                const char *name,
                                struct err_detail *detail)
{
    const struct value text = value_text_new(name);
    struct value launcher;
    enum err err = read_launcher(transfer, text, &launcher, detail);
    if (err == ERR_OK && !value_is_absent(launcher)) {
        err = err_set(detail,
                      ERR_ARGUMENT,
                      "%s was launched by a handler and cannot be renamed",
                      name);
    }
    value_unref(launcher);
    value_unref(text);
    return err;
}

enum err transfer_rename(struct transfer *transfer,
                         const char *name,
                         const char *new_name,
                         struct transfer_counts *counts,
                         struct err_detail *detail)
{
    struct moved_set set = {0};
    const struct value space = value_text_new(transfer->name);
    struct moved_names names = {
        .set = &set,
        .space = space,
        .to_space = space,
        .from = name,
        .to = new_name,
    };
    uint64_t relinked = 0;
    enum err err = check_rename(transfer, name, new_name, detail);
    if (err == ERR_OK) {
        err = engine_write_begin(&transfer->engine, detail);
    }
    if (err != ERR_OK) {
        value_unref(space);
        return err;
    }
    err = refuse_launched(transfer, name, detail);
    if (err == ERR_OK) {
        err = transfer_gather(transfer, name, &set, detail);
    }
    if (err == ERR_OK) {
        err = transfer_refuse_elsewhere(transfer, &set, "renamed", detail);
    }
    if (err == ERR_OK) {
        err = moved_read_generation(transfer, &names, false, detail);
    }
    if (err == ERR_OK) {
        err = rename_in(transfer, &names, &relinked, detail);
    }
    err = engine_write_end(&transfer->engine, err, detail);
    if (err == ERR_OK) {
        err = transfer_forget(transfer, &set, detail);
    }
    *counts = (struct transfer_counts){
        .pieces = set.names.count,
        .documents = set.documents.count,
        .relinked = relinked,
    };
    moved_set_release(&set);
    value_unref(space);
    return err;
}
