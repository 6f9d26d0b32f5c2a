/* Long work on the files of a server. */

#include "server/maintenance.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/mem.h"
#include "host/data_dir.h"
#include "host/system.h"
#include "server/access.h"
#include "server/shard_internal.h"
#include "store/observations.h"
#include "store/retention.h"
#include "store/spaces.h"
#include "value/array.h"
#include "value/compare.h"
#include "value/json.h"
#include "value/object.h"
#include "value/utf8.h"

/* Values belong to one thread: a job has bytes. */
struct job {
    struct job *next;
    struct maintenance_order order; /* without its values */
    struct buf space;
    struct buf question;
};

struct maintenance {
    struct maintenance_options options;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct job *first; /* these under the mutex */
    struct job *last;
    size_t waiting;
    bool is_busy;
    _Atomic bool must_stop;
    _Atomic uint32_t backups; /* that exist */
};

static void lock(struct maintenance *maintenance)
{
    CHECK(pthread_mutex_lock(&maintenance->mutex) == 0);
}

static void unlock(struct maintenance *maintenance)
{
    CHECK(pthread_mutex_unlock(&maintenance->mutex) == 0);
}

static enum err refuse_stopping(struct err_detail *detail)
{
    return err_set(detail, ERR_OVERLOADED, "the server is shutting down");
}

static bool goes_on(void *ctx, uint64_t done, uint64_t total)
{
    const struct maintenance *maintenance = ctx;
    (void)done;
    (void)total;
    return !atomic_load(&maintenance->must_stop);
}

static bool steps_on(void *ctx, uint64_t done)
{
    return goes_on(ctx, done, 0);
}

static bool is_interrupted(void *ctx)
{
    return !goes_on(ctx, 0, 0);
}

/* The file of a space, as another process opens it. */
static enum err open_space(struct maintenance *maintenance,
                           const char *space,
                           bool read_only,
                           struct engine *engine,
                           struct err_detail *detail)
{
    struct buf path = {0};
    data_dir_path(maintenance->options.folder, space, &path);
    const struct engine_options settings = {
        .path = buf_text(&path),
        .read_only = read_only,
        .interrupted = is_interrupted,
        .interrupted_ctx = maintenance,
    };
    const enum err err = engine_open(engine, &settings, detail);
    buf_release(&path);
    return err;
}

/* -- Spaces -------------------------------------------------------------- */

struct listed {
    struct value name;
    uint64_t bytes;
};

typedef VEC(struct listed) listed_spaces;

static bool is_behind(const void *items, size_t a, size_t b)
{
    const struct listed *spaces = items;
    return value_compare_strings(spaces[a].name, spaces[b].name) > 0;
}

static void swap_spaces(void *items, size_t a, size_t b)
{
    struct listed *spaces = items;
    const struct listed one = spaces[a];
    spaces[a] = spaces[b];
    spaces[b] = one;
}

/* Those behind `after`, sorted. */
static enum err list_spaces(const char *folder,
                            struct value after,
                            listed_spaces *out,
                            struct err_detail *detail)
{
    const size_t tail = strlen(".db");
    space_files files = {0};
    const enum err err = spaces_list(folder, &files, detail);
    VEC_FOREACH (&files, file) {
        const size_t length = file->name.length;
        if (file->why_not != NULL || length <= tail ||
            memcmp(file->name.at + length - tail, ".db", tail) != 0 ||
            !utf8_is_valid(file->name.at, length)) {
            continue;
        }
        const struct listed one = {
            .name = value_string_new(file->name.at, length - tail),
            .bytes = file->bytes,
        };
        if (value_is_string(after) &&
            value_compare_strings(one.name, after) <= 0) {
            value_unref(one.name);
        } else {
            vec_push(out, one);
        }
    }
    space_files_release(&files);
    if (out->count > 1) {
        heap_sort(out->at, out->count, is_behind, swap_spaces);
    }
    return err;
}

