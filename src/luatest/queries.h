/* What a test can ask of a runtime about itself: tables, and sentences. */

#ifndef LUATEST_QUERIES_H
#define LUATEST_QUERIES_H

#include "luatest/test_runtime.h"

/* Pushes a value that it adopts: 1. May raise. */
int queries_push_adopt(lua_State *L,
                       struct test_runtime *rt,
                       struct value value);

/* Methods of rt; the runtime is at 1. */
int queries_errors(lua_State *L, struct test_runtime *rt);
int queries_calls(lua_State *L, struct test_runtime *rt); /* [name] */
int queries_events(lua_State *L,
                   struct test_runtime *rt); /* queries_waiting.c */
int queries_timers(lua_State *L, struct test_runtime *rt); /* likewise */
int queries_violations(lua_State *L, struct test_runtime *rt);
int queries_stats(lua_State *L, struct test_runtime *rt);
int queries_trace(lua_State *L, struct test_runtime *rt); /* [kind] */
int queries_graph(lua_State *L, struct test_runtime *rt);
int queries_why(lua_State *L, struct test_runtime *rt);     /* node */
int queries_why_not(lua_State *L, struct test_runtime *rt); /* node */

#endif
