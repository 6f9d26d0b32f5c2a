/* Faults that a test asks for: rt:reject_next{...}.
 *
 *   rejections-1  The next commits of the runtime that match are rejected, and
 *       the store does not see them. A commit of observations alone matches
 *       only through `when`.
 *   rejections-2  Rejections are tried in the order in which they were made;
 *       the first that matches answers. */

#ifndef LUATEST_REJECTIONS_H
#define LUATEST_REJECTIONS_H

#include "luatest/test_runtime.h"

void rejections_begin(struct test_runtime *rt);
void rejections_end(struct test_runtime *rt);

/* Whether this is what an error of a rejected commit says. */
bool rejections_has_said(const char *message);

/* rt:reject_next{ kind=, times=, when= } */
int rejections_add(lua_State *L, struct test_runtime *rt);

#endif
