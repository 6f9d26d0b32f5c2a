/* Runtimes and engines as objects of Lua: t:runtime, t:engine, t:cluster, and
 * the methods of rt. */

#ifndef LUATEST_RUNTIMES_H
#define LUATEST_RUNTIMES_H

#include "luatest/test_runtime.h"

/* The options are at 2, or nothing. */
int runtimes_new(lua_State *L, struct test_case *test_case);
int runtimes_engine(lua_State *L, struct test_case *test_case);
int runtimes_cluster(lua_State *L, struct test_case *test_case); /* n [,
                                                                    opts] */

#endif
