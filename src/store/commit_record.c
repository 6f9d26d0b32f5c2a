/* Records as values, and the chain over them. apply.c applies them to the
 * rows. */

#include "store/commit_record.h"

#include <sodium.h>
#include <string.h>

#include "base/limits.h"
#include "store/hasher.h"
#include "value/address.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/json.h"
#include "value/object.h"

static const char *const kind_names[] = {
    [RECORD_COMMIT] = "commit",
    [RECORD_FORK] = "fork",
    [RECORD_CLOSE] = "close",
};

void commit_record_release(struct commit_record *commit_record)
{
    VEC_FOREACH (&commit_record->writes, write) {
        value_unref(write->id);
        value_unref(write->scope_key);
        value_unref(write->data);
        value_unref(write->data_text);
        value_unref(write->trace);
        value_unref(write->result);
    }
    vec_release(&commit_record->writes);
    vec_release(&commit_record->resolved);
    value_unref(commit_record->branch);
    value_unref(commit_record->session);
    value_unref(commit_record->context);
    value_unref(commit_record->context_text);
    value_unref(commit_record->parent);
    *commit_record = (struct commit_record){0};
}

struct commit_record *commit_record_copy(
    const struct commit_record *commit_record)
{
    struct commit_record *copy = mem_alloc(sizeof *copy);
    *copy = *commit_record;
    memset(&copy->writes, 0, sizeof copy->writes);
    memset(&copy->resolved, 0, sizeof copy->resolved);
    (void)value_ref(copy->branch);
    (void)value_ref(copy->session);
    (void)value_ref(copy->context);
    (void)value_ref(copy->context_text);
    (void)value_ref(copy->parent);
    for (size_t i = 0; i < commit_record->resolved.count; i++) {
        vec_push(&copy->resolved, commit_record->resolved.at[i]);
    }
    for (size_t i = 0; i < commit_record->writes.count; i++) {
        struct record_write write = commit_record->writes.at[i];
        write.document = NULL;
        (void)value_ref(write.id);
        (void)value_ref(write.scope_key);
        (void)value_ref(write.data);
        (void)value_ref(write.data_text);
        (void)value_ref(write.trace);
        (void)value_ref(write.result);
        vec_push(&copy->writes, write);
    }
    return copy;
}

/* -- Traces -------------------------------------------------------------- */

enum {
    TRACE_PARTS = 4
};

struct value traces_write(const struct patch_trace *traces, size_t count)
{
    bool any = false;
    struct value list = value_empty_array();
    for (size_t i = 0; i < count; i++) {
        const struct patch_trace *trace = &traces[i];
        const struct value parts[TRACE_PARTS] = {
            value_int(trace->created_length),
            value_int(trace->collapsed),
            value_int(trace->path_in_array ? 1 : 0),
            value_int(trace->from_in_array ? 1 : 0),
        };
        any = any || trace->created_length > 0 || trace->collapsed > 0 ||
              trace->path_in_array || trace->from_in_array;
        list = array_push_adopt(list, array_new_adopt(parts, TRACE_PARTS));
    }
    if (!any) {
        value_unref(list);
        return VALUE_NONE;
    }
    return list;
}

static bool is_count(struct value value)
{
    return value_kind(value) == VALUE_INT && value_integer(value) >= 0;
}

static bool trace_read(struct value value, struct patch_trace *out)
{
    if (!value_is_array(value) || array_count(value) != TRACE_PARTS) {
        return false;
    }
    for (uint32_t i = 0; i < TRACE_PARTS; i++) {
        const struct value part = array_at(value, i);
        if (!is_count(part) || value_integer(part) > UINT32_MAX) {
            return false;
        }
    }
    *out = (struct patch_trace){
        .created_length = (uint32_t)value_integer(array_at(value, 0)),
        .collapsed = (uint32_t)value_integer(array_at(value, 1)),
        .path_in_array = value_integer(array_at(value, 2)) != 0,
        .from_in_array = value_integer(array_at(value, 3)) != 0,
    };
    return true;
}

enum err traces_decode(struct text text,
                       size_t count,
                       trace_list *out,
                       struct err_detail *detail)
{
    for (size_t i = 0; i < count; i++) {
        const struct patch_trace none = {0};
        vec_push(out, none);
    }
    if (text.length == 0) {
        return ERR_OK;
    }
    struct value list = VALUE_NONE;
    bool valid = json_read(text.at, text.length, NULL, &list, NULL) == ERR_OK;
    valid = valid && value_is_array(list) && array_count(list) == count;
    for (size_t i = 0; valid && i < count; i++) {
        valid = trace_read(array_at(list, (uint32_t)i), &out->at[i]);
    }
    value_unref(list);
    return valid ? ERR_OK : err_set(detail, ERR_CORRUPT, "a trace is damaged");
}

