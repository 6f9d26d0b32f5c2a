/* Causes, their commits, and who is behind those. */

#include "inspect/offline_why.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "inspect/author.h"
#include "runtime/piece.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/object.h"
#include "value/path.h"

/* -- Small things -------------------------------------------------------- */

struct value offline_address(const struct run_place *place)
{
    struct buf text = {0};
    const struct text id = value_text(&place->id);
    if (!value_is_absent(place->space)) {
        const struct text space = value_text(&place->space);
        buf_append(&text, space.at, space.length);
        buf_append_char(&text, ':');
    }
    buf_append(&text, id.at, id.length);
    if (!value_is_text(place->scope_key, "space")) {
        const struct text scope = value_text(&place->scope_key);
        buf_append_char(&text, '@');
        buf_append(&text, scope.at, scope.length);
    }
    buf_append_char(&text, '#');
    path_write(&text, place->path);
    return value_string_adopt(&text);
}

static void put_commit(struct value *object, const struct commit_info *commit)
{
    object_put_number(object, "seq", commit->seq);
    object_put_adopt(object, "session", value_ref(commit->session));
    if (commit->at_ms > 0) {
        object_put_number(object, "at", commit->at_ms);
    }
}

static struct value patch_paths(struct value patch)
{
    struct value paths = value_empty_array();
    for (uint32_t i = 0; value_is_array(patch) && i < array_count(patch); i++) {
        const struct value op = array_at(patch, i);
        const struct value path = object_field(op, "path");
        if (value_is_string(path)) {
            paths = array_push_adopt(paths, value_ref(path));
        }
    }
    return paths;
}

struct value offline_commit(const struct offline_graph *graph,
                            const struct commit_info *commit)
{
    struct value object = value_empty_object();
    struct value writes = value_empty_array();
    const struct author author = author_of(graph, commit);
    put_commit(&object, commit);
    object_put_adopt(&object, "by", author_describe(graph, &author));
    VEC_FOREACH (&commit->writes, write) {
        struct value one = value_empty_object();
        object_put_adopt(&one, "document", value_ref(write->id));
        if (!value_is_text(write->scope_key, "space")) {
            object_put_adopt(&one, "scope", value_ref(write->scope_key));
        }
        object_put_text(&one, "op", commit_op_name(write->op));
        if (write->op == COMMIT_PATCH) {
            object_put_adopt(&one, "paths", patch_paths(write->data));
        }
        writes = array_push_adopt(writes, one);
    }
    object_put_adopt(&object, "writes", writes);
    return object;
}

/* -- Causes -------------------------------------------------------------- */

/* A run that is to be explained: the commits in (before, to], apart from its
 * own. */
struct span {
    const struct offline_node *node;
    uint64_t before;
    uint64_t to;
    uint64_t own; /* or 0 */
    unsigned depth;
};

struct tracer {
    struct offline_graph *graph;
    struct err_detail *detail;
    VEC(struct span) told; /* offline-why-3 */
    /* The last commit that was looked at, whatever became of that: causes of
     * one run mostly come with one commit, which may be long. */
    struct commit_info commit;
    enum err found;
};

static enum err explain_run(struct tracer *tracer,
                            const struct span *span,
                            struct value *object);

struct changes {
    struct value list;
    uint64_t count;
    const struct path *path; /* of the read */
};

static void note_change(void *ctx, const struct difference *difference)
{
    struct changes *changes = ctx;
    if (++changes->count > WHY_CHANGES) {
        return;
    }
    struct buf text = {0};
    path_write(&text, changes->path);
    path_write_segments(&text, difference->path, difference->length);
    struct value one = value_empty_object();
    object_put_adopt(&one, "path", value_string_adopt(&text));
    if (!value_is_absent(difference->before)) {
        object_put_adopt(&one, "old", value_ref(difference->before));
    }
    if (!value_is_absent(difference->after)) {
        object_put_adopt(&one, "new", value_ref(difference->after));
    }
    changes->list = array_push_adopt(changes->list, one);
}

/* Where the two are different. What has come or gone, and what is read only as
 * a shape, is at the path of the read itself. */
