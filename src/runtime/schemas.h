/* Schemas of documents: what may be written where.
 *
 * A place can have a schema (value/schema.h). A write through a cell must leave
 * a valid value there, or it is refused:
 *
 *   struct schemas_option option = {.place = place, .schema = schema};
 *   schemas_set(runtime, &option);
 *   cell_put_adopt(&access, place, value, &detail)      SCHEMA
 *
 *   schemas-1  A write is validated before it takes effect, by the value that
 *              the place would have after it. This holds for every kind of
 *              write, at the place, above it or below it. An invalid write
 *              changes nothing, and the error message has the pointer to the
 *              fault, relative to the payload.
 *   schemas-2  Only what the write changes is validated. A part that was
 *              invalid before stays as it is, and can be corrected; but a
 *              container that lacks two fields is corrected by one write, not
 *              by two.
 *   schemas-3  Removing the whole value at the place is always allowed: a
 *              schema describes the value if there is one.
 *   schemas-4  A put to exactly the place is filled with defaults first, if the
 *              schema was set so. No other write is.
 *   schemas-5  Each runtime validates its own writes only. Data from the store
 *              is accepted as it is, even if two valid writes are invalid
 *              together. A reader can check it with schema_check.
 *
 * Without schemas, a write costs the test of one pointer. For payloads of
 * events see events_set_schema (sched/events.h). */

#ifndef RUNTIME_SCHEMAS_H
#define RUNTIME_SCHEMAS_H

#include "replica/transaction.h"
#include "value/schema.h"

struct runtime;

struct schemas_option {
    struct place *place;   /* of the document itself: no link is followed */
    struct schema *schema; /* NULL: removes it */
    bool fills;            /* schemas-4 */
};

/* Sets the schema of a place from now on, replacing any former one. The current
 * value is not validated. Takes its own references. */
void schemas_set(struct runtime *runtime, const struct schemas_option *option);

/* The schema of a place, borrowed, or NULL. */
struct schema *schemas_at(const struct runtime *runtime,
                          const struct place *place);

/* -- For cells ----------------------------------------------------------- */

/* Validates a write to a place behind all links (schemas-1). May replace
 * *value, which the caller owns, by one with defaults (schemas-4). Returns OK
 * also if the write will fail for another reason. */
MUST_CHECK enum err schemas_judge(struct runtime *runtime,
                                  struct transaction *transaction,
                                  struct place *place,
                                  enum write_kind kind,
                                  struct value *value,
                                  struct err_detail *detail);

void schemas_free(struct runtime *runtime);

#endif