/* -- Writing ------------------------------------------------------------- */

static void put_number(struct value *object, const char *name, uint64_t number)
{
    CHECK(number <= INT64_MAX);
    object_put_number(object, name, number);
}

static void put_some(struct value *object, const char *name, struct value item)
{
    if (!value_is_absent(item)) {
        object_put_adopt(object, name, value_ref(item));
    }
}

static struct value digest_text(const unsigned char *digest)
{
    char text[2 * COMMIT_DIGEST_BYTES + 1];
    (void)sodium_bin2hex(text, sizeof text, digest, COMMIT_DIGEST_BYTES);
    return value_text_new(text);
}

static struct value write_writes(const struct commit_record *commit_record)
{
    struct value list = value_empty_array();
    for (size_t i = 0; i < commit_record->writes.count; i++) {
        const struct record_write *write = &commit_record->writes.at[i];
        struct value object = value_empty_object();
        put_number(&object, "index", write->index);
        put_some(&object, "id", write->id);
        put_some(&object, "scope", write->scope_key);
        object_put_text(&object, "op", commit_op_name(write->op));
        put_some(&object, "data", write->data);
        put_some(&object, "trace", write->trace);
        list = array_push_adopt(list, object);
    }
    return list;
}

static struct value write_resolved(const struct commit_record *commit_record)
{
    struct value list = value_empty_array();
    for (size_t i = 0; i < commit_record->resolved.count; i++) {
        const struct resolved_layer *layer = &commit_record->resolved.at[i];
        const struct value pair[2] = {
            value_int((int64_t)layer->local_seq),
            value_int((int64_t)layer->seq),
        };
        list = array_push_adopt(list, array_new_adopt(pair, 2));
    }
    return list;
}

struct value record_write(const struct commit_record *commit_record)
{
    struct value object = value_empty_object();
    put_number(&object, "record", commit_record->record);
    object_put_text(&object, "kind", kind_names[commit_record->kind]);
    put_some(&object, "branch", commit_record->branch);
    if (commit_record->kind == RECORD_FORK) {
        put_some(&object, "parent", commit_record->parent);
        put_number(&object, "forkSeq", commit_record->fork_seq);
    }
    if (commit_record->kind == RECORD_COMMIT) {
        put_number(&object, "seq", commit_record->seq);
        put_some(&object, "session", commit_record->session);
        put_number(&object, "localSeq", commit_record->local_seq);
        object_put_adopt(&object, "digest", digest_text(commit_record->digest));
        put_number(&object, "at", commit_record->at_ms);
        put_some(&object, "context", commit_record->context);
        object_put_adopt(&object, "resolved", write_resolved(commit_record));
        object_put_adopt(&object, "writes", write_writes(commit_record));
    }
    return object;
}

/* -- Texts and the chain ------------------------------------------------- */

struct value commit_record_text(struct value value)
{
    if (value_is_absent(value)) {
        return value;
    }
    struct buf text = {0};
    (void)buf_reserve(&text, 255); /* enough for most, at once */
    json_write(&text, value, JSON_CANONICAL, 0);
    const struct value string = value_string_new(buf_text(&text), text.length);
    buf_release(&text);
    return string;
}

void commit_record_complete(struct commit_record *commit_record)
{
    if (value_is_absent(commit_record->context_text)) {
        commit_record->context_text =
            commit_record_text(commit_record->context);
    }
    VEC_FOREACH (&commit_record->writes, write) {
        if (value_is_absent(write->data_text)) {
            write->data_text = commit_record_text(write->data);
        }
    }
}

static void hash_write(struct hasher *hasher, const struct record_write *write)
{
    const struct value trace = commit_record_text(write->trace);
    hasher_number(hasher, write->index);
    hasher_string(hasher, write->id);
    hasher_string(hasher, write->scope_key);
    hasher_number(hasher, (uint64_t)write->op);
    CHECK(value_is_absent(write->data) == value_is_absent(write->data_text));
    hasher_string(hasher, write->data_text);
    hasher_string(hasher, trace);
    value_unref(trace);
}