/* Whether the caller may read the space, and its seq. */
static bool look_into(struct maintenance *maintenance,
                      const struct job *job,
                      const char *name,
                      uint64_t *seq)
{
    struct engine engine;
    struct value document = VALUE_NONE;
    struct access access = {0};
    bool may_read = job->order.is_operator;
    *seq = 0;
    const struct text text = {.at = name, .length = strlen(name)};
    if (!credential_covers(&job->order.credential, text)) {
        return false;
    }
    if (open_space(maintenance, name, true, &engine, NULL) != ERR_OK) {
        return may_read; /* a damaged one is listed for who may repair it */
    }
    *seq = engine.seq;
    if (!may_read && access_read_document(&engine, &document, NULL) == ERR_OK) {
        access_init(&access, document, NULL);
    }
    may_read = may_read ||
               access_capability(&access,
                                 job->order.is_service,
                                 &job->order.credential) >= CAPABILITY_READ;
    access_release(&access);
    value_unref(document);
    engine_close(&engine);
    return may_read;
}

/* Adds the space, if the caller may know of it. */
static void add_space(struct maintenance *maintenance,
                      const struct job *job,
                      const struct listed *one,
                      struct value *spaces)
{
    const struct text text = value_text(&one->name);
    struct board_numbers numbers;
    struct buf name = {0};
    uint64_t seq = 0;
    buf_append(&name, text.at, text.length);
    if (look_into(maintenance, job, buf_text(&name), &seq)) {
        const bool is_open = space_board_find(maintenance->options.board,
                                              text.at,
                                              text.length,
                                              &numbers);
        struct value row = object_new_adopt(NULL, 0);
        object_put_adopt(&row, "space", value_ref(one->name));
        object_put_number(&row, "seq", numbers.seq > seq ? numbers.seq : seq);
        object_put_number(&row, "bytes", one->bytes);
        object_put_adopt(&row, "open", value_bool(is_open));
        object_put_number(&row, "channels", numbers.channels);
        object_put_number(&row, "sessions", numbers.sessions);
        *spaces = array_push_adopt(*spaces, row);
    }
    buf_release(&name);
}

static enum err run_spaces(struct maintenance *maintenance,
                           const struct job *job,
                           struct value question,
                           struct value *answer,
                           struct err_detail *detail)
{
    listed_spaces all = {0};
    struct value spaces = value_empty_array();
    struct value next = VALUE_NONE;
    enum err err = list_spaces(maintenance->options.folder,
                               object_field(question, "after"),
                               &all,
                               detail);
    for (size_t i = 0; err == ERR_OK && i < all.count; i++) {
        if (array_count(spaces) == MAINTENANCE_PAGE) {
            const struct value last = array_at(spaces, MAINTENANCE_PAGE - 1);
            next = value_ref(object_field(last, "space"));
            break;
        }
        add_space(maintenance, job, &all.at[i], &spaces);
        err = is_interrupted(maintenance) ? refuse_stopping(detail) : ERR_OK;
    }
    VEC_FOREACH (&all, one) {
        value_unref(one->name);
    }
    vec_release(&all);
    *answer = object_new_adopt(NULL, 0);
    object_put_adopt(answer, "spaces", spaces);
    if (!value_is_absent(next)) {
        object_put_adopt(answer, "next", next);
    }
    return err;
}

/* -- Backups ------------------------------------------------------------- */

void backup_file_free(struct backup_file *file)
{
    if (file != NULL) {
        (void)close(file->fd);
        (void)atomic_fetch_sub(file->count, 1);
        mem_free(file, sizeof *file);
    }
}

/* maintenance-2: the file loses its name. */
static enum err take_file(struct maintenance *maintenance,
                          const char *path,
                          struct backup_file **out,
                          struct err_detail *detail)
{
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    const bool is_open = fd >= 0 && fstat(fd, &about) == 0;
    (void)unlink(path);
    if (!is_open) {
        if (fd >= 0) {
            (void)close(fd);
        }
        return err_set(detail, ERR_IO, "the copy cannot be opened");
    }
    *out = mem_alloc_zero(sizeof **out);
    (*out)->fd = fd;
    (*out)->bytes = (uint64_t)about.st_size;
    (*out)->count = &maintenance->backups;
    return ERR_OK;
}

