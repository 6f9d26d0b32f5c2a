/* list: rings of nodes that the items own. */

#include "base/list.h"

#include "base/random.h"
#include "lib/test.h"

struct entry {
    unsigned id;
    struct list_node node;
};

enum {
    ENTRY_COUNT = 24
};

static unsigned id_of(struct list_node *node)
{
    CHECK(node != NULL);
    return CONTAINER_OF(node, struct entry, node)->id;
}

static void init_entries(struct entry entries[], unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        entries[i].id = i;
        list_node_init(&entries[i].node);
    }
}

/* The ids of the list, as digits, and the check of its links. */
static const char *digits(struct list *list)
{
    static char text[16];
    size_t length = 0;
    EXPECT(list_check(list));
    LIST_FOREACH (list, node) {
        text[length++] = (char)('0' + id_of(node));
    }
    text[length] = '\0';
    return text;
}

TEST(a_new_list_is_empty)
{
    struct list list;
    list_init(&list);
    EXPECT(list_is_empty(&list));
    EXPECT(list_first(&list) == NULL);
    EXPECT(list_last(&list) == NULL);
    EXPECT(list_pop_front(&list) == NULL);
    EXPECT_TEXT(digits(&list), "");
}

TEST(nodes_are_pushed_at_both_ends_and_inserted_anywhere)
{
    struct entry entries[5];
    init_entries(entries, 5);
    struct list list;
    list_init(&list);

    list_push_back(&list, &entries[1].node);
    list_push_back(&list, &entries[3].node);
    list_push_front(&list, &entries[0].node);
    list_insert_after(&entries[2].node, &entries[1].node);
    list_insert_before(&entries[4].node, &entries[1].node);
    EXPECT_TEXT(digits(&list), "04123");
    EXPECT_EQ(id_of(list_first(&list)), 0);
    EXPECT_EQ(id_of(list_last(&list)), 3);
}

TEST(l3_a_removed_node_points_to_itself)
{
    struct entry entries[3];
    init_entries(entries, 3);
    struct list list;
    list_init(&list);
    for (unsigned i = 0; i < 3; i++) {
        EXPECT(!list_node_is_linked(&entries[i].node));
        list_push_back(&list, &entries[i].node);
        EXPECT(list_node_is_linked(&entries[i].node));
    }

    list_remove(&entries[1].node);
    EXPECT(!list_node_is_linked(&entries[1].node));
    EXPECT(entries[1].node.prev == &entries[1].node);
    EXPECT_TEXT(digits(&list), "02");
}

TEST(removing_a_node_that_is_in_no_list_is_harmless)
{
    struct list_node node;
    list_node_init(&node);
    list_remove(&node);
    list_remove(&node);
    EXPECT(!list_node_is_linked(&node));
}

TEST(the_first_in_is_the_first_popped)
{
    struct entry entries[3];
    init_entries(entries, 3);
    struct list list;
    list_init(&list);
    for (unsigned i = 0; i < 3; i++) {
        list_push_back(&list, &entries[i].node);
    }
    for (unsigned i = 0; i < 3; i++) {
        EXPECT_EQ(id_of(list_pop_front(&list)), i);
        EXPECT(!list_node_is_linked(&entries[i].node));
    }
    EXPECT(list_is_empty(&list));
}

TEST(a_node_moves_from_any_list_or_none)
{
    struct entry entries[3];
    init_entries(entries, 3);
    struct list a;
    struct list b;
    list_init(&a);
    list_init(&b);

    list_push_back(&a, &entries[0].node);
    list_push_back(&a, &entries[1].node);
    list_move_back(&b, &entries[0].node);  /* from another list */
    list_move_front(&b, &entries[2].node); /* from none */
    list_move_front(&b, &entries[0].node); /* within the list */
    EXPECT_TEXT(digits(&a), "1");
    EXPECT_TEXT(digits(&b), "02");
}

TEST(a_splice_keeps_both_orders_and_empties_its_source)
{
    struct entry entries[4];
    init_entries(entries, 4);
    struct list a;
    struct list b;
    list_init(&a);
    list_init(&b);

    list_splice_back(&a, &b); /* nothing to nothing */
    EXPECT_TEXT(digits(&a), "");

    list_push_back(&b, &entries[0].node);
    list_push_back(&b, &entries[1].node);
    list_splice_back(&a, &b); /* something to nothing */
    EXPECT_TEXT(digits(&a), "01");
    EXPECT_TEXT(digits(&b), "");

    list_splice_back(&a, &b); /* nothing to something */
    EXPECT_TEXT(digits(&a), "01");

    list_push_back(&b, &entries[2].node);
    list_push_back(&b, &entries[3].node);
    list_splice_back(&a, &b);
    EXPECT_TEXT(digits(&a), "0123");
    EXPECT_TEXT(digits(&b), "");
}

