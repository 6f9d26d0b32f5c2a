/* Faults that a test asks for: rt:reject_next{...}.
 *
 *   J1  The next commits of the runtime that match are answered so, and the
 *       store does not see them. A commit of observations alone matches only
 *       through `when`.
 *   J2  Rejections are asked in the order in which they were made; the first
 *       that matches answers. */

#ifndef SCRIPT_REJECTIONS_H
#define SCRIPT_REJECTIONS_H

#include "script/rig.h"

void rejections_begin(struct rig *rig);
void rejections_end(struct rig *rig);

/* Whether this is what an error of a rejected commit says. */
bool rejections_has_said(const char *message);

/* rt:reject_next{ kind=, times=, when= } */
int rejections_add(lua_State *L, struct rig *rig);

#endif
