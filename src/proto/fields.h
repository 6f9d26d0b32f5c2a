/* Reading and writing single fields of external objects.
 *
 * Each function reads one field of an object and names it in its error message:
 * reads.pending[2].localSeq[0]. A field that is missing, of another type or out
 * of range is PROTOCOL, or a limit. Nothing is trusted, and nothing here knows
 * the meaning of the fields. */

#ifndef PROTO_FIELDS_H
#define PROTO_FIELDS_H

#include "proto/commit.h"

struct fields {
    struct path_table *paths;
    struct err_detail *detail;

    /* The object being read, for messages. Put together only if there is one:
     * most fields are as they must be. */
    const char *prefix; /* "reads.", or NULL: none */
    const char *list;   /* "pending", or NULL: it is no element */
    uint32_t index;
};

enum {
    FIELDS_WHERE_SIZE = 96
};

/* Sets the object being read: "reads.", or "reads." "pending" [2]. The texts
 * are literals. */
static inline void fields_enter(struct fields *fields, const char *prefix)
{
    fields->prefix = prefix;
    fields->list = NULL;
}

static inline void fields_enter_element(struct fields *fields,
                                        const char *prefix,
                                        const char *list,
                                        uint32_t index)
{
    fields->prefix = prefix;
    fields->list = list;
    fields->index = index;
}

/* The object being read, with a dot behind it: "reads.pending[2].", or "".
 * Returns `to`. */
const char *fields_where(const struct fields *fields,
                         char to[FIELDS_WHERE_SIZE]);

/* PROTOCOL, with the field's full name and what it must be. */
enum err fields_bad(const struct fields *fields,
                    const char *field,
                    const char *what);

/* A whole number from 0 on. */
MUST_CHECK enum err field_number(const struct fields *fields,
                                 struct value object,
                                 const char *field,
                                 uint64_t *out);

/* True or false; absent is false. */
MUST_CHECK enum err field_flag(const struct fields *fields,
                               struct value object,
                               const char *field,
                               bool *out);

/* A string of at most LIMIT_ID_BYTES, new; absent gives `fallback`, unless
 * that is NULL. */
MUST_CHECK enum err field_name(const struct fields *fields,
                               struct value object,
                               const char *field,
                               const char *fallback,
                               struct value *out);

/* The fields "id" and "scope". */
MUST_CHECK enum err field_target(const struct fields *fields,
                                 struct value object,
                                 struct target *out);

/* The field "path", an array of keys; new. */
MUST_CHECK enum err field_path(const struct fields *fields,
                               struct value object,
                               struct path **out);

/* An array of at most `most` elements, borrowed; absent is empty. `too_many`
 * is the error for more. */
MUST_CHECK enum err field_list(const struct fields *fields,
                               struct value object,
                               const char *field,
                               uint32_t most,
                               enum err too_many,
                               struct value *out);

/* -- Writing ------------------------------------------------------------- */

/* `number` is at most INT64_MAX. */
void put_number(struct value *object, const char *name, uint64_t number);
void put_target(struct value *object, const struct target *target);
/* The field "path". */
void put_path(struct value *object, const struct path *path);

#endif
