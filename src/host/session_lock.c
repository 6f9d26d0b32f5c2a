/* The locked file of a session. */

#include "host/session_lock.h"

#include <string.h>

#include <stdio.h>

#include "base/mem.h"
#include "base/text.h"
#include "host/locked_file.h"
#include "value/object.h"

enum {
    NAME_SHOWN = 80, /* bytes of a session's name, in a sentence */
};

struct session_lock {
    struct locked_file file;
};

/* The same key as the store's for sessions (store/session_rows.c). */
enum err session_lock_name(struct identity identity,
                           struct value *out,
                           struct err_detail *detail)
{
    if (value_is_absent(identity.principal)) {
        *out = value_ref(identity.session);
        return ERR_OK;
    }
    return scope_key_new(SCOPE_SESSION, identity, out, detail);
}

enum err session_lock_refuse(struct identity identity,
                             struct value holder,
                             struct err_detail *detail)
{
    const struct text name = value_text(&identity.session);
    const struct value pid = object_field(holder, "pid");
    char process[40] = "another process";
    if (!value_is_absent(object_field(holder, "instance"))) {
        (void)snprintf(process, sizeof process, "another client of the server");
    } else if (value_kind(pid) == VALUE_INT) {
        (void)snprintf(process,
                       sizeof process,
                       "process %lld",
                       (long long)value_integer(pid));
    }
    return err_set(detail,
                   ERR_SESSION_IN_USE,
                   "session '%.*s' is in use by %s: end that process, or open "
                   "this runtime with another session name or without one",
                   text_shown(name.at, name.length, NAME_SHOWN),
                   name.at,
                   process);
}

enum err session_lock_new(const char *folder,
                          struct identity identity,
                          struct session_lock **out,
                          struct err_detail *detail)
{
    struct value name = VALUE_NONE;
    struct value holder = VALUE_NONE;
    struct locked_file file;
    *out = NULL;
    enum err err = session_lock_name(identity, &name, detail);
    if (err != ERR_OK) {
        return err;
    }
    struct value about = value_empty_object();
    object_put_adopt(&about, "session", value_ref(identity.session));
    if (!value_is_absent(identity.principal)) {
        object_put_adopt(&about, "user", value_ref(identity.principal));
    }
    err = locked_file_open(&file,
                           folder,
                           "sessions",
                           name,
                           about,
                           &holder,
                           detail);
    if (err == ERR_OK) {
        *out = mem_alloc(sizeof **out);
        (*out)->file = file;
    } else if (err == ERR_BUSY) {
        err = session_lock_refuse(identity, holder, detail);
    }
    value_unref(holder);
    value_unref(about);
    value_unref(name);
    return err;
}

void session_lock_free(struct session_lock *session_lock)
{
    if (session_lock != NULL) {
        locked_file_close(&session_lock->file);
        mem_free(session_lock, sizeof *session_lock);
    }
}

enum err session_names_check(const char *user,
                             const char *session,
                             struct err_detail *detail)
{
    if (user != NULL && user[0] == '\0') {
        return err_set(detail, ERR_ARGUMENT, "a user must have a name");
    }
    if (session != NULL &&
        (session[0] == '\0' ||
         strncmp(session, "session:", strlen("session:")) == 0)) {
        return err_set(detail,
                       ERR_ARGUMENT,
                       "a session must have a name that does not begin with "
                       "'session:'");
    }
    return ERR_OK;
}
