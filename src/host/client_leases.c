/* Locked files by kind, name and holder. */

#include "host/client_leases.h"

#include <unistd.h>

#include "base/mem.h"
#include "host/claims.h"
#include "value/object.h"

struct lease {
    struct list_node in_all;
    struct list_node in_holder;
    struct lease_holder *holder;
    enum lease_kind kind;
    struct value name;
    struct value instance;
    struct value principal; /* string, or absent */
    struct locked_file file;
};

#define LEASE_OF(node)   CONTAINER_OF((node), struct lease, in_all)
#define LEASE_HELD(node) CONTAINER_OF((node), struct lease, in_holder)

static const char *const kind_names[] = {
    [LEASE_SENDER] = "sender",
    [LEASE_TASK] = "task",
    [LEASE_SESSION] = "session",
    [LEASE_PRESENCE] = "presence",
};

const char *lease_kind_name(enum lease_kind kind)
{
    return kind_names[kind];
}

bool lease_kind_read(struct value name, enum lease_kind *out)
{
    for (size_t i = 0; i < COUNT_OF(kind_names); i++) {
        if (value_is_text(name, kind_names[i])) {
            *out = (enum lease_kind)i;
            return true;
        }
    }
    return false;
}

/* As those who have the files without a server call them. */
static const char *folder_of(enum lease_kind kind)
{
    switch (kind) {
    case LEASE_SENDER:
        return claim_folder(CLAIM_SENDER);
    case LEASE_TASK:
        return claim_folder(CLAIM_TASK);
    case LEASE_SESSION:
        return "sessions";
    case LEASE_PRESENCE:
        return "run";
    }
    UNREACHABLE("all kinds are above");
}

void client_leases_init(struct client_leases *leases, const char *folder)
{
    leases->folder = folder;
    list_init(&leases->all);
}

void client_leases_release(struct client_leases *leases)
{
    CHECK(list_is_empty(&leases->all));
}

void lease_holder_init(struct lease_holder *holder)
{
    list_init(&holder->leases);
    holder->count = 0;
}

static void give(struct lease *lease, struct lease_holder *holder)
{
    lease->holder = holder;
    list_push_back(&holder->leases, &lease->in_holder);
    holder->count++;
}

static void take_away(struct lease *lease)
{
    list_remove(&lease->in_holder);
    lease->holder->count--;
}

static void lease_free(struct lease *lease)
{
    take_away(lease);
    list_remove(&lease->in_all);
    locked_file_close(&lease->file);
    value_unref(lease->name);
    value_unref(lease->instance);
    value_unref(lease->principal);
    mem_free(lease, sizeof *lease);
}

static struct lease *find(const struct client_leases *leases,
                          enum lease_kind kind,
                          struct value name)
{
    LIST_FOREACH (&leases->all, node) {
        struct lease *lease = LEASE_OF(node);
        if (lease->kind == kind && key_equal(lease->name, name)) {
            return lease;
        }
    }
    return NULL;
}

static bool is_same_name(struct value a, struct value b)
{
    return value_is_string(a) && value_is_string(b)
               ? key_equal(a, b)
               : value_is_absent(a) && value_is_absent(b);
}

/* Whether the file is held by this process, for the same runtime: by the leases
 * of another space. */
static bool is_same_runtime(struct value other,
                            const struct lease_wanted *wanted)
{
    const struct value pid = object_field(other, "pid");
    return value_kind(pid) == VALUE_INT && value_integer(pid) == getpid() &&
           is_same_name(object_field(other, "instance"), wanted->instance) &&
           is_same_name(object_field(other, "user"), wanted->principal);
}

/* client-leases-3. A new descriptor has the lowest free number, so a high one
 * says that many are in use. */
static enum err check_descriptor(struct locked_file *file,
                                 struct err_detail *detail)
{
    const long most = sysconf(_SC_OPEN_MAX);
    if (most < 0 || file->fd < most / 4 * 3) {
        return ERR_OK;
    }
    locked_file_close(file);
    return err_set(detail,
                   ERR_OVERLOADED,
                   "three quarters of the %ld files that this process may have "
                   "open are in use: raise the limit, or retry later",
                   most);
}

static enum err open_file(const struct client_leases *leases,
                          const struct lease_wanted *wanted,
                          struct locked_file *file,
                          struct value *other,
                          struct err_detail *detail)
{
    struct value about = value_ref(wanted->about);
    object_put_adopt(&about, "instance", value_ref(wanted->instance));
    const enum err err = locked_file_open(file,
                                          leases->folder,
                                          folder_of(wanted->kind),
                                          wanted->name,
                                          about,
                                          other,
                                          detail);
    value_unref(about);
    return err == ERR_OK ? check_descriptor(file, detail) : err;
}

enum err client_leases_take(struct client_leases *leases,
                            struct lease_holder *holder,
                            const struct lease_wanted *wanted,
                            struct value *other,
                            struct err_detail *detail)
{
    struct locked_file file;
    struct value seen = VALUE_NONE;
    if (holder->count >= LEASES_MAX) {
        return err_set(detail,
                       ERR_OVERLOADED,
                       "a connection may hold at most %d claims: give some "
                       "back first",
                       LEASES_MAX);
    }
    enum err err = open_file(leases, wanted, &file, &seen, detail);
    if (err == ERR_OK) {
        struct lease *lease = mem_alloc_zero(sizeof *lease);
        list_node_init(&lease->in_all);
        list_node_init(&lease->in_holder);
        lease->kind = wanted->kind;
        lease->name = value_ref(wanted->name);
        lease->instance = value_ref(wanted->instance);
        lease->principal = value_ref(wanted->principal);
        lease->file = file;
        list_push_back(&leases->all, &lease->in_all);
        give(lease, holder);
        return ERR_OK;
    }
    struct lease *held =
        err == ERR_BUSY ? find(leases, wanted->kind, wanted->name) : NULL;
    if (held != NULL && key_equal(held->instance, wanted->instance) &&
        is_same_name(held->principal, wanted->principal)) {
        take_away(held); /* client-leases-1 */
        give(held, holder);
        err = ERR_OK;
    } else if (err == ERR_BUSY && held == NULL &&
               is_same_runtime(seen, wanted)) {
        err = ERR_OK;
    }
    if (err == ERR_BUSY && other != NULL) {
        *other = seen;
    } else {
        value_unref(seen);
    }
    return err;
}

void client_leases_give_back(struct client_leases *leases,
                             struct lease_holder *holder,
                             enum lease_kind kind,
                             struct value name)
{
    struct lease *lease = find(leases, kind, name);
    if (lease != NULL && lease->holder == holder) {
        lease_free(lease);
    }
}

bool client_leases_is_held(const struct client_leases *leases,
                           enum lease_kind kind,
                           struct value name)
{
    return locked_file_is_held(leases->folder, folder_of(kind), name, true);
}

void client_leases_end(struct client_leases *leases,
                       struct lease_holder *holder)
{
    (void)leases;
    struct list_node *node;
    while ((node = list_first(&holder->leases)) != NULL) {
        lease_free(LEASE_HELD(node));
    }
}