TEST(a_walk_may_remove_the_node_it_is_at)
{
    struct entry entries[6];
    init_entries(entries, 6);
    struct list list;
    list_init(&list);
    for (unsigned i = 0; i < 6; i++) {
        list_push_back(&list, &entries[i].node);
    }
    unsigned visits = 0;
    LIST_FOREACH (&list, node) {
        visits++;
        if (id_of(node) % 2 == 0) {
            list_remove(node);
        }
    }
    EXPECT_EQ(visits, 6);
    EXPECT_TEXT(digits(&list), "135");

    LIST_FOREACH (&list, node) {
        list_remove(node);
    }
    EXPECT(list_is_empty(&list));
}

TEST(a_walk_does_not_visit_what_it_inserts_behind_the_current_node)
{
    struct entry entries[4];
    init_entries(entries, 4);
    struct list list;
    list_init(&list);
    list_push_back(&list, &entries[0].node);
    list_push_back(&list, &entries[1].node);

    unsigned visits = 0;
    LIST_FOREACH (&list, node) {
        visits++;
        list_insert_after(&entries[id_of(node) + 2].node, node);
    }
    EXPECT_EQ(visits, 2);
    EXPECT_TEXT(digits(&list), "0213");
}

TEST(the_check_sees_a_broken_link)
{
    struct entry entries[2];
    init_entries(entries, 2);
    struct list list;
    list_init(&list);
    list_push_back(&list, &entries[0].node);
    list_push_back(&list, &entries[1].node);
    EXPECT(list_check(&list));
    entries[1].node.prev = &list.head;
    EXPECT(!list_check(&list));
}

/* ---- against arrays ---- */

struct model {
    unsigned ids[ENTRY_COUNT];
    unsigned count;
};

static void model_insert(struct model *model, unsigned at, unsigned id)
{
    for (unsigned i = model->count; i > at; i--) {
        model->ids[i] = model->ids[i - 1];
    }
    model->ids[at] = id;
    model->count++;
}

/* The place of `id`, or the count if it is not there. */
static unsigned model_find(const struct model *model, unsigned id)
{
    unsigned at = 0;
    while (at < model->count && model->ids[at] != id) {
        at++;
    }
    return at;
}

static void model_remove(struct model *model, unsigned id)
{
    unsigned at = model_find(model, id);
    if (at == model->count) {
        return;
    }
    model->count--;
    for (; at < model->count; at++) {
        model->ids[at] = model->ids[at + 1];
    }
}

static bool matches(struct list *list, const struct model *model)
{
    unsigned at = 0;
    LIST_FOREACH (list, node) {
        if (at >= model->count || id_of(node) != model->ids[at]) {
            return false;
        }
        at++;
    }
    return at == model->count && list_check(list);
}

struct pair {
    struct entry entries[ENTRY_COUNT];
    struct list lists[2];
    struct model models[2];
};

static void step(struct pair *pair, struct random *random)
{
    const unsigned id = (unsigned)random_below(random, ENTRY_COUNT);
    const unsigned side = (unsigned)random_below(random, 2);
    struct list_node *node = &pair->entries[id].node;
    struct list *list = &pair->lists[side];
    struct model *model = &pair->models[side];

    if (random_one_in(random, 16)) {
        struct model *other = &pair->models[1 - side];
        list_splice_back(list, &pair->lists[1 - side]);
        for (unsigned i = 0; i < other->count; i++) {
            model_insert(model, model->count, other->ids[i]);
        }
        other->count = 0;
        return;
    }
    model_remove(&pair->models[0], id);
    model_remove(&pair->models[1], id);
    switch (random_below(random, 4)) {
    case 0:
        list_move_front(list, node);
        model_insert(model, 0, id);
        break;
    case 1:
        list_move_back(list, node);
        model_insert(model, model->count, id);
        break;
    case 2:
        list_remove(node);
        if (model->count > 0) {
            const unsigned at = (unsigned)random_below(random, model->count);
            list_insert_before(node, &pair->entries[model->ids[at]].node);
            model_insert(model, at, id);
        }
        break;
    default:
        list_remove(node);
        break;
    }
}

PROPERTY(two_lists_agree_with_two_arrays, 50)
{
    struct pair pair = {0};
    init_entries(pair.entries, ENTRY_COUNT);
    list_init(&pair.lists[0]);
    list_init(&pair.lists[1]);
    for (unsigned i = 0; i < 300; i++) {
        step(&pair, random);
        if (!EXPECT(matches(&pair.lists[0], &pair.models[0])) ||
            !EXPECT(matches(&pair.lists[1], &pair.models[1]))) {
            return;
        }
    }
    for (unsigned id = 0; id < ENTRY_COUNT; id++) {
        const bool in_a_list =
            model_find(&pair.models[0], id) < pair.models[0].count ||
            model_find(&pair.models[1], id) < pair.models[1].count;
        EXPECT(list_node_is_linked(&pair.entries[id].node) == in_a_list);
    }
}
