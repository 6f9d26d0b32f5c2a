/* Claims as locked files, and claims of tasks. */

#include "host/claims.h"

#include "base/mem.h"
#include "host/locked_file.h"

const char *claim_folder(enum claim_kind kind)
{
    static const char *const folders[] = {
        [CLAIM_SENDER] = "senders",
        [CLAIM_TASK] = "tasks",
    };
    return folders[kind];
}

/* -- In a folder --------------------------------------------------------- */

static const char *folder_of(struct claims *claims)
{
    return CONTAINER_OF(claims, struct folder_claims, claims)->folder;
}

/* A file that cannot be made, because the disk is full, is no claim either: it
 * is asked for again. */
static void *take(struct claims *claims,
                  enum claim_kind kind,
                  struct value name)
{
    struct locked_file *file = mem_alloc_zero(sizeof *file);
    const enum err err = locked_file_open(file,
                                          folder_of(claims),
                                          claim_folder(kind),
                                          name,
                                          value_empty_object(),
                                          NULL,
                                          NULL);
    if (err != ERR_OK) {
        mem_free(file, sizeof *file);
        return NULL;
    }
    return file;
}

static void give_back(struct claims *claims, void *claim)
{
    (void)claims;
    struct locked_file *file = claim;
    locked_file_close(file);
    mem_free(file, sizeof *file);
}

static bool is_held(struct claims *claims,
                    enum claim_kind kind,
                    struct value name)
{
    return locked_file_is_held(folder_of(claims),
                               claim_folder(kind),
                               name,
                               true);
}

static const struct claims_methods methods = {
    .take = take,
    .give_back = give_back,
    .is_held = is_held,
};

void folder_claims_init(struct folder_claims *claims, const char *folder)
{
    *claims = (struct folder_claims){{&methods}, folder};
}

/* -- Of tasks ------------------------------------------------------------ */

static void *take_task(void *ctx, struct value key)
{
    struct claims *claims = ctx;
    return claims->methods->take(claims, CLAIM_TASK, key);
}

static void give_task_back(void *ctx, void *claim)
{
    struct claims *claims = ctx;
    claims->methods->give_back(claims, claim);
}

struct task_claims task_claims_of(struct claims *claims)
{
    return claims == NULL ? (struct task_claims){0}
                          : (struct task_claims){
                                .take = take_task,
                                .give_back = give_task_back,
                                .ctx = claims,
                            };
}
