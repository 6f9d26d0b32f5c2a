/* Schemas of documents: what may be written where.
 *
 * A place can have a schema (value/schema.h). What is written through cells
 * has to leave something there that fits it, or is not written:
 *
 *   struct schemas_option option = {.place = place, .schema = schema};
 *   schemas_set(runtime, &option);
 *   cell_put_adopt(&access, place, value, &detail)      SCHEMA
 *
 *   J1  A write is judged before it is one, by what would be at the place after
 *       it: whatever kind of write it is, and whether it goes to the place,
 *       above it or below it. One that does not fit changes nothing, and the
 *       sentence has the pointer of the fault, from the payload on.
 *   J2  Only what the write changes is looked at. A part that was wrong before
 *       stays as it is, and can be made right; but a container that lacks two
 *       things is made right by one write, not by two.
 *   J3  Taking away all of what is at the place is always allowed: a schema
 *       says what is there if there is something.
 *   J4  A put to the very place is filled with defaults first, if the schema
 *       was set so. Nothing else is.
 *   J5  It is this runtime that judges, and only what goes through it. What
 *       comes from the store is taken as it is, also where two writes that fit
 *       make something together that does not: who reads can ask
 *       (schema_check).
 *
 * A runtime without schemas pays a look at one pointer a write. Payloads of
 * events: events_set_schema (sched/events.h). */

#ifndef RUNTIME_SCHEMAS_H
#define RUNTIME_SCHEMAS_H

#include "replica/transaction.h"
#include "value/schema.h"

struct runtime;

struct schemas_option {
    struct place *place;   /* of the document itself: no link is followed */
    struct schema *schema; /* NULL: none any more */
    bool fills;            /* J4 */
};

/* Sets the schema of a place, in the place of one that was there; from now on.
 * What is there already is not looked at. Takes references of its own. */
void schemas_set(struct runtime *runtime, const struct schemas_option *option);

/* The schema of a place, borrowed, or NULL. */
struct schema *schemas_at(const struct runtime *runtime,
                          const struct place *place);

/* -- For cells ----------------------------------------------------------- */

/* Judges a write to a place behind all links (J1). *value, which is given and
 * taken back, may be replaced by one with defaults (J4). OK also if the write
 * will fail for another reason. */
MUST_CHECK enum err schemas_judge(struct runtime *runtime,
                                  struct transaction *transaction,
                                  struct place *place,
                                  enum write_kind kind,
                                  struct value *value,
                                  struct err_detail *detail);

void schemas_free(struct runtime *runtime);

#endif
