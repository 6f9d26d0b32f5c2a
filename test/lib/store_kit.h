/* Stores in tests: engines in memory or in a file that goes away, and commits
 * written in one line.
 *
 * A commit is its session, its number, and what it says, between bars:
 *
 *   "s1 3 | conf A.x @2 | set A {'x':1}"
 *
 *   set A 5                 the document becomes {"value":5}
 *   put A {'m':1}           the whole document
 *   delete A
 *   patch A [{'op':...}]
 *   replace A.x.y 5         a patch of one operation, below "value"; likewise
 *                           add, append, remove, increment
 *   conf A.x @3             a confirmed deep read of ["value","x"]
 *   conf A.x @3 on b        made on another branch than the commit's
 *   pend A.x [1,2] b=3      a pending read of these layers and this basis
 *   shape conf ..., shape pend ...
 *   absent A, origin 4, hash A null
 *   branch b
 *   json 'merge':{}         any other field
 *
 * A! is the root of the document instead of "value", and A~user or A~session
 * are other scopes. In all texts ' stands for ": in what is given, and in what
 * comes back. */

#ifndef TEST_LIB_STORE_KIT_H
#define TEST_LIB_STORE_KIT_H

#include "base/buf.h"
#include "store/engine.h"

enum {
    KIT_GROUP_MAX = 16,
    KIT_TEXTS = 4,
};

/* An engine and what the last call on it answered. */
struct store_kit {
    struct engine engine;
    struct engine_options options;
    bool owns_folder;
    char folder[256];
    char path[300];
    const char *principal;  /* of the commits from now on; NULL: nobody */
    uint64_t client;        /* likewise (engine.h); 0: not known */
    uint64_t unchanged_seq; /* likewise */
    uint64_t at_ms;
    enum err fault; /* what engine_commit returned */
    struct err_detail detail;
    struct verdict verdicts[KIT_GROUP_MAX];
    struct buf texts[KIT_TEXTS]; /* the last answers */
    unsigned next_text;
};

/* -- Life ---------------------------------------------------------------- */

/* `options` may be NULL; their path is not looked at. */
void kit_open_memory(struct store_kit *kit,
                     const struct engine_options *options);

/* In a new folder, which is removed by kit_close. */
void kit_open_file(struct store_kit *kit, const struct engine_options *options);

/* Another engine on the file of `other`, with the same options. */
void kit_open_beside(struct store_kit *kit, const struct store_kit *other);

void kit_close(struct store_kit *kit);

/* Closes the engine and opens its file again. */
void kit_reopen(struct store_kit *kit);

/* A new, empty folder; and its end, with all that is in it. */
void kit_folder_new(char *to, size_t size);
void kit_folder_remove(const char *folder);

/* Removes the files whose names contain `part`. */
void kit_folder_sweep(const char *folder, const char *part);

/* -- Commits ------------------------------------------------------------- */

/* The JSON text of a commit in the form above, to be released. */
struct buf kit_commit_json(const char *line);

/* One commit, or up to KIT_GROUP_MAX in one group. The answers are in `fault`
 * and `verdicts`. */
void kit_commit(struct store_kit *kit, const char *line);
void kit_group(struct store_kit *kit, const char *const *lines, size_t count);

/* The same, with the answer expected. */
bool kit_expect_landed(const char *file,
                       int line,
                       struct store_kit *kit,
                       uint64_t seq,
                       const char *commit);
bool kit_expect_refused(const char *file,
                        int line,
                        struct store_kit *kit,
                        enum err err,
                        const char *part,
                        const char *commit);

/* It lands at that seq; it does not, for this reason, with a sentence that
 * has this part, and leaves every table as it was. */
#define EXPECT_LANDED(kit, seq, commit) \
    kit_expect_landed(__FILE__, __LINE__, (kit), (seq), (commit))
#define EXPECT_REFUSED(kit, err, part, commit) \
    kit_expect_refused(__FILE__, __LINE__, (kit), (err), (part), (commit))

/* -- Looking -------------------------------------------------------------
 *
 * The texts are borrowed until KIT_TEXTS more of them were asked for. */

/* A verdict as canonical JSON. */
const char *kit_verdict(struct store_kit *kit, size_t index);

/* A document as canonical JSON, "(absent)", or an error's name. "A" is on the
 * main branch, "b/A" on another; A~user:Alice has a scope key. */
const char *kit_read(struct store_kit *kit, const char *name);
const char *kit_read_at(struct store_kit *kit, const char *name, uint64_t seq);

/* Ids of one scope, as JSON, or an error's name. */
const char *kit_list(struct store_kit *kit,
                     const char *branch,
                     const char *scope_key,
                     const char *after,
                     uint32_t limit,
                     uint64_t seq);

/* The rows of a query: columns between bars, each row ends with ';'. */
const char *kit_sql(struct store_kit *kit, const char *sql);

/* Runs SQL on the engine's own connection, and makes it forget its caches,
 * which would not notice. */
void kit_run(struct store_kit *kit, const char *sql);

/* The same with the caches left alone: for what changes no rows. */
void kit_run_unseen(struct store_kit *kit, const char *sql);

/* All rows of all tables, to be released. */
struct buf kit_dump(struct store_kit *kit);

/* -- Branches ------------------------------------------------------------ */

enum err kit_fork(struct store_kit *kit,
                  const char *name,
                  const char *parent,
                  uint64_t seq);
enum err kit_branch_delete(struct store_kit *kit, const char *name);
const char *kit_branches(struct store_kit *kit);

#endif
