/* Reading the access document, and judging commits by it. */

#include "server/access.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "value/object.h"

enum {
    NAME_SHOWN = 80
};

static enum err bad(struct err_detail *detail, const char *sentence)
{
    return err_set(detail, ERR_PROTOCOL, "%s", sentence);
}

/* -- The document -------------------------------------------------------- */

/* One entry: OK, or PROTOCOL. */
static enum err check_entry(struct value key,
                            struct value item,
                            enum capability *out,
                            struct err_detail *detail)
{
    const struct text name = value_text(&key);
    struct err_detail why = {0};
    *out = CAPABILITY_NONE;
    if (!value_is_text(key, "*") && principal_check(name, &why) != ERR_OK) {
        return err_set(detail,
                       ERR_PROTOCOL,
                       "the access document is invalid: %s",
                       why.text);
    }
    if (!value_is_string(item) || !capability_read(value_text(&item), out)) {
        return err_set(detail,
                       ERR_PROTOCOL,
                       "the access document is invalid: the entry of '%.*s' "
                       "must be \"READ\", \"WRITE\" or \"OWNER\"",
                       text_shown(name.at, name.length, NAME_SHOWN),
                       name.at);
    }
    return ERR_OK;
}

/* The object of entries; absent, with a sentence, if there is none. */
static struct value entries_of(struct value document, struct err_detail *detail)
{
    const struct value entries = object_field(document, "value");
    if (!value_is_object(document) || object_count(document) != 1 ||
        !value_is_object(entries)) {
        (void)bad(detail,
                  "the access document is invalid: it must be "
                  "{\"value\":{PRINCIPAL:\"READ\"|\"WRITE\"|\"OWNER\",...}}");
        return VALUE_NONE;
    }
    if (object_count(entries) > ACCESS_ENTRIES_MAX) {
        (void)err_set(detail,
                      ERR_PROTOCOL,
                      "the access document is invalid: it has %u entries, the "
                      "limit is %d",
                      (unsigned)object_count(entries),
                      ACCESS_ENTRIES_MAX);
        return VALUE_NONE;
    }
    return entries;
}

enum err access_check_document(struct value document, struct err_detail *detail)
{
    const struct value entries = entries_of(document, detail);
    if (value_is_absent(entries)) {
        return ERR_PROTOCOL;
    }
    struct object_iter iter = object_iter(entries);
    struct value key;
    struct value item;
    bool has_owner = false;
    while (object_next(&iter, &key, &item)) {
        enum capability capability;
        const enum err err = check_entry(key, item, &capability, detail);
        if (err != ERR_OK) {
            return err;
        }
        has_owner |= capability == CAPABILITY_OWNER && !value_is_text(key, "*");
    }
    return has_owner ? ERR_OK
                     : bad(detail,
                           "the access document is invalid: at least one "
                           "principal other than '*' must be OWNER");
}

