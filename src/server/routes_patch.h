/* Patches of HTTP as patches of a document (value/patch.h).
 *
 *   route-patch-1  JSON Patch is applied strictly by RFC 6902, on the state
 *                  that the commit names as read; so the commit lands only on
 *                  that state.
 *   route-patch-2  Merge Patch (RFC 7396) likewise.
 *   route-patch-3  Heddle's own operations need no state: the store applies
 *                  them to whatever is there. */

#ifndef SERVER_ROUTES_PATCH_H
#define SERVER_ROUTES_PATCH_H

#include "value/patch.h"

enum route_patch_kind {
    ROUTE_PATCH_OWN,
    ROUTE_PATCH_JSON,
    ROUTE_PATCH_MERGE,
};

/* The patch that a body means for a document; `base` is what is there, and
 * absent for OWN. Paths are relative to `front`. CONFLICT: a test of a JSON
 * Patch has failed. The patch is empty if nothing is to change. */
MUST_CHECK enum err route_patch_read(enum route_patch_kind kind,
                                     struct value body,
                                     struct value base,
                                     struct path *front,
                                     struct path_table *paths,
                                     struct patch *out,
                                     struct err_detail *detail);

#endif