static enum err copy_space(struct maintenance *maintenance,
                           const char *space,
                           const char *path,
                           struct err_detail *detail)
{
    struct engine engine;
    enum err err = open_space(maintenance, space, true, &engine, detail);
    if (err == ERR_OK) {
        err = engine_backup(&engine, path, goes_on, maintenance, detail);
        engine_close(&engine);
    }
    return err;
}

static enum err run_backup(struct maintenance *maintenance,
                           const struct job *job,
                           struct value *answer,
                           struct backup_file **file,
                           struct err_detail *detail)
{
    const struct maintenance_options *options = &maintenance->options;
    struct buf path = {0};
    if (atomic_fetch_add(&maintenance->backups, 1) >= MAINTENANCE_BACKUPS) {
        (void)atomic_fetch_sub(&maintenance->backups, 1);
        return err_set(detail,
                       ERR_OVERLOADED,
                       "%d backups are under way, which is the limit; retry "
                       "later",
                       MAINTENANCE_BACKUPS);
    }
    buf_printf(&path, "%s/backups", options->folder);
    enum err err = mkdir(buf_text(&path), 0700) == 0 || errno == EEXIST
                       ? ERR_OK
                       : err_set(detail,
                                 ERR_IO,
                                 "the directory for backups cannot be made: %s",
                                 strerror(errno));
    buf_printf(&path, "/%016" PRIx64 ".db", options->random(options->ctx));
    if (err == ERR_OK) {
        err = copy_space(maintenance,
                         buf_text(&job->space),
                         buf_text(&path),
                         detail);
    }
    if (err == ERR_OK) {
        err = take_file(maintenance, buf_text(&path), file, detail);
    }
    buf_release(&path);
    if (*file == NULL) {
        (void)atomic_fetch_sub(&maintenance->backups, 1);
    } else {
        *answer = object_new_adopt(NULL, 0);
        object_put_number(answer, "bytes", (*file)->bytes);
    }
    return err;
}

/* -- Compaction ---------------------------------------------------------- */

struct compaction {
    struct compact_counts folded;
    struct retire_counts retired;
    struct collect_counts collected;
    struct shrink_counts shrunk;
};

static uint64_t number_or(struct value question,
                          const char *name,
                          uint64_t fallback)
{
    return value_is_absent(object_field(question, name))
               ? fallback
               : object_number(question, name);
}

static enum err run_stages(struct maintenance *maintenance,
                           struct engine *engine,
                           struct value question,
                           struct compaction *done,
                           struct err_detail *detail)
{
    struct retention retention = retention_default(system_wall_ms());
    retention.commits = number_or(question, "keepCommits", retention.commits);
    retention.receipts_ms =
        number_or(question, "keepAgeMs", retention.receipts_ms);
    enum err err = engine_compact(engine,
                                  number_or(question, "keepFrom", ENGINE_HEAD),
                                  goes_on,
                                  maintenance,
                                  &done->folded,
                                  detail);
    if (err == ERR_OK && !is_interrupted(maintenance)) {
        err = engine_retire(engine,
                            &retention,
                            goes_on,
                            maintenance,
                            &done->retired,
                            detail);
    }
    if (err == ERR_OK && !is_interrupted(maintenance)) {
        err = engine_collect(engine,
                             steps_on,
                             maintenance,
                             &done->collected,
                             detail);
    }
    if (err == ERR_OK && !is_interrupted(maintenance)) {
        err =
            engine_shrink(engine, goes_on, maintenance, &done->shrunk, detail);
    }
    return err;
}

static uint64_t bytes_of(struct maintenance *maintenance, const char *space)
{
    struct buf path = {0};
    struct stat found;
    data_dir_path(maintenance->options.folder, space, &path);
    const uint64_t bytes =
        stat(buf_text(&path), &found) == 0 ? (uint64_t)found.st_size : 0;
    buf_release(&path);
    return bytes;
}

