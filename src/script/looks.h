/* What a test can ask of a runtime about itself: tables, and sentences. */

#ifndef SCRIPT_LOOKS_H
#define SCRIPT_LOOKS_H

#include "script/rig.h"

/* Pushes a value that it adopts: 1. May raise. */
int looks_push_adopt(lua_State *L, struct rig *rig, struct value value);

/* Methods of rt; the runtime is at 1. */
int looks_errors(lua_State *L, struct rig *rig);
int looks_calls(lua_State *L, struct rig *rig);  /* [name] */
int looks_events(lua_State *L, struct rig *rig); /* waiting.c */
int looks_timers(lua_State *L, struct rig *rig); /* likewise */
int looks_violations(lua_State *L, struct rig *rig);
int looks_stats(lua_State *L, struct rig *rig);
int looks_trace(lua_State *L, struct rig *rig); /* [kind] */
int looks_graph(lua_State *L, struct rig *rig);
int looks_why(lua_State *L, struct rig *rig);     /* node */
int looks_why_not(lua_State *L, struct rig *rig); /* node */

#endif
