/* bucket_queue: the least key first, and the oldest of it. */

#include "base/bucket_queue.h"

#include "base/check.h"
#include "base/random.h"
#include "lib/test.h"

struct job {
    struct bucket_item item;
};

static struct job *job_of(struct bucket_item *item)
{
    return item != NULL ? CONTAINER_OF(item, struct job, item) : NULL;
}

static void push(struct bucket_queue *queue, struct job *job, uint32_t key)
{
    bucket_queue_push(queue, &job->item, key);
}

static struct job *pop(struct bucket_queue *queue)
{
    return job_of(bucket_queue_pop(queue));
}

static struct job *pop_from(struct bucket_queue *queue, uint32_t from)
{
    return job_of(bucket_queue_pop_from(queue, from));
}

static void release(struct bucket_queue *queue)
{
    EXPECT(bucket_queue_check(queue));
    while (pop(queue) != NULL) {
    }
    bucket_queue_release(queue);
}

TEST(a_zeroed_queue_is_empty_and_owns_nothing)
{
    const uint64_t before = test_allocations();
    struct bucket_queue queue = {0};
    EXPECT(bucket_queue_is_empty(&queue));
    EXPECT(bucket_queue_check(&queue));
    EXPECT(pop(&queue) == NULL);
    EXPECT(pop_from(&queue, 5) == NULL);
    EXPECT_EQ(bucket_queue_lowest(&queue, 0), BUCKET_KEY_NONE);
    bucket_queue_release(&queue);
    EXPECT_EQ(test_allocations(), before);
}

TEST(q4_a_zeroed_item_is_in_no_queue_and_a_popped_one_neither)
{
    struct bucket_queue queue = {0};
    struct job job = {0};
    EXPECT(!bucket_item_is_queued(&job.item));
    push(&queue, &job, 0);
    EXPECT(bucket_item_is_queued(&job.item));
    EXPECT_EQ(bucket_item_key(&job.item), 0);
    EXPECT(pop(&queue) == &job);
    EXPECT(!bucket_item_is_queued(&job.item));
    release(&queue);
}

TEST(the_least_key_leaves_first)
{
    static const uint32_t keys[] = {5, 0, 4096, 63, 64, 1000000, 65, 4095, 1};
    static const size_t order[] = {1, 8, 0, 3, 4, 6, 7, 2, 5};
    struct bucket_queue queue = {0};
    struct job jobs[COUNT_OF(keys)] = {0};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        push(&queue, &jobs[i], keys[i]);
    }
    EXPECT(bucket_queue_check(&queue));
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        EXPECT_EQ(bucket_queue_lowest(&queue, 0), keys[order[i]]);
        EXPECT(pop(&queue) == &jobs[order[i]]);
    }
    EXPECT(pop(&queue) == NULL);
    release(&queue);
}

TEST(equal_keys_leave_in_the_order_they_came)
{
    struct bucket_queue queue = {0};
    struct job jobs[5] = {0};
    for (size_t i = 0; i < COUNT_OF(jobs); i++) {
        push(&queue, &jobs[i], 9);
    }
    bucket_queue_remove(&queue, &jobs[0].item); /* the oldest */
    bucket_queue_remove(&queue, &jobs[3].item);
    push(&queue, &jobs[0], 9);
    EXPECT(bucket_queue_check(&queue));

    EXPECT(pop(&queue) == &jobs[1]);
    EXPECT(pop(&queue) == &jobs[2]);
    EXPECT(pop(&queue) == &jobs[4]);
    EXPECT(pop(&queue) == &jobs[0]);
    EXPECT(bucket_queue_is_empty(&queue));
    release(&queue);
}

TEST(a_moved_item_goes_behind_those_of_its_new_key)
{
    struct bucket_queue queue = {0};
    struct job jobs[4] = {0};
    push(&queue, &jobs[0], 1);
    push(&queue, &jobs[1], 1);
    push(&queue, &jobs[2], 2);
    push(&queue, &jobs[3], 2);

    bucket_queue_move(&queue, &jobs[0].item, 2);
    bucket_queue_move(&queue, &jobs[2].item, 2); /* keeps its place */
    bucket_queue_move(&queue, &jobs[3].item, 70);
    EXPECT(bucket_queue_check(&queue));
    EXPECT_EQ(bucket_item_key(&jobs[3].item), 70);

    EXPECT(pop(&queue) == &jobs[1]);
    EXPECT(pop(&queue) == &jobs[2]);
    EXPECT(pop(&queue) == &jobs[0]);
    EXPECT(pop(&queue) == &jobs[3]);
    release(&queue);
}

