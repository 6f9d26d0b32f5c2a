/* What the nodes of a stage do: reading, writing, and what is ready-made
 * (lib/sched_kit.h is the manual). */

#include "lib/sched_kit.h"
#include "lib/test.h"

struct value kit_input(struct run *run, struct kit_node *node, size_t index)
{
    CHECK(index < node->read_count);
    const struct kit_place *from = &node->reads[index];
    struct value value = VALUE_NONE;
    (void)run_read(run, from->place, from->kind, from->flags, &value);
    return value;
}

int64_t kit_number(struct run *run, struct kit_node *node, size_t index)
{
    const struct value value = kit_input(run, node, index);
    const int64_t number =
        value_tag(value) == TAG_INT ? value_integer(value) : 0;
    value_unref(value);
    return number;
}

static void write_adopt(struct run *run,
                        struct place *place,
                        struct value value)
{
    struct err_detail detail = {0};
    if (run->sched->unwinding) { /* what was read is not there */
        value_unref(value);
        return;
    }
    const enum err err =
        value_is_absent(value)
            ? transaction_delete(run->transaction, place, &detail)
            : transaction_put_adopt(run->transaction, place, value, &detail);
    if (err != ERR_OK) {
        (void)test_fail(__FILE__, __LINE__, "%s", detail.text);
    }
}

void kit_output_adopt(struct run *run,
                      struct kit_node *node,
                      size_t index,
                      struct value value)
{
    CHECK(index < node->write_count);
    write_adopt(run, node->writes[index].place, value);
}

struct value kit_look(struct run *run, struct kit_node *node, const char *name)
{
    struct place *place = kit_place(node->kit, name);
    struct value value = VALUE_NONE;
    (void)run_read(run, place, READ_DEEP, READ_FOR_BOTH, &value);
    place_unref(place);
    return value;
}

void kit_write_adopt(struct run *run,
                     struct kit_node *node,
                     const char *name,
                     struct value value)
{
    struct place *place = kit_place(node->kit, name);
    write_adopt(run, place, value);
    place_unref(place);
}

static void next_word(struct buf *to)
{
    if (to->length > 0) {
        buf_append_char(to, ' ');
    }
}

void kit_note(struct kit_node *node, struct value value)
{
    next_word(&node->seen);
    kit_put_value(&node->seen, value);
}

static enum run_result write_all(struct run *run,
                                 struct kit_node *node,
                                 struct value value)
{
    for (size_t i = 0; i < node->write_count; i++) {
        kit_output_adopt(run, node, i, value_ref(value));
    }
    if (node->kit->sched->unwinding == false) {
        kit_note(node, value);
    }
    value_unref(value);
    return RUN_DONE;
}

static int64_t sum_of(struct run *run, struct kit_node *node)
{
    int64_t sum = node->k;
    for (size_t i = 0; i < node->read_count; i++) {
        sum += kit_number(run, node, i);
    }
    return sum;
}

enum run_result kit_fn_sum(struct run *run, struct kit_node *node)
{
    return write_all(run, node, value_int(sum_of(run, node)));
}

enum run_result kit_fn_times(struct run *run, struct kit_node *node)
{
    return write_all(run, node, value_int(kit_number(run, node, 0) * node->k));
}

enum run_result kit_fn_modulo(struct run *run, struct kit_node *node)
{
    return write_all(run, node, value_int(kit_number(run, node, 0) % node->k));
}

enum run_result kit_fn_divide(struct run *run, struct kit_node *node)
{
    return write_all(run, node, value_int(kit_number(run, node, 0) / node->k));
}

enum run_result kit_fn_copy(struct run *run, struct kit_node *node)
{
    return write_all(run, node, kit_input(run, node, 0));
}

enum run_result kit_fn_constant(struct run *run, struct kit_node *node)
{
    for (size_t i = 0; i < node->read_count; i++) {
        value_unref(kit_input(run, node, i));
    }
    return write_all(run, node, value_int(node->k));
}

static bool is_true(struct value value)
{
    return !value_is_absent(value) &&
           !value_is_same(value, value_bool(false)) &&
           !value_is_same(value, value_int(0));
}

enum run_result kit_fn_select(struct run *run, struct kit_node *node)
{
    const struct value selector = kit_input(run, node, 0);
    const size_t index = is_true(selector) ? 1 : 2;
    value_unref(selector);
    return write_all(run, node, kit_input(run, node, index));
}

enum run_result kit_fn_see(struct run *run, struct kit_node *node)
{
    struct buf word = {0};
    for (size_t i = 0; i < node->read_count; i++) {
        const struct value value = kit_input(run, node, i);
        if (i > 0) {
            buf_append_char(&word, ',');
        }
        kit_put_value(&word, value);
        value_unref(value);
    }
    if (!run->sched->unwinding) {
        next_word(&node->seen);
        buf_append(&node->seen, word.at, word.length);
    }
    buf_release(&word);
    return RUN_DONE;
}

enum run_result kit_fn_meanwhile(struct run *run, struct kit_node *node)
{
    const int64_t sum = sum_of(run, node);
    const char *meanwhile = node->meanwhile;
    node->meanwhile = NULL;
    if (meanwhile != NULL) {
        kit_set_all(node->kit, meanwhile);
    }
    return write_all(run, node, value_int(sum));
}

enum run_result kit_fn_fail(struct run *run, struct kit_node *node)
{
    (void)kit_fn_sum(run, node);
    struct err_detail detail = {0};
    (void)err_set(&detail, ERR_ARGUMENT, "%s fails", node->name);
    return run_fail(run, &detail);
}
