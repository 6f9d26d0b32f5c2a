/* Matching elements: the range that differs, identity within it, edits,
 * removals. */

#include "runtime/list_match.h"

#include <stdlib.h>

#include "base/mem.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/doc_link.h"
#include "value/object.h"

/* -- Identity ------------------------------------------------------------ */

/* What an element is known by, if there is a field for that; or absent. */
static struct value key_of(const struct list_match *match, struct value value)
{
    return value_is_absent(match->key) || !value_is_object(value)
               ? VALUE_NONE
               : object_get(value, match->key);
}

static uint64_t identity_hash(const struct list_match *match,
                              struct value value)
{
    const struct value key = key_of(match, value);
    if (!value_is_absent(key)) {
        return value_hash(key);
    }
    if (value_kind(value) != VALUE_LINK) {
        return value_hash(value);
    }
    const struct doc_link link = doc_link_of(value);
    const struct value parts[] = {link.id, link.path, link.space, link.scope};
    uint64_t hash = 1;
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        hash =
            hash * 31 + (value_is_absent(parts[i]) ? 0 : value_hash(parts[i]));
    }
    return hash;
}

static bool is_identical(const struct list_match *match,
                         struct value a,
                         struct value b)
{
    const struct value key = key_of(match, a);
    const struct value other = key_of(match, b);
    if (!value_is_absent(key) || !value_is_absent(other)) {
        return !value_is_absent(key) && !value_is_absent(other) &&
               value_equal(key, other);
    }
    if (value_kind(a) != VALUE_LINK || value_kind(b) != VALUE_LINK) {
        return value_equal(a, b);
    }
    const struct doc_link x = doc_link_of(a);
    const struct doc_link y = doc_link_of(b);
    return value_equal(x.id, y.id) && value_equal(x.path, y.path) &&
           value_equal(x.space, y.space) && value_equal(x.scope, y.scope);
}

/* -- What differs -------------------------------------------------------- */

static void add_new(struct list_match *match, uint32_t to)
{
    const struct list_move move = {to, LIST_NEW, false};
    vec_push(&match->moves, move);
}

/* Of one length: each index at which they differ, on both sides. */
static void find_differing(struct list_match *match,
                           struct value before,
                           struct value after)
{
    const uint32_t count = array_count(before);
    for (uint32_t i = 0; i < count;) {
        const uint32_t shared = array_shared_run(before, after, i);
        if (shared > 0) {
            i += shared;
            continue;
        }
        if (!value_equal(array_at(before, i), array_at(after, i))) {
            vec_push(&match->olds, i);
            add_new(match, i);
        }
        i++;
    }
}

/* Of different lengths: everything between the common ends. */
static void find_middle(struct list_match *match,
                        struct value before,
                        struct value after)
{
    const struct array_ends ends = array_common_ends(before, after);
    match->start = ends.start;
    match->before = array_count(before) - ends.start - ends.end;
    match->after = array_count(after) - ends.start - ends.end;
    for (uint32_t i = 0; i < match->before; i++) {
        vec_push(&match->olds, ends.start + i);
    }
    for (uint32_t i = 0; i < match->after; i++) {
        add_new(match, ends.start + i);
    }
}

/* -- Identity ------------------------------------------------------------ */

static int by_hash(const void *a, const void *b)
{
    const struct list_candidate *x = a;
    const struct list_candidate *y = b;
    if (x->hash != y->hash) {
        return x->hash < y->hash ? -1 : 1;
    }
    return (x->index > y->index) - (x->index < y->index);
}

static void find_candidates(struct list_match *match, struct value before)
{
    VEC_FOREACH (&match->olds, index) {
        const struct list_candidate candidate = {
            .hash = identity_hash(match, array_at(before, *index)),
            .index = *index,
        };
        vec_push(&match->candidates, candidate);
    }
    if (match->candidates.count > 1) {
        qsort(match->candidates.at,
              match->candidates.count,
              sizeof *match->candidates.at,
              by_hash);
    }
}