TEST(a_sweep_leaves_what_joins_behind_it_for_the_next)
{
    struct bucket_queue queue = {0};
    struct job jobs[4] = {0};
    push(&queue, &jobs[0], 10);
    push(&queue, &jobs[1], 20);

    EXPECT(pop_from(&queue, 0) == &jobs[0]);
    push(&queue, &jobs[2], 3);  /* behind the cursor */
    push(&queue, &jobs[3], 10); /* at it */
    EXPECT(pop_from(&queue, 10) == &jobs[3]);
    EXPECT(pop_from(&queue, 10) == &jobs[1]);
    EXPECT(pop_from(&queue, 20) == NULL);
    EXPECT(bucket_queue_check(&queue));

    EXPECT(pop_from(&queue, 0) == &jobs[2]);
    release(&queue);
}

TEST(a_peek_finds_the_least_key_from_any_start)
{
    static const uint32_t keys[] = {0, 63, 64, 4095, 4096, 300000, 999999};
    struct bucket_queue queue = {0};
    struct job jobs[COUNT_OF(keys)] = {0};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        push(&queue, &jobs[i], keys[i]);
    }
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const uint32_t next =
            i + 1 < COUNT_OF(keys) ? keys[i + 1] : BUCKET_KEY_NONE;
        EXPECT_EQ(bucket_queue_lowest(&queue, keys[i]), keys[i]);
        EXPECT_EQ(bucket_queue_lowest(&queue, keys[i] + 1), next);
    }
    EXPECT_EQ(bucket_queue_lowest(&queue, UINT32_MAX), BUCKET_KEY_NONE);
    release(&queue);
}

TEST(a_failed_search_is_remembered_and_undone_by_a_push)
{
    struct bucket_queue queue = {0};
    struct job jobs[3] = {0};
    push(&queue, &jobs[0], 5);
    push(&queue, &jobs[1], 90000);
    bucket_queue_remove(&queue, &jobs[1].item);
    EXPECT_EQ(queue.high, 90000);
    EXPECT(pop_from(&queue, 6) == NULL);
    EXPECT_EQ(queue.high, 5);
    EXPECT(bucket_queue_check(&queue));

    push(&queue, &jobs[2], 80000);
    EXPECT(pop_from(&queue, 6) == &jobs[2]);
    EXPECT(pop_from(&queue, 0) == &jobs[0]);
    release(&queue);
}

TEST(the_marks_start_anew_in_an_empty_queue)
{
    struct bucket_queue queue = {0};
    struct job job = {0};
    push(&queue, &job, 3);
    EXPECT(pop(&queue) == &job);
    push(&queue, &job, 700);
    EXPECT_EQ(queue.low, 700);
    EXPECT_EQ(queue.high, 700);
    release(&queue);
}

TEST(the_low_mark_follows_the_pops)
{
    struct bucket_queue queue = {0};
    struct job jobs[3] = {0};
    push(&queue, &jobs[0], 3);
    push(&queue, &jobs[1], 5000);
    push(&queue, &jobs[2], 9000);
    EXPECT(pop(&queue) == &jobs[0]);
    EXPECT(pop(&queue) == &jobs[1]);
    EXPECT_EQ(queue.low, 5000);
    EXPECT_EQ(queue.high, 9000);
    EXPECT(pop_from(&queue, 6000) == &jobs[2]); /* says nothing of 5000 */
    push(&queue, &jobs[0], 5500);
    push(&queue, &jobs[1], 7000);
    EXPECT(pop_from(&queue, 6000) == &jobs[1]);
    EXPECT_EQ(queue.low, 5500);
    release(&queue);
}

TEST(memory_doubles_at_the_boundaries_and_is_kept)
{
    static const struct {
        uint32_t key;
        size_t capacity;
    } rows[] = {
        {0, 64},
        {63, 64},
        {64, 128},
        {127, 128},
        {4095, 4096},
        {4096, 8192},
        {0, 8192},
        {1000000, 1 << 20},
    };
    struct bucket_queue queue = {0};
    struct job jobs[COUNT_OF(rows)] = {0};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        push(&queue, &jobs[i], rows[i].key);
        EXPECT_EQ(queue.capacity, rows[i].capacity);
    }
    release(&queue);
}

TEST(the_greatest_key_works)
{
    struct bucket_queue queue = {0};
    struct job jobs[2] = {0};
    push(&queue, &jobs[0], BUCKET_KEY_MAX);
    push(&queue, &jobs[1], 0);
    EXPECT_EQ(bucket_queue_lowest(&queue, 1), BUCKET_KEY_MAX);
    EXPECT(pop_from(&queue, 1) == &jobs[0]);
    EXPECT(pop(&queue) == &jobs[1]);
    bucket_queue_release(&queue);
}

TEST(a_queue_that_has_seen_its_keys_allocates_nothing)
{
    struct bucket_queue queue = {0};
    struct job jobs[200] = {0};
    push(&queue, &jobs[0], 20000);
    EXPECT(pop(&queue) == &jobs[0]);

    const uint64_t before = test_allocations();
    for (unsigned round = 0; round < 20; round++) {
        for (uint32_t i = 0; i < COUNT_OF(jobs); i++) {
            push(&queue, &jobs[i], i * 97 % 20001);
        }
        for (uint32_t i = 0; i < COUNT_OF(jobs); i += 3) {
            bucket_queue_move(&queue, &jobs[i].item, i);
        }
        while (pop(&queue) != NULL) {
        }
    }
    EXPECT_EQ(test_allocations(), before);
    release(&queue);
}

