/* The links of one document that a selector follows.
 *
 * A selector names a place, by a path, and a schema for what is there:
 *
 *   true      every link below the place, and {} likewise
 *   false     none: the document is all that is asked for
 *   {...}     the links that the schema names: under "properties" and
 *             "additionalProperties" in an object, under "items" in an array,
 *             each with the schema there. Other keywords do not matter.
 *
 * Links on the path are followed, too, and the rest of the path goes on behind
 * them.
 *
 *   reach-links-1  A link into another space is not followed, nor one that
 *                  names no usable document or place. A link on the path whose
 *                  own path and the rest of the path have more than
 *                  REACH_PATH_SEGMENTS together is not followed either: in a
 *                  cycle of links the path could grow with each round.
 *   reach-links-2  A link beside the value of the document, in its metadata,
 *                  leads to its document and no further, whatever the schema
 *                  says. With `false` there are none.
 *   reach-links-3  Nothing is read, and the stack does not grow with the
 *                  document. */

#ifndef HOST_REACH_LINKS_H
#define HOST_REACH_LINKS_H

#include "proto/target.h"
#include "value/path.h"
#include "value/value.h"

enum {
    REACH_PATH_SEGMENTS = 64,
};

/* A place in a document, and what to follow there. Borrowed for the call. */
struct reach_place {
    struct target target;
    struct path *path;   /* in the document, with "value" */
    struct value schema; /* true, false or an object */
};

typedef void reach_link_fn(void *ctx, const struct reach_place *to);

struct reach_links {
    struct path_table *paths;
    struct path *payload; /* ["value"] */
    struct value space;   /* the name of this space, or absent: a link that
                             names a space is not followed */
    reach_link_fn *found;
    void *ctx;
};

/* Reports each place that `from` leads to; some may be reported twice.
 * `document` is an object, or absent. */
void reach_links_find(const struct reach_links *links,
                      const struct reach_place *from,
                      struct value document);

/* The schema in the form above: {} is true. Borrowed. */
struct value reach_schema(struct value schema);

#endif
