/* Views: containers of documents as Lua code reads them, without a copy.
 *
 * A view is a place. What code touches of it is asked of a source, which knows
 * what a run has written so far, follows links, and notes what was read: a leaf
 * as a deep read of its path, `#`, pairs and ipairs as a shape read of the
 * container, and of a container that is merely passed its kind alone. So the
 * reads of a run are those that mattered.
 *
 *   view-1  A view is used only while its run lives; afterwards every use is an
 *           error. view_run_end releases what views hold, whoever still has
 *           them.
 *   view-2  Views are read-only. An assignment is an error that names the
 *           method.
 *   view-3  Positions are 1-based in Lua, 0-based in paths. As in the table
 *           that cell:value() would give, an object has no positions and # of
 *           it is 0, and an array has no other keys. A view keeps the kind of
 *           container that it was found with.
 *   view-4  Each use asks the source again: a view shows what the run has
 *           written meanwhile. A loop goes over the keys, sorted by their
 *           bytes, or the length, of its beginning.
 *   view-5  Views are equal if they are of the same place.
 *
 * Not here: what a read means to a transaction or a node. */

#ifndef SCRIPT_VIEW_H
#define SCRIPT_VIEW_H

#include "base/err.h"
#include "base/list.h"
#include "script/object.h"
#include "value/path.h"

/* Where a container is. The document is whatever the source takes it for, and
 * lives as long as the run. */
struct view_place {
    void *document;
    struct path *path;
};

/* What is at a place. A container comes with the place where it is, after
 * links were followed: its path is a new reference. */
struct view_found {
    struct value value; /* a new reference; absent: nothing is there */
    struct view_place place;
};

extern const struct script_class view_class;

/* How a view reads. None of these may raise an error of Lua; an error they
 * return is raised with its sentence. */
struct view_source {
    /* What is one step below a container. Notes a deep read of a leaf or of
     * nothing, and of a container its kind. */
    enum err (*child)(struct view_source *source,
                      const struct view_place *place,
                      const struct path_segment *step,
                      struct view_found *out,
                      struct err_detail *detail);

    /* The container itself, a new reference, for its keys or its length only:
     * notes a shape read. */
    enum err (*shape)(struct view_source *source,
                      const struct view_place *place,
                      struct value *out,
                      struct err_detail *detail);

    /* All of it, a new reference, links left as links: notes a deep read. */
    enum err (*deep)(struct view_source *source,
                     const struct view_place *place,
                     struct value *out,
                     struct err_detail *detail);
};

/* A run, and the views that were made in it. It stays where it is. */
struct view_run {
    struct view_source *source;
    struct list views;
    /* What was found and is not in Lua's hands yet: kept here, because making
     * a view may raise. */
    struct view_found held;
};

void view_run_begin(struct view_run *run, struct view_source *source);
void view_run_end(struct view_run *run);

/* Raises with the sentence, unless it is OK. STALE cannot be caught: the run is
 * to be made again, and its code does not go on. */
void view_raise(lua_State *L, enum err err, const struct err_detail *detail);

/* For cell:get(): a place for what was read, all zero, to be filled without
 * raising; view_push_held then pushes it, a container as a view and anything
 * else as itself, and may raise. */
struct view_found *view_hold(struct view_run *run);
void view_push_held(lua_State *L, struct view_run *run);

/* Whether there is a view at `index`. */
bool view_is(lua_State *L, int index);

#endif