struct digest commit_record_chain(struct digest before,
                                  const struct commit_record *commit_record)
{
    struct hasher hasher;
    hasher_begin(&hasher, "heddle record 1", &before);
    hasher_number(&hasher, commit_record->record);
    hasher_number(&hasher, (uint64_t)commit_record->kind);
    hasher_string(&hasher, commit_record->branch);
    hasher_string(&hasher, commit_record->parent);
    hasher_number(&hasher, commit_record->fork_seq);
    hasher_number(&hasher, commit_record->seq);
    hasher_string(&hasher, commit_record->session);
    hasher_number(&hasher, commit_record->local_seq);
    hasher_bytes(&hasher, commit_record->digest, sizeof commit_record->digest);
    hasher_number(&hasher, commit_record->at_ms);
    hasher_string(&hasher, commit_record->context_text);
    hasher_number(&hasher, commit_record->resolved.count);
    for (size_t i = 0; i < commit_record->resolved.count; i++) {
        hasher_number(&hasher, commit_record->resolved.at[i].local_seq);
        hasher_number(&hasher, commit_record->resolved.at[i].seq);
    }
    hasher_number(&hasher, commit_record->writes.count);
    for (size_t i = 0; i < commit_record->writes.count; i++) {
        hash_write(&hasher, &commit_record->writes.at[i]);
    }
    return hasher_end(&hasher);
}

/* -- Reading ------------------------------------------------------------- */

static enum err bad(struct err_detail *detail, const char *field)
{
    return err_set(detail,
                   ERR_PROTOCOL,
                   "a record's %s is missing or wrong",
                   field);
}

enum err commit_record_bad_write(size_t number,
                                 const char *field,
                                 const char *why,
                                 struct err_detail *detail)
{
    return err_set(detail,
                   ERR_PROTOCOL,
                   "a record's writes[%zu].%s: %s",
                   number,
                   field,
                   why);
}

static bool read_number(struct value object, const char *name, uint64_t *out)
{
    const struct value number = object_field(object, name);
    if (value_kind(number) != VALUE_INT || value_integer(number) < 0) {
        return false;
    }
    *out = (uint64_t)value_integer(number);
    return true;
}

static bool read_string(struct value object,
                        const char *name,
                        struct value *out)
{
    const struct value string = object_field(object, name);
    if (!value_is_string(string)) {
        return false;
    }
    *out = value_ref(string);
    return true;
}

static bool read_op(struct value object, enum commit_op_kind *out)
{
    const struct value name = object_field(object, "op");
    return value_is_string(name) && document_op_read(value_text(&name), out);
}

static bool is_scope_key(struct value key)
{
    enum scope scope = SCOPE_SPACE;
    struct identity identity = {0};
    const bool valid = scope_key_read(key, &scope, &identity, NULL) == ERR_OK;
    value_unref(identity.principal);
    value_unref(identity.session);
    return valid;
}

/* Checks that `data` and `trace` have the shape of the operation. Whether a
 * patch is valid, and meets what it says, is checked when it is bound. */
static const char *find_bad_data(const struct record_write *write)
{
    const bool patch = write->op == COMMIT_PATCH;
    bool valid = value_is_absent(write->data);
    if (write->op == COMMIT_SET) {
        valid = value_is_object(write->data) &&
                value_depth(write->data) <= LIMIT_DEPTH;
    } else if (patch) {
        valid = value_is_array(write->data);
    }
    if (!valid) {
        return "data";
    }
    return value_is_absent(write->trace) ||
                   (patch && value_is_array(write->trace))
               ? NULL
               : "trace";
}

/* The name of the invalid field, or NULL. Operations are numbered upwards from
 * `least`. */
static const char *read_write(struct value object,
                              uint64_t least,
                              struct record_write *out)
{
    uint64_t index = 0;
    if (!value_is_object(object) || !read_number(object, "index", &index) ||
        index < least || index >= LIMIT_COMMIT_OPERATIONS) {
        return "index";
    }
    out->index = (uint32_t)index;
    if (!read_string(object, "id", &out->id) ||
        document_id_check(out->id, NULL) != ERR_OK) {
        return "id";
    }
    if (!read_string(object, "scope", &out->scope_key) ||
        !is_scope_key(out->scope_key)) {
        return "scope";
    }
    if (!read_op(object, &out->op)) {
        return "op";
    }
    out->data = value_ref(object_field(object, "data"));
    out->trace = value_ref(object_field(object, "trace"));
    return find_bad_data(out);
}