static enum err run_compact(struct maintenance *maintenance,
                            const struct job *job,
                            struct value question,
                            struct value *answer,
                            struct err_detail *detail)
{
    const char *space = buf_text(&job->space);
    const uint64_t before = bytes_of(maintenance, space);
    struct engine engine;
    struct compaction done = {0};
    enum err err = open_space(maintenance, space, false, &engine, detail);
    if (err != ERR_OK) {
        return err;
    }
    done.folded.horizon = engine.horizon;
    err = run_stages(maintenance, &engine, question, &done, detail);
    engine_close(&engine);
    if (err != ERR_OK) {
        return err;
    }
    const uint64_t after = bytes_of(maintenance, space);
    struct value object = object_new_adopt(NULL, 0);
    object_put_number(&object, "horizon", done.folded.horizon);
    object_put_number(&object, "documents", done.folded.documents);
    object_put_number(&object, "revisionsRemoved", done.folded.revisions);
    object_put_number(&object, "snapshotsRemoved", done.folded.snapshots);
    object_put_number(&object, "receiptsRemoved", done.retired.receipts);
    object_put_number(&object, "commitsRemoved", done.retired.commits);
    object_put_number(&object, "sessionsRemoved", done.retired.sessions);
    object_put_number(&object, "actionsRemoved", done.collected.actions);
    object_put_number(&object, "bytes", after);
    object_put_number(&object,
                      "bytesReturned",
                      before > after ? before - after : 0);
    object_put_number(&object, "freePages", done.shrunk.left);
    object_put_adopt(&object,
                     "interrupted",
                     value_bool(is_interrupted(maintenance)));
    *answer = object;
    return ERR_OK;
}

/* -- Jobs ---------------------------------------------------------------- */

static void free_job(struct job *job)
{
    port_unref(job->order.port);
    buf_release(&job->space);
    buf_release(&job->question);
    mem_free(job, sizeof *job);
}

/* The line of the answer, without the number of the channel. Adopts it. */
static void write_answer(const struct job *job,
                         enum err err,
                         struct value content,
                         const struct err_detail *detail,
                         struct buf *out)
{
    struct value answer = object_new_adopt(NULL, 0);
    object_put_text(&answer, "kind", "answer");
    object_put_number(&answer, "id", job->order.question_id);
    if (err == ERR_OK) {
        object_put_adopt(&answer, "answer", content);
    } else {
        struct value error = object_new_adopt(NULL, 0);
        object_put_text(&error, "code", err_name(err));
        object_put_text(&error, "class", err_class_name(err_class_of(err)));
        object_put_text(&error, "message", detail->text);
        object_put_adopt(&answer, "error", error);
        value_unref(content);
    }
    json_write(out, answer, JSON_AS_GIVEN, 0);
    value_unref(answer);
}

static void run_job(struct maintenance *maintenance, const struct job *job)
{
    struct value question = VALUE_NONE;
    struct value content = VALUE_NONE;
    struct err_detail detail = {0};
    struct backup_file *file = NULL;
    struct buf line = {0};
    enum err err =
        is_interrupted(maintenance) ? refuse_stopping(&detail) : ERR_OK;
    const enum err was_read = json_read(job->question.at,
                                        job->question.length,
                                        NULL,
                                        &question,
                                        NULL);
    CHECK(was_read == ERR_OK); /* the worker has written it */
    if (err == ERR_OK) {
        switch (job->order.kind) {
        case MAINTENANCE_SPACES:
            err = run_spaces(maintenance, job, question, &content, &detail);
            break;
        case MAINTENANCE_BACKUP:
            err = run_backup(maintenance, job, &content, &file, &detail);
            break;
        case MAINTENANCE_COMPACT:
            err = run_compact(maintenance, job, question, &content, &detail);
            break;
        }
    }
    value_unref(question);
    write_answer(job, err, content, &detail, &line);
    struct batch batch = {0};
    struct item *item = item_new(ITEM_ANSWER,
                                 job->order.port,
                                 job->order.channel,
                                 line.at,
                                 line.length);
    item->serial = job->order.serial;
    item->backup = file;
    batch_add(&batch, item);
    maintenance->options.post(maintenance->options.ctx,
                              job->order.worker,
                              &batch);
    buf_release(&line);
}