static void put_changes(struct value *cause,
                        const struct run_place *place,
                        struct value old,
                        struct value now)
{
    const struct path *path = place->path;
    struct changes changes = {.list = value_empty_array(), .path = path};
    if (value_is_absent(old) || value_is_absent(now) ||
        place->kind == PLACE_SHAPE) {
        const struct difference whole = {.before = old, .after = now};
        note_change(&changes, &whole);
    } else {
        difference_walk(old, now, DIFFERENCE_BY_STEPS, note_change, &changes);
    }
    object_put_adopt(cause, "changes", changes.list);
    object_put_number(cause,
                      "more",
                      changes.count > WHY_CHANGES ? changes.count - WHY_CHANGES
                                                  : 0);
}

static enum err find_changes(struct tracer *tracer,
                             const struct span *span,
                             const struct run_place *place,
                             bool is_deep,
                             seq_list *out)
{
    struct engine *engine = &tracer->graph->engine;
    struct document *document = NULL;
    const enum err err =
        document_find(engine,
                      engine_branch(engine, tracer->graph->branch),
                      place->scope_key,
                      place->id,
                      &document,
                      tracer->detail);
    const struct conflict_query query = {
        .document = document,
        .path = place->path,
        .kind = is_deep ? READ_DEEP : READ_SHAPE,
        .after_seq = span->before,
    };
    return err == ERR_OK
               ? conflict_changes(engine, &query, span->to, out, tracer->detail)
               : err;
}

/* The newest revision below `seq` of a document, or 0. */
static enum err find_revision_before(struct tracer *tracer,
                                     const struct commit_write *write,
                                     uint64_t seq,
                                     uint64_t *out)
{
    struct path *root = path_new(&tracer->graph->engine.paths, NULL, 0);
    const struct run_place place = {
        .scope_key = write->scope_key,
        .id = write->id,
        .path = root,
    };
    const struct span span = {.to = seq - 1};
    seq_list seqs = {0};
    const enum err err = find_changes(tracer, &span, &place, true, &seqs);
    *out = seqs.count > 0 ? seqs.at[0] : 0;
    vec_release(&seqs);
    path_unref(root);
    return err;
}

/* Of a node's commit: the run behind it. */
static enum err put_run(struct tracer *tracer,
                        const struct author *author,
                        const struct commit_info *commit,
                        unsigned depth,
                        struct value *by)
{
    struct span span = {
        .node = author->node,
        .before = author->earlier ? 0 : author->node->run->before,
        .to = commit->seq,
        .own = commit->seq,
        .depth = depth + 1,
    };
    enum err err = ERR_OK;
    VEC_FOREACH (&commit->writes, write) {
        uint64_t before = 0;
        if (err == ERR_OK && author->earlier) {
            /* offline-why-2: since the commit of it before that. */
            err = find_revision_before(tracer, write, commit->seq, &before);
            span.before = before > span.before ? before : span.before;
        }
    }
    struct value object = value_empty_object();
    if (err == ERR_OK) {
        err = explain_run(tracer, &span, &object);
    }
    object_put_adopt(by, "run", object);
    return err;
}

static void look_at_commit(struct tracer *tracer, uint64_t seq)
{
    if (tracer->commit.seq == seq) {
        return;
    }
    struct err_detail ignored;
    commit_info_release(&tracer->commit);
    tracer->found =
        commit_at(&tracer->graph->engine, seq, &tracer->commit, &ignored);
    tracer->commit.seq = seq;
}

static enum err put_author(struct tracer *tracer,
                           uint64_t seq,
                           unsigned depth,
                           struct value *cause)
{
    struct value by;
    enum err err = ERR_OK;
    look_at_commit(tracer, seq);
    if (tracer->found == ERR_OK) {
        const struct author author = author_of(tracer->graph, &tracer->commit);
        put_commit(cause, &tracer->commit);
        by = author_describe(tracer->graph, &author);
        if (author.kind == AUTHOR_NODE && depth < WHY_DEPTH) {
            /* Other commits are looked at meanwhile. */
            struct commit_info commit = tracer->commit;
            tracer->commit = (struct commit_info){0};
            err = put_run(tracer, &author, &commit, depth, &by);
            commit_info_release(&commit);
        }
    } else {
        by = account_author(AUTHOR_FOLDED);
        object_put_number(cause, "seq", seq);
    }
    object_put_adopt(cause, "by", by);
    return err;
}

/* What of its commits counts: not its own. */
static uint64_t newest_of(const seq_list *seqs, uint64_t own, uint64_t *count)
{
    uint64_t newest = 0;
    *count = 0;
    for (size_t i = 0; i < seqs->count; i++) {
        if (seqs->at[i] != own) {
            newest = newest > 0 ? newest : seqs->at[i];
            (*count)++;
        }
    }
    return newest;
}