static int compare_names(const char *a,
                         size_t a_length,
                         const char *b,
                         size_t b_length)
{
    const size_t least = a_length < b_length ? a_length : b_length;
    const int order = memcmp(a, b, least);
    return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

static int compare_entries(const void *a, const void *b)
{
    const struct access_entry *left = a;
    const struct access_entry *right = b;
    return compare_names(left->principal,
                         left->length,
                         right->principal,
                         right->length);
}

static void add_entry(struct access *access,
                      struct value key,
                      struct value item)
{
    const struct text name = value_text(&key);
    const struct text capability = value_text(&item);
    struct access_entry entry = {.length = name.length};
    (void)capability_read(capability, &entry.capability);
    if (value_is_text(key, "*")) {
        access->everyone = entry.capability;
        return;
    }
    entry.principal = mem_alloc(name.length);
    memcpy(entry.principal, name.at, name.length);
    vec_push(&access->entries, entry);
}

void access_init(struct access *access,
                 struct value document,
                 struct err_detail *detail)
{
    *access = (struct access){0};
    if (value_is_absent(document) ||
        access_check_document(document, detail) != ERR_OK) {
        return; /* access-1, access-2 */
    }
    struct object_iter iter = object_iter(object_field(document, "value"));
    struct value key;
    struct value item;
    while (object_next(&iter, &key, &item)) {
        add_entry(access, key, item);
    }
    qsort(access->entries.at,
          access->entries.count,
          sizeof *access->entries.at,
          compare_entries);
    access->is_valid = true;
}

void access_release(struct access *access)
{
    VEC_FOREACH (&access->entries, entry) {
        mem_free(entry->principal, entry->length);
    }
    vec_release(&access->entries);
    *access = (struct access){0};
}

/* -- Capabilities -------------------------------------------------------- */

static const struct access_entry *find(const struct access *access,
                                       const char *name,
                                       size_t length)
{
    size_t low = 0;
    size_t high = access->entries.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct access_entry *entry = &access->entries.at[middle];
        const int order =
            compare_names(entry->principal, entry->length, name, length);
        if (order == 0) {
            return entry;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

/* What the document gives a principal. */
static enum capability given(const struct access *access, const char *principal)
{
    const size_t length = strlen(principal);
    if (!access->is_valid || length == 0) {
        return CAPABILITY_NONE;
    }
    const struct access_entry *entry = find(access, principal, length);
    return entry != NULL ? entry->capability : access->everyone;
}

enum capability access_capability(const struct access *access,
                                  bool is_service,
                                  const struct credential *credential)
{
    if (credential->grants) {
        return credential->ceiling; /* access-3 */
    }
    const enum capability most =
        is_service ? CAPABILITY_OWNER : given(access, credential->principal);
    return capability_least(most, credential->ceiling);
}

bool access_of_message(enum message_kind kind, enum capability *out)
{
    switch (kind) {
    case MESSAGE_OPEN:
    case MESSAGE_WATCH:
    case MESSAGE_UNWATCH:
    case MESSAGE_ACK:
        *out = CAPABILITY_READ;
        return true;
    case MESSAGE_COMMITS:
        *out = CAPABILITY_WRITE;
        return true;
    case MESSAGE_OPENED:
    case MESSAGE_VERDICTS:
    case MESSAGE_SYNC:
    case MESSAGE_REVOKED:
        break;
    }
    *out = CAPABILITY_NONE;
    return false;
}

/* -- Commits ------------------------------------------------------------- */

static bool is_access_id(struct value id)
{
    return value_is_text(id, ACCESS_DOCUMENT_ID);
}

bool access_is_touched(const struct commit *commit)
{
    VEC_FOREACH (&commit->ops, op) {
        if (is_access_id(op->target.id)) {
            return true;
        }
    }
    return false;
}

/* access-4, of a commit that touches the document. */
static enum err check_change(const struct commit *commit,
                             struct err_detail *detail)
{
    if (!value_is_text(commit->branch, "")) {
        return bad(detail,
                   "the access document exists on the main branch only: commit "
                   "the change there");
    }
    if (commit->ops.count != 1 || commit->observation != NULL ||
        commit->batch.count != 0) {
        return bad(detail,
                   "a change of the access document must be a commit of its "
                   "own: send the other operations in another commit");
    }
    const struct commit_op *op = &commit->ops.at[0];
    if (op->kind != COMMIT_SET || op->target.scope != SCOPE_SPACE) {
        return bad(detail,
                   "the access document can only be set as a whole, in space "
                   "scope: it cannot be patched or deleted");
    }
    return access_check_document(op->document, detail);
}

enum err access_judge_commit(enum capability capability,
                             const struct commit *commit,
                             bool *touches,
                             struct err_detail *detail)
{
    *touches = false;
    if (capability < CAPABILITY_WRITE) {
        return err_set(detail,
                       ERR_ACCESS,
                       "a commit needs the capability WRITE in this space, and "
                       "this connection has %s",
                       capability_name(capability));
    }
    if (!access_is_touched(commit)) {
        return ERR_OK;
    }
    if (capability < CAPABILITY_OWNER) {
        return err_set(detail,
                       ERR_ACCESS,
                       "a change of the access document needs the capability "
                       "OWNER in this space, and this connection has %s",
                       capability_name(capability));
    }
    const enum err err = check_change(commit, detail);
    *touches = err == ERR_OK;
    return err;
}