/* The next job; NULL: the thread ends. */
static struct job *next_job(struct maintenance *maintenance)
{
    lock(maintenance);
    maintenance->is_busy = false;
    while (maintenance->first == NULL &&
           !atomic_load(&maintenance->must_stop)) {
        CHECK(pthread_cond_wait(&maintenance->changed, &maintenance->mutex) ==
              0);
    }
    struct job *job = maintenance->first;
    if (job != NULL) {
        maintenance->first = job->next;
        maintenance->last = job->next == NULL ? NULL : maintenance->last;
        maintenance->waiting--;
        maintenance->is_busy = true;
    }
    unlock(maintenance);
    return job;
}

static void *run(void *ctx)
{
    struct maintenance *maintenance = ctx;
    for (struct job *job = next_job(maintenance); job != NULL;
         job = next_job(maintenance)) {
        run_job(maintenance, job);
        free_job(job);
    }
    return NULL;
}

static struct job *new_job(const struct maintenance_order *order)
{
    struct job *job = mem_alloc_zero(sizeof *job);
    const struct text space = value_text(&order->space);
    job->order = *order;
    job->order.space = VALUE_NONE;
    job->order.question = VALUE_NONE;
    job->order.port = port_ref(order->port);
    buf_append(&job->space, space.at, space.length);
    json_write(&job->question, order->question, JSON_AS_GIVEN, 0);
    return job;
}

enum err maintenance_submit(struct maintenance *maintenance,
                            const struct maintenance_order *order,
                            struct err_detail *detail)
{
    enum err err = ERR_OK;
    lock(maintenance);
    if (atomic_load(&maintenance->must_stop)) {
        err = refuse_stopping(detail);
    } else if (maintenance->waiting == MAINTENANCE_JOBS) {
        err = err_set(detail,
                      ERR_OVERLOADED,
                      "%d other jobs wait, which is the limit; retry later",
                      MAINTENANCE_JOBS);
    } else {
        struct job *job = new_job(order);
        if (maintenance->last != NULL) {
            maintenance->last->next = job;
        } else {
            maintenance->first = job;
        }
        maintenance->last = job;
        maintenance->waiting++;
        CHECK(pthread_cond_signal(&maintenance->changed) == 0);
    }
    unlock(maintenance);
    return err;
}

/* -- Life ---------------------------------------------------------------- */

enum err maintenance_start(const struct maintenance_options *options,
                           struct maintenance **out,
                           struct err_detail *detail)
{
    struct maintenance *maintenance = mem_alloc_zero(sizeof *maintenance);
    maintenance->options = *options;
    CHECK(pthread_mutex_init(&maintenance->mutex, NULL) == 0);
    CHECK(pthread_cond_init(&maintenance->changed, NULL) == 0);
    if (pthread_create(&maintenance->thread, NULL, run, maintenance) != 0) {
        maintenance_free(maintenance);
        return err_set(detail, ERR_IO, "a thread could not be started");
    }
    *out = maintenance;
    return ERR_OK;
}

void maintenance_stop(struct maintenance *maintenance)
{
    lock(maintenance);
    atomic_store(&maintenance->must_stop, true);
    CHECK(pthread_cond_broadcast(&maintenance->changed) == 0);
    unlock(maintenance);
}

bool maintenance_is_idle(struct maintenance *maintenance)
{
    lock(maintenance);
    const bool is_idle = maintenance->first == NULL && !maintenance->is_busy;
    unlock(maintenance);
    return is_idle;
}

void maintenance_join(struct maintenance *maintenance)
{
    maintenance_stop(maintenance);
    CHECK(pthread_join(maintenance->thread, NULL) == 0);
}

void maintenance_free(struct maintenance *maintenance)
{
    (void)pthread_cond_destroy(&maintenance->changed);
    (void)pthread_mutex_destroy(&maintenance->mutex);
    mem_free(maintenance, sizeof *maintenance);
}