/* What was read, before and after something. */
struct sight {
    struct value old;
    struct value now;
};

static void sight_release(struct sight *sight)
{
    value_unref(sight->old);
    value_unref(sight->now);
    *sight = (struct sight){VALUE_NONE, VALUE_NONE};
}

static enum err see(struct tracer *tracer,
                    const struct run_place *place,
                    uint64_t before,
                    uint64_t after,
                    struct sight *out)
{
    struct offline_graph *graph = tracer->graph;
    *out = (struct sight){VALUE_NONE, VALUE_NONE};
    enum err err = run_value_at(&graph->engine,
                                graph->branch,
                                place,
                                before,
                                &out->old,
                                tracer->detail);
    if (err == ERR_OK) {
        err = run_value_at(&graph->engine,
                           graph->branch,
                           place,
                           after,
                           &out->now,
                           tracer->detail);
    }
    return err;
}

static bool is_seen(const struct run_place *place, const struct sight *sight)
{
    if (value_is_absent(sight->old) || value_is_absent(sight->now)) {
        return value_is_absent(sight->old) != value_is_absent(sight->now);
    }
    return place->kind == PLACE_DEEP
               ? !value_equal(sight->old, sight->now)
               : !value_shape_equal(sight->old, sight->now);
}

/* The newest commit of those that has changed the value, and from what to what;
 * 0 if none has. Usually they are of interest as a whole; where it is again
 * what it was, each of them may be. */
static enum err find_sight(struct tracer *tracer,
                           const struct span *span,
                           const struct run_place *place,
                           const seq_list *seqs,
                           uint64_t *seq,
                           struct sight *out)
{
    uint64_t count = 0;
    const uint64_t newest = newest_of(seqs, span->own, &count);
    *seq = 0;
    *out = (struct sight){VALUE_NONE, VALUE_NONE};
    if (newest == 0) {
        return ERR_OK;
    }
    enum err err = see(tracer, place, span->before, newest, out);
    if (err == ERR_OK && is_seen(place, out)) {
        *seq = newest;
        return ERR_OK;
    }
    for (size_t i = 0; err == ERR_OK && count > 1 && i < seqs->count; i++) {
        if (seqs->at[i] == span->own) {
            continue;
        }
        sight_release(out);
        err = see(tracer, place, seqs->at[i] - 1, seqs->at[i], out);
        if (err == ERR_OK && is_seen(place, out)) {
            *seq = seqs->at[i];
            return ERR_OK;
        }
    }
    return err;
}

/* Whether something directly below a container was a leaf and is a container,
 * or the other way round. A run that comes by looks into the one and reads the
 * other. */
static bool has_turned(struct value old, struct value now)
{
    if (value_is_array(old) && value_is_array(now)) {
        const uint32_t count = array_count(old) < array_count(now)
                                   ? array_count(old)
                                   : array_count(now);
        for (uint32_t i = 0; i < count; i++) {
            if (value_is_container(array_at(old, i)) !=
                value_is_container(array_at(now, i))) {
                return true;
            }
        }
    }
    if (value_is_object(old) && value_is_object(now)) {
        struct object_iter iter = object_iter(old);
        struct value key;
        struct value item;
        while (object_next(&iter, &key, &item)) {
            const struct value other = object_get(now, key);
            if (!value_is_absent(other) &&
                value_is_container(item) != value_is_container(other)) {
                return true;
            }
        }
    }
    return false;
}

/* The newest commit that has turned a leaf below a place whose shape was read
 * into a container, or back: the run before has read that leaf, and its reads
 * are not kept. */
static enum err find_turn(struct tracer *tracer,
                          const struct span *span,
                          const struct run_place *place,
                          seq_list *seqs,
                          uint64_t *seq,
                          struct sight *out)
{
    vec_clear(seqs);
    enum err err = find_changes(tracer, span, place, true, seqs);
    for (size_t i = seqs->count; err == ERR_OK && *seq == 0 && i > 0; i--) {
        const uint64_t at = seqs->at[i - 1];
        if (at == span->own) {
            continue;
        }
        sight_release(out);
        err = see(tracer, place, at - 1, at, out);
        if (err == ERR_OK && has_turned(out->old, out->now)) {
            *seq = at;
        }
    }
    return err;
}

