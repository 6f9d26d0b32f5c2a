/* COLD: a replica that knows nothing yet. */

#include "lib/sched_kit.h"
#include "lib/test.h"

/* observed := input.value, or "missing". */
static enum run_result observe(struct run *run, struct kit_node *node)
{
    struct value value = kit_input(run, node, 0);
    if (value_is_absent(value)) {
        value = value_text_new("missing");
    }
    kit_output_adopt(run, node, 0, value);
    return RUN_DONE;
}

static void begin(struct sched_kit *kit, bool held)
{
    kit_begin_with_store(kit, held);
    kit_elsewhere(kit, "set input {}");
    kit_computation(kit, "C", "input.value -> observed", observe, 0);
}

/* R starts with an empty replica; W is somebody else at the same store. */
TEST(cold_01_what_arrives_later_is_seen)
{
    struct sched_kit kit;
    begin(&kit, true);
    struct kit_node *e = kit_see(&kit, "E", "observed");
    EXPECT_IDLE(&kit);
    kit_pump(&kit);
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "observed", "'missing'");
    kit_pump(&kit);
    kit_elsewhere(&kit, "set input {'value':'arrived'}");
    kit_pump(&kit);
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "observed", "'arrived'");
    /* Perhaps more than once: its first commit came too late, and was taken
     * back. */
    EXPECT_CONTAINS(buf_text(&e->seen), "'missing' 'arrived'");
    kit_pump(&kit);
    EXPECT_TEXT(kit_stored(&kit, "observed"), "{'value':'arrived'}");
    kit_end(&kit);
}

/* What was there before is not missing in the end, either. */
TEST(cold_02_what_was_there_before_is_loaded)
{
    struct sched_kit kit;
    kit_begin_with_store(&kit, true);
    kit_elsewhere(&kit, "set input {'value':'old'}");
    kit_computation(&kit, "C", "input.value -> observed", observe, 0);
    kit_see(&kit, "E", "observed");
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "observed", "'missing'"); /* as far as anybody knew */
    for (int i = 0; i < 4; i++) {
        kit_pump(&kit);
        EXPECT_IDLE(&kit);
    }
    EXPECT_GET(&kit, "observed", "'old'");
    EXPECT_TEXT(kit_stored(&kit, "observed"), "{'value':'old'}");
    EXPECT_EQ(kit.error_count, 0);
    kit_end(&kit);
}

TEST(cold_03_the_same_without_delay)
{
    struct sched_kit kit;
    begin(&kit, false);
    struct kit_node *e = kit_see(&kit, "E", "observed");
    EXPECT_IDLE(&kit);
    kit_elsewhere(&kit, "set input {'value':'arrived'}");
    EXPECT_IDLE(&kit);
    EXPECT_GET(&kit, "observed", "'arrived'");
    EXPECT_SEEN(e, "'missing' 'arrived'");
    kit_end(&kit);
}