static enum err read_writes(struct value object,
                            struct commit_record *out,
                            struct err_detail *detail)
{
    const struct value list = object_field(object, "writes");
    if (!value_is_array(list)) {
        return bad(detail, "writes");
    }
    uint64_t least = 0;
    for (uint32_t i = 0; i < array_count(list); i++) {
        const struct record_write empty = {0};
        vec_push(&out->writes, empty);
        const char *field =
            read_write(array_at(list, i), least, vec_last(&out->writes));
        if (field != NULL) {
            return commit_record_bad_write(i,
                                           field,
                                           "is missing or wrong",
                                           detail);
        }
        least = (uint64_t)vec_last(&out->writes)->index + 1;
    }
    return ERR_OK;
}

bool resolved_read(struct value list, struct commit_record *out)
{
    if (!value_is_array(list)) {
        return false;
    }
    for (uint32_t i = 0; i < array_count(list); i++) {
        const struct value pair = array_at(list, i);
        if (!value_is_array(pair) || array_count(pair) != 2 ||
            !is_count(array_at(pair, 0)) || !is_count(array_at(pair, 1))) {
            return false;
        }
        const struct resolved_layer layer = {
            (uint64_t)value_integer(array_at(pair, 0)),
            (uint64_t)value_integer(array_at(pair, 1)),
        };
        vec_push(&out->resolved, layer);
    }
    return true;
}

/* The key of a session with a principal, or the bare name of one without. */
static bool is_session_key(struct value key)
{
    const struct text text = value_text(&key);
    return text.length >= 8 && memcmp(text.at, "session:", 8) == 0
               ? is_scope_key(key)
               : document_id_check(key, NULL) == ERR_OK;
}

static bool read_digest(struct value object, unsigned char *out)
{
    const struct value string = object_field(object, "digest");
    if (!value_is_string(string)) {
        return false;
    }
    const struct text text = value_text(&string);
    size_t length = 0;
    return sodium_hex2bin(out,
                          COMMIT_DIGEST_BYTES,
                          text.at,
                          text.length,
                          NULL,
                          &length,
                          NULL) == 0 &&
           length == COMMIT_DIGEST_BYTES &&
           text.length == (size_t)2 * COMMIT_DIGEST_BYTES;
}

static enum err read_commit(struct value value,
                            struct commit_record *out,
                            struct err_detail *detail)
{
    if (!read_number(value, "seq", &out->seq)) {
        return bad(detail, "seq");
    }
    if (!read_string(value, "session", &out->session) ||
        !is_session_key(out->session)) {
        return bad(detail, "session");
    }
    if (!read_number(value, "localSeq", &out->local_seq)) {
        return bad(detail, "localSeq");
    }
    if (!read_digest(value, out->digest)) {
        return bad(detail, "digest");
    }
    if (!read_number(value, "at", &out->at_ms)) {
        return bad(detail, "at");
    }
    out->context = value_ref(object_field(value, "context"));
    if (!value_is_absent(out->context) &&
        (!value_is_object(out->context) ||
         value_depth(out->context) > LIMIT_DEPTH)) {
        return bad(detail, "context");
    }
    if (!resolved_read(object_field(value, "resolved"), out)) {
        return bad(detail, "resolved");
    }
    return read_writes(value, out, detail);
}

static bool read_kind(struct value value, enum commit_record_kind *out)
{
    for (unsigned i = 0; i < COUNT_OF(kind_names); i++) {
        if (value_is_text(object_field(value, "kind"), kind_names[i])) {
            *out = (enum commit_record_kind)i;
            return true;
        }
    }
    return false;
}

enum err commit_record_read(struct value value,
                            struct commit_record *out,
                            struct err_detail *detail)
{
    *out = (struct commit_record){0};
    enum err err = ERR_OK;
    if (!value_is_object(value) || !read_kind(value, &out->kind)) {
        err = bad(detail, "kind");
    } else if (!read_number(value, "record", &out->record)) {
        err = bad(detail, "record");
    } else if (!read_string(value, "branch", &out->branch)) {
        err = bad(detail, "branch");
    } else if (out->kind == RECORD_COMMIT) {
        err = read_commit(value, out, detail);
    } else if (out->kind == RECORD_FORK &&
               (!read_string(value, "parent", &out->parent) ||
                !read_number(value, "forkSeq", &out->fork_seq))) {
        err = bad(detail, "parent or forkSeq");
    }
    if (err != ERR_OK) {
        commit_record_release(out);
    }
    return err;
}