/* One read: a cause is added if its value was changed (offline-why-1). */
static enum err look_at_read(struct tracer *tracer,
                             const struct span *span,
                             const struct run_place *place,
                             struct value *causes)
{
    seq_list seqs = {0};
    struct sight sight = {VALUE_NONE, VALUE_NONE};
    uint64_t seq = 0;
    uint64_t count = 0;
    bool is_deep = place->kind == PLACE_DEEP;
    enum err err = find_changes(tracer, span, place, is_deep, &seqs);
    if (err == ERR_OK) {
        err = find_sight(tracer, span, place, &seqs, &seq, &sight);
    }
    if (err == ERR_OK && seq == 0 && !is_deep) {
        err = find_turn(tracer, span, place, &seqs, &seq, &sight);
        is_deep = true; /* its values are what is of interest */
    }
    if (err == ERR_OK && seq > 0) {
        struct value cause = value_empty_object();
        (void)newest_of(&seqs, span->own, &count);
        object_put_adopt(&cause, "address", offline_address(place));
        object_put_text(&cause, "read", is_deep ? "deep" : "shape");
        object_put_number(&cause, "commits", count);
        put_changes(&cause, place, sight.old, sight.now);
        err = put_author(tracer, seq, span->depth, &cause);
        *causes = array_push_adopt(*causes, cause);
    }
    sight_release(&sight);
    vec_release(&seqs);
    return err;
}

/* -- A run --------------------------------------------------------------- */

static bool is_told(const struct tracer *tracer, const struct span *span)
{
    VEC_FOREACH (&tracer->told, told) {
        if (told->node == span->node && told->to == span->to) {
            return true;
        }
    }
    return false;
}

static enum err put_causes(struct tracer *tracer,
                           const struct span *span,
                           struct value *object)
{
    struct value causes = value_empty_array();
    struct value elsewhere = VALUE_NONE; /* a space that it has read, too */
    enum err err = ERR_OK;
    uint64_t left = 0;
    VEC_FOREACH (&span->node->run->places, place) {
        if (!place_is_read(place->kind)) {
            continue;
        }
        if (!value_is_absent(place->space)) {
            elsewhere = place->space;
            continue;
        }
        if (array_count(causes) >= WHY_CAUSES) {
            left++;
        } else if (err == ERR_OK) {
            err = look_at_read(tracer, span, place, &causes);
        }
    }
    if (left > 0) {
        object_put_number(object, "moreReads", left);
    }
    const bool is_again = array_count(causes) == 0;
    if (is_again && !value_is_absent(elsewhere)) {
        object_put_text(object, "reason", "elsewhere");
        object_put_adopt(object, "space", value_ref(elsewhere));
    } else {
        object_put_text(object, "reason", is_again ? "again" : "change");
    }
    object_put_adopt(object, "causes", causes);
    return err;
}

/* The commit that made the piece, as far as it is still there. */
static enum err put_start(struct tracer *tracer,
                          const struct offline_node *node,
                          struct value *object)
{
    struct engine *engine = &tracer->graph->engine;
    struct path *root = path_new(&engine->paths, NULL, 0);
    const struct run_place place = {
        .scope_key = value_text_new("space"),
        .id = piece_document_id(node->piece->name, VALUE_NONE),
        .path = root,
        .kind = PLACE_DEEP,
    };
    const struct span span = {.node = node, .to = engine->seq};
    seq_list seqs = {0};
    struct value by = account_author(AUTHOR_START);
    enum err err =
        find_changes(tracer, &span, &place, place.kind == PLACE_DEEP, &seqs);
    object_put_adopt(&by, "piece", value_ref(node->piece->name));
    if (seqs.count > 0) {
        object_put_number(&by, "seq", *vec_last(&seqs));
    }
    object_put_adopt(object, "by", by);
    vec_release(&seqs);
    path_unref(root);
    value_unref(place.id);
    value_unref(place.scope_key);
    return err;
}

static enum err explain_run(struct tracer *tracer,
                            const struct span *span,
                            struct value *object)
{
    if (is_told(tracer, span)) {
        object_put_adopt(object, "above", value_bool(true));
        return ERR_OK;
    }
    vec_push(&tracer->told, *span);
    object_put_number(object, "seq", span->to);
    if (span->before == 0) {
        object_put_text(object, "reason", "first");
        return put_start(tracer, span->node, object);
    }
    if (span->before < tracer->graph->engine.horizon) {
        object_put_text(object, "reason", "folded");
        return ERR_OK;
    }
    return put_causes(tracer, span, object);
}