TEST(the_check_sees_what_is_broken)
{
    struct bucket_queue queue = {0};
    struct job jobs[2] = {0};
    push(&queue, &jobs[0], 4);
    push(&queue, &jobs[1], 4);
    EXPECT(bucket_queue_check(&queue));

    queue.used[0] ^= 1; /* a bit for an empty bucket */
    EXPECT(!bucket_queue_check(&queue));
    queue.used[0] ^= 1;
    queue.used_words[0] ^= 1;
    EXPECT(!bucket_queue_check(&queue));
    queue.used_words[0] ^= 1;
    queue.low = 5;
    EXPECT(!bucket_queue_check(&queue));
    queue.low = 4;
    jobs[1].item.place++;
    EXPECT(!bucket_queue_check(&queue));
    jobs[1].item.place--;
    queue.count++;
    EXPECT(!bucket_queue_check(&queue));
    queue.count--;
    release(&queue);
}

/* ---- against a plain search ---- */

enum {
    JOB_COUNT = 80
};

/* What the queue should hold: for each job its key and when it got it. */
struct model {
    struct bucket_queue queue;
    struct job jobs[JOB_COUNT];
    uint32_t keys[JOB_COUNT]; /* BUCKET_KEY_NONE: not queued */
    uint64_t since[JOB_COUNT];
    uint64_t now;
};

static void model_set(struct model *model, size_t i, uint32_t key)
{
    if (model->keys[i] != key) {
        model->keys[i] = key;
        model->since[i] = model->now++;
    }
}

/* The index of the job that a pop from `from` takes, or JOB_COUNT. */
static size_t model_lowest(const struct model *model, uint32_t from)
{
    size_t best = JOB_COUNT;
    for (size_t i = 0; i < JOB_COUNT; i++) {
        const uint32_t key = model->keys[i];
        if (key == BUCKET_KEY_NONE || key < from) {
            continue;
        }
        if (best == JOB_COUNT || key < model->keys[best] ||
            (key == model->keys[best] &&
             model->since[i] < model->since[best])) {
            best = i;
        }
    }
    return best;
}

static void pop_both(struct model *model, uint32_t from)
{
    const size_t want = model_lowest(model, from);
    const uint32_t key = want < JOB_COUNT ? model->keys[want] : BUCKET_KEY_NONE;
    EXPECT_EQ(bucket_queue_lowest(&model->queue, from), key);
    EXPECT(pop_from(&model->queue, from) ==
           (want < JOB_COUNT ? &model->jobs[want] : NULL));
    if (want < JOB_COUNT) {
        model_set(model, want, BUCKET_KEY_NONE);
    }
}

static void step(struct model *model, uint32_t key_max, struct random *random)
{
    const size_t i = random_below(random, JOB_COUNT);
    const uint32_t key = (uint32_t)random_below(random, key_max + 1);
    struct bucket_item *item = &model->jobs[i].item;
    EXPECT(bucket_item_is_queued(item) == (model->keys[i] != BUCKET_KEY_NONE));

    if (random_one_in(random, 4)) {
        pop_both(model, random_one_in(random, 2) ? 0 : key);
    } else if (model->keys[i] == BUCKET_KEY_NONE) {
        bucket_queue_push(&model->queue, item, key);
        model_set(model, i, key);
    } else if (random_one_in(random, 2)) {
        bucket_queue_remove(&model->queue, item);
        model_set(model, i, BUCKET_KEY_NONE);
    } else {
        bucket_queue_move(&model->queue, item, key);
        model_set(model, i, key);
    }
}

static void compare_with_model(struct random *random,
                               uint32_t key_max,
                               unsigned steps,
                               unsigned steps_a_check)
{
    struct model model = {.now = 0};
    for (size_t i = 0; i < JOB_COUNT; i++) {
        model.keys[i] = BUCKET_KEY_NONE;
    }
    for (unsigned n = 1; n <= steps; n++) {
        step(&model, key_max, random);
        if (n % steps_a_check == 0 &&
            !EXPECT(bucket_queue_check(&model.queue))) {
            break;
        }
    }
    while (!bucket_queue_is_empty(&model.queue)) {
        pop_both(&model, 0);
    }
    EXPECT_EQ(model_lowest(&model, 0), JOB_COUNT);
    release(&model.queue);
}

PROPERTY(a_queue_of_few_keys_agrees_with_a_search, 30)
{
    compare_with_model(random, 5, 300, 1);
}

PROPERTY(a_queue_of_many_keys_agrees_with_a_search, 30)
{
    compare_with_model(random, 700, 300, 1);
}

PROPERTY(a_queue_of_sparse_keys_agrees_with_a_search, 3)
{
    compare_with_model(random, 1000000, 2000, 1000);
}
