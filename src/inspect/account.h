/* Accounts: why a node ran, and why it does not run.
 *
 * This is the one model of inspection. Two sources fill it, each with what it
 * knows: a live runtime (inspect/live_why.h) and the file of a space
 * (inspect/offline_why.h). The command, the public header and Lua render
 * accounts; they decide nothing.
 *
 *   account-1  An account is a value, so its JSON needs no second description.
 *       Later versions add fields. What a source does not know is left out.
 *   account-2  The words and sentences are made here. Equal facts make equal
 *       sentences, whichever source they come from.
 *
 * Why a node ran:
 *
 *   {"piece":P,"node":N,"scope":S,"kind":K,"status":S,"runs":3,
 *    "reason":"change","causes":[...],"more":0,"sentence":...}
 *
 * "reason" is "change", "first", "event" (of a handler), "again" (its inputs
 * are unchanged), "never", or why the causes are unknown: "elsewhere" (it
 * has read another space, "space", whose history is not examined), "forgotten"
 * (by the runtime) or "folded" (by compaction). A cause is
 *
 *   {"address":A,"seq":10,"changes":[...],"by":{"type":"node",...}}
 *
 * and "by" names its author (enum author_kind).
 *
 * Why it does not run:
 *
 *   {"piece":P,"node":N,"scope":S,"kind":K,"status":S,
 *    "condition":"clean","sentence":...,"needs":...}
 *
 * "condition" is the first one that is not met (enum account_condition). */

#ifndef INSPECT_ACCOUNT_H
#define INSPECT_ACCOUNT_H

#include "base/buf.h"
#include "value/value.h"

/* Which node, and its status. All borrowed. */
struct account_node {
    struct value piece; /* absent: of no piece */
    struct value name;
    struct value scope; /* absent: for all */
    struct value kind;
    const char *status; /* NULL: a handler, which is never out of date */
};

/* What made a change. */
enum author_kind {
    AUTHOR_NODE,    /* "node", "piece", "scope", "earlier" */
    AUTHOR_EVENT,   /* "handler" and "piece", or "stream" */
    AUTHOR_START,   /* of "piece" */
    AUTHOR_EFFECT,  /* of "piece": a node that is no longer known */
    AUTHOR_CLOCK,   /* the next interval has begun */
    AUTHOR_EDIT,    /* from outside, as the file has it; */
    AUTHOR_OUTSIDE, /* and as a runtime has it: "kind" is that of the
                       notification (replica/channel.h) */
    AUTHOR_FOLDED,  /* not known: compacted history */
};

/* In the order in which they are looked at. */
enum account_condition {
    CONDITION_EVENT, /* a handler runs for events */
    CONDITION_RUNNING,
    CONDITION_FAILED,
    CONDITION_WAITS, /* for a node that must run first */
    CONDITION_CLEAN,
    CONDITION_NOBODY_LOOKS,
    CONDITION_NOT_STARTED,
    CONDITION_GATED, /* "gate" and "inMs", if they are known */
    CONDITION_NONE,  /* it runs in the next step, for "causes" */
};

/* A new account of the node. */
struct value account_new(const struct account_node *node);

/* Puts the piece, the name at `field`, and the scope into an object. */
void account_put_node(struct value *object,
                      const char *field,
                      const struct account_node *node);

/* {"type":...}, new. */
struct value account_author(enum author_kind kind);

/* Ends an account of a run: puts the sentence for what it has. */
void account_end_why(struct value *account);

/* Puts the condition into an account of a node that does not run, with the
 * sentence for it, what the node needs, and the node that it waits for, if
 * any. The sentence begins with the name of the node, or with "it" where the
 * name stands beside it. */
void account_put_condition(struct value *account,
                           enum account_condition condition,
                           const struct account_node *waits_for,
                           bool with_name);

/* "node total of shopping", from a "by". */
void account_write_author(struct buf *to, struct value by);

/* "ADDRESS changed by AUTHOR", from a cause. */
void account_write_cause(struct buf *to, struct value cause);

/* The name of a node at `field`, with "@SCOPE" if it has one. */
void account_write_node(struct buf *to, struct value node, const char *field);

#endif