static struct value describe_node(struct offline_graph *graph,
                                  const struct offline_node *node)
{
    const struct account_node about = author_node(node);
    const struct value task = offline_task(graph, node);
    struct value object = account_new(&about);
    if (!value_is_absent(task)) {
        object_put_adopt(&object, "task", task);
    }
    return object;
}

enum err offline_why(struct offline_graph *graph,
                     const struct offline_node *node,
                     bool to_the_origin,
                     struct value *out,
                     struct err_detail *detail)
{
    struct tracer tracer = {.graph = graph, .detail = detail};
    const struct run_action *run = node->run;
    struct value object = describe_node(graph, node);
    enum err err = ERR_OK;
    *out = VALUE_NONE;
    if (run == NULL || run->runs == 0) {
        object_put_text(&object, "reason", "never");
    } else {
        const struct span span = {
            .node = node,
            .before = run->before,
            .to = run->seq > run->landed ? run->seq : run->landed,
            .own = run->landed,
            .depth = to_the_origin ? 0 : WHY_DEPTH,
        };
        object_put_number(&object, "runs", run->runs);
        object_put_number(&object, "landed", run->landed);
        err = explain_run(&tracer, &span, &object);
    }
    vec_release(&tracer.told);
    commit_info_release(&tracer.commit);
    if (err != ERR_OK) {
        value_unref(object);
        return err;
    }
    account_end_why(&object);
    *out = object;
    return ERR_OK;
}

/* -- Why not ------------------------------------------------------------- */

/* The next output that a read of the place would see, from *at on; NULL at the
 * end. A node that writes several parts is told once. */
static const struct offline_node *next_writer(
    const struct offline_document *document,
    const struct run_place *place,
    size_t *at)
{
    for (; document != NULL && *at < document->outputs.count; (*at)++) {
        const struct offline_output *output = &document->outputs.at[*at];
        bool told = false;
        for (size_t i = 0; i < *at; i++) {
            const struct offline_output *before = &document->outputs.at[i];
            told = told || (before->node == output->node &&
                            offline_reads(place, before));
        }
        if (!told && offline_reads(place, output)) {
            (*at)++;
            return output->node;
        }
    }
    return NULL;
}

static enum resume_state state_of(const struct offline_node *node)
{
    return node->run != NULL ? node->run->state : RESUME_UNKNOWN;
}

struct upstream {
    const struct offline_graph *graph;
    VEC(const struct offline_node *) at; /* each once */
};

static void add_writers(struct upstream *upstream,
                        const struct offline_node *node)
{
    VEC_FOREACH (&node->run->places, place) {
        const struct offline_document *document =
            place_is_read(place->kind)
                ? offline_document(upstream->graph, place->scope_key, place->id)
                : NULL;
        size_t at = 0;
        const struct offline_node *writer = next_writer(document, place, &at);
        while (writer != NULL) {
            bool is_known = !offline_is_shared(node, writer);
            VEC_FOREACH (&upstream->at, known) {
                is_known = is_known || *known == writer;
            }
            if (!is_known) {
                vec_push(&upstream->at, writer);
            }
            writer = next_writer(document, place, &at);
        }
    }
}

/* A node that has to run and leads to what this one, which is clean, has read;
 * or NULL. */
static const struct offline_node *find_source(const struct offline_graph *graph,
                                              const struct offline_node *node)
{
    struct upstream upstream = {.graph = graph};
    const struct offline_node *found = NULL;
    add_writers(&upstream, node);
    for (size_t i = 0; i < upstream.at.count && found == NULL; i++) {
        const struct offline_node *source = upstream.at.at[i];
        if (source != node && state_of(source) != RESUME_CLEAN) {
            found = source;
        } else if (source->run != NULL) {
            add_writers(&upstream, source);
        }
    }
    vec_release(&upstream.at);
    return found;
}

