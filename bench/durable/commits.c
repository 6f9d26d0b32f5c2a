/* The commits of the benchmarks. */

#include "durable/commits.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/raw_store.h"
#include "value/json.h"

static struct value read_text(const char *text, size_t length)
{
    struct value value = VALUE_NONE;
    if (json_read(text, length, NULL, &value, NULL) != ERR_OK) {
        (void)fprintf(stderr, "bench_store: not JSON: %s\n", text);
        exit(1);
    }
    return value;
}

static void begin(struct commit *commit,
                  uint64_t local_seq,
                  struct commit_op *op,
                  uint64_t document)
{
    char id[RAW_TEXT_SIZE];
    op->target.id = value_string_new(id, raw_store_id(id, document));
    *commit = (struct commit){
        .session = value_text_new("bench"),
        .local_seq = local_seq,
        .branch = value_string_new("", 0),
    };
}

void commit_make_set(struct commit *commit,
                     uint64_t local_seq,
                     uint64_t document)
{
    char text[RAW_TEXT_SIZE];
    struct commit_op op = {.kind = COMMIT_SET};
    begin(commit, local_seq, &op, document);
    op.document = read_text(text, raw_store_text(text, local_seq));
    vec_push(&commit->ops, op);
}

void commit_make_patch(struct commit *commit,
                       uint64_t local_seq,
                       uint64_t document,
                       struct path_table *paths)
{
    char text[RAW_TEXT_SIZE];
    struct commit_op op = {.kind = COMMIT_PATCH};
    begin(commit, local_seq, &op, document);
    const struct value list = read_text(text, raw_store_patch(text, local_seq));
    if (patch_read(list, paths, &op.patch, NULL) != ERR_OK) {
        (void)fprintf(stderr, "bench_store: not a patch: %s\n", text);
        exit(1);
    }
    value_unref(list);
    vec_push(&commit->ops, op);
}