/* The first with that hash, or none: the count. */
static size_t find_hash(const struct list_match *match, uint64_t hash)
{
    size_t low = 0;
    size_t high = match->candidates.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (match->candidates.at[middle].hash < hash) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* list-match-2. `next` lets many equal elements be found without looking at
 * those that have been taken. */
static struct list_candidate *find_candidate(struct list_match *match,
                                             struct value before,
                                             struct value item)
{
    const uint64_t hash = identity_hash(match, item);
    const size_t first = find_hash(match, hash);
    if (first == match->candidates.count ||
        match->candidates.at[first].hash != hash) {
        return NULL;
    }
    struct list_candidate *head = &match->candidates.at[first];
    size_t at = first + head->next;
    while (at < match->candidates.count &&
           match->candidates.at[at].hash == hash &&
           match->candidates.at[at].taken) {
        at++;
    }
    head->next = (uint32_t)(at - first);
    for (;
         at < match->candidates.count && match->candidates.at[at].hash == hash;
         at++) {
        struct list_candidate *candidate = &match->candidates.at[at];
        if (!candidate->taken &&
            is_identical(match, array_at(before, candidate->index), item)) {
            return candidate;
        }
    }
    return NULL;
}

static void match_by_identity(struct list_match *match,
                              struct value before,
                              struct value after)
{
    find_candidates(match, before);
    VEC_FOREACH (&match->moves, move) {
        const struct value item = array_at(after, move->to);
        struct list_candidate *found = find_candidate(match, before, item);
        if (found != NULL) {
            found->taken = true;
            move->from = found->index;
            move->same = value_equal(array_at(before, found->index), item);
        }
    }
    /* What is left, in its order again. */
    size_t left = 0;
    VEC_FOREACH (&match->candidates, candidate) {
        if (!candidate->taken) {
            match->candidates.at[left++] = *candidate;
        }
    }
    match->candidates.count = left;
    VEC_FOREACH (&match->candidates, candidate) {
        candidate->hash = candidate->index;
    }
    if (left > 1) {
        qsort(match->candidates.at,
              left,
              sizeof *match->candidates.at,
              by_hash);
    }
}

/* -- Edited ones --------------------------------------------------------- */

/* The former index of the element before this move's. */
static uint32_t former_neighbour(const struct list_match *match, size_t i)
{
    const struct list_move *move = &match->moves.at[i];
    if (i > 0 && match->moves.at[i - 1].to + 1 == move->to) {
        return match->moves.at[i - 1].from;
    }
    return move->to - 1; /* before the first: none, one before 0 */
}

static void match_neighbours(struct list_match *match)
{
    for (size_t i = 0; i < match->moves.count; i++) {
        struct list_move *move = &match->moves.at[i];
        if (move->from != LIST_NEW) {
            continue;
        }
        const uint32_t neighbour = former_neighbour(match, i);
        if (neighbour == LIST_NEW && move->to > 0) {
            continue; /* that one is new itself */
        }
        const uint32_t wanted = neighbour + 1;
        const size_t at = find_hash(match, wanted);
        if (at < match->candidates.count &&
            match->candidates.at[at].hash == wanted &&
            !match->candidates.at[at].taken) {
            match->candidates.at[at].taken = true;
            move->from = wanted;
        }
    }
}

static void match_in_order(struct list_match *match)
{
    size_t at = 0;
    VEC_FOREACH (&match->moves, move) {
        if (move->from != LIST_NEW) {
            continue;
        }
        while (at < match->candidates.count && match->candidates.at[at].taken) {
            at++;
        }
        if (at == match->candidates.count) {
            return;
        }
        match->candidates.at[at].taken = true;
        move->from = match->candidates.at[at].index;
    }
}

void list_match(struct list_match *match,
                struct value before,
                struct value after)
{
    vec_clear(&match->moves);
    vec_clear(&match->gone);
    vec_clear(&match->candidates);
    vec_clear(&match->olds);
    match->start = 0;
    match->before = 0;
    match->after = 0;
    if (value_is_same(before, after)) {
        return;
    }
    if (array_count(before) == array_count(after)) {
        find_differing(match, before, after);
        if (match->olds.count == 1 && value_is_absent(match->key)) {
            /* nearly always: one was edited */
            match->moves.at[0].from = match->olds.at[0];
            match->moves.at[0].same = false;
            return;
        }
    } else {
        find_middle(match, before, after);
    }
    match_by_identity(match, before, after);
    if (value_is_absent(match->key)) {
        match_neighbours(match);
    }
    if (value_is_absent(match->key) && !match->strict) {
        match_in_order(match);
    }
    VEC_FOREACH (&match->candidates, candidate) {
        if (!candidate->taken) {
            vec_push(&match->gone, candidate->index);
        }
    }
}

void list_match_release(struct list_match *match)
{
    vec_release(&match->moves);
    vec_release(&match->gone);
    vec_release(&match->candidates);
    vec_release(&match->olds);
}