static enum account_condition missing(const struct offline_node *node,
                                      const struct offline_node *source)
{
    const struct run_action *run = node->run;
    const enum resume_state state = state_of(node);
    if (value_is_text(node->kind, "handler")) {
        return CONDITION_EVENT;
    }
    if (state == RESUME_FAILED) {
        return CONDITION_FAILED;
    }
    if (source != NULL) {
        return CONDITION_WAITS;
    }
    if (state == RESUME_CLEAN) {
        return CONDITION_CLEAN;
    }
    if (!node->wanted) {
        return CONDITION_NOBODY_LOOKS;
    }
    if (!node->live) {
        return CONDITION_NOT_STARTED;
    }
    return run != NULL &&
                   (run->gates.debounce_ms > 0 || run->gates.throttle_ms > 0)
               ? CONDITION_GATED
               : CONDITION_NONE;
}

/* What a view reads only to know what kind of value is there has a key that no
 * document has. */
static bool is_hidden(const struct path *path)
{
    return path->length > 0 && key_is_virtual(path->at[path->length - 1].key);
}

struct value offline_why_not(struct offline_graph *graph,
                             const struct offline_node *node)
{
    const struct offline_node *source =
        state_of(node) == RESUME_CLEAN ? find_source(graph, node) : NULL;
    struct value object = describe_node(graph, node);
    struct value reads = value_empty_array();
    if (source != NULL) {
        const struct account_node waits_for = author_node(source);
        account_put_condition(&object,
                              missing(node, source),
                              &waits_for,
                              false);
    } else {
        account_put_condition(&object, missing(node, NULL), NULL, false);
    }
    if (node->run != NULL) {
        VEC_FOREACH (&node->run->places, place) {
            if (place_is_read(place->kind) && !is_hidden(place->path)) {
                reads = array_push_adopt(reads, offline_address(place));
            }
        }
        object_put_number(&object, "seq", node->run->seq);
        if (node->run->changed > 0) {
            object_put_number(&object, "changed", node->run->changed);
        }
        object_put_number(&object, "debounceMs", node->run->gates.debounce_ms);
        object_put_number(&object, "throttleMs", node->run->gates.throttle_ms);
    }
    object_put_adopt(&object, "reads", reads);
    return object;
}

/* -- Places -------------------------------------------------------------- */

/* The last commit that wrote there. */
static enum err put_last_commit(struct tracer *tracer,
                                const struct run_place *place,
                                struct value *object)
{
    struct offline_graph *graph = tracer->graph;
    const struct span span = {.to = graph->engine.seq};
    seq_list seqs = {0};
    const enum err err =
        find_changes(tracer, &span, place, place->kind == PLACE_DEEP, &seqs);
    if (err == ERR_OK && seqs.count > 0) {
        struct commit_info commit;
        struct err_detail ignored;
        if (commit_at(&graph->engine, seqs.at[0], &commit, &ignored) ==
            ERR_OK) {
            object_put_adopt(object, "commit", offline_commit(graph, &commit));
        }
        commit_info_release(&commit);
    }
    vec_release(&seqs);
    return err;
}

/* With the last commit, and why the writers ran; or why they do not run. */
static enum err account_place(struct offline_graph *graph,
                              const struct run_place *place,
                              bool why,
                              bool to_the_origin,
                              struct value *out,
                              struct err_detail *detail)
{
    struct tracer tracer = {.graph = graph, .detail = detail};
    const struct offline_document *document =
        offline_document(graph, place->scope_key, place->id);
    struct value object = value_empty_object();
    struct value writers = value_empty_array();
    size_t at = 0;
    object_put_adopt(&object, "address", offline_address(place));
    enum err err = why ? put_last_commit(&tracer, place, &object) : ERR_OK;
    for (const struct offline_node *node = next_writer(document, place, &at);
         err == ERR_OK && node != NULL;
         node = next_writer(document, place, &at)) {
        struct value one = VALUE_NONE;
        if (why) {
            err = offline_why(graph, node, to_the_origin, &one, detail);
        } else {
            one = offline_why_not(graph, node);
        }
        if (err == ERR_OK) {
            writers = array_push_adopt(writers, one);
        }
    }
    object_put_adopt(&object, "writers", writers);
    *out = object;
    if (err != ERR_OK) {
        value_unref(object);
        *out = VALUE_NONE;
    }
    return err;
}

enum err offline_why_place(struct offline_graph *graph,
                           const struct run_place *place,
                           bool to_the_origin,
                           struct value *out,
                           struct err_detail *detail)
{
    return account_place(graph, place, true, to_the_origin, out, detail);
}

enum err offline_why_not_place(struct offline_graph *graph,
                               const struct run_place *place,
                               struct value *out,
                               struct err_detail *detail)
{
    return account_place(graph, place, false, false, out, detail);
}
