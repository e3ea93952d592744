// SPDX-License-Identifier: MIT
/*
 * Values that live between runs: a decoder whose keys and values lie in a cache of pages, in
 * chunks of any size and in batches of ragged sequences, beside the same one computed as a
 * whole; and what may be written over and what not.
 */
#include <malloc.h>
#include <unistd.h>
#include "decodernet.h"

#define POOL_PAGES	200

enum { IN_TOKENS, IN_POSITIONS, IN_SLOTS, IN_PAGES, IN_LENGTHS, IN_ROWS, IN_K, IN_V, IN_KS, IN_VS };

/**
 * struct runner - a decoder with a cache
 * @bed: context and graph
 * @program: of it
 * @state: of that
 * @kv: cache
 * @job: for reservations, which copy nothing here
 */
struct runner {
	struct bed *bed;
	struct accel_program *program;
	struct accel_state *state;
	struct accel_kv *kv;
	struct accel_job *job;
};

static void bind_pool(struct runner *r, uint32_t index, const struct accel_tensor *t, bool scales)
{
	struct bed *bed = r->bed;

	MUST(accel_state_set_input(r->state, index, 5,
				   DIMS(NET_LAYERS, t->dims[0], t->dims[1], t->dims[2],
					scales ? 1 : t->dims[3]), scales ? t->quant.scales : t->bo,
				   scales ? t->quant.scales_offset : t->offset));
}

/* The program goes through a file before it runs. */
static bool through_file;

static void to_file_and_back(struct runner *r)
{
	struct accel_program *again = NULL;
	struct bed *bed = r->bed;
	char path[] = "/tmp/accel-cache.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	MUST(accel_program_save(r->program, path, 0));
	MUST(accel_program_load(bed->ctx, path, NULL, &again));
	unlink(path);
	accel_program_unref(r->program);
	r->program = again;
}

static void runner_start(struct runner *r, struct bed *bed, uint32_t dtype, uint32_t level)
{
	struct accel_kv_opts opts = ACCEL_KV_OPTS_INIT;
	struct accel_tensor k, v;

	*r = (struct runner) { .bed = bed };
	net_decoder_build(bed, true, dtype, 1);
	opts.layers = NET_LAYERS;
	opts.kv_heads = NET_KV_HEADS;
	opts.head_dim = NET_DIM;
	opts.dtype = dtype;
	opts.page_size = NET_PAGE;
	opts.pages = POOL_PAGES;
	MUST(accel_kv_create(bed->ctx, &opts, &r->kv));
	MUST(accel_job_create(bed->ctx, NULL, &r->job));
	r->program = compile(bed, level, 0);
	if (through_file)
		to_file_and_back(r);
	r->state = new_state(bed, r->program);
	MUST(accel_kv_tensors(r->kv, 0, &k, &v));
	bind_pool(r, IN_K, &k, false);
	bind_pool(r, IN_V, &v, false);
	if (dtype == ACCEL_S8) {
		bind_pool(r, IN_KS, &k, true);
		bind_pool(r, IN_VS, &v, true);
	}
}

static void runner_stop(struct runner *r)
{
	accel_state_destroy(r->state);
	accel_program_unref(r->program);
	accel_job_destroy(r->job);
	accel_kv_destroy(r->kv);
}

static int32_t *ints(struct runner *r, uint32_t index, uint32_t rank, const int64_t *dims)
{
	struct bed *bed = r->bed;
	int32_t *p;

	MUST(accel_state_set_input(r->state, index, rank, dims, NULL, 0));
	p = accel_state_get_input(r->state, index, NULL);
	assert_non_null(p);
	return p;
}

/**
 * struct piece - tokens of a sequence that a run takes
 * @seq: sequence
 * @text: all its tokens
 * @first: the first one of this run
 * @count: how many
 */
struct piece {
	uint32_t seq;
	const int32_t *text;
	uint32_t first;
	uint32_t count;
};

/* Run, logits for all tokens: they follow one another. */
static const float *runner_run(struct runner *r, const struct piece *pieces, uint32_t count)
{
	int32_t *tokens, *positions, *slots, *table, *lengths, *rows;
	struct accel_kv_rows reserve[16];
	struct accel_tensor pages, keys, to;
	uint32_t seqs[16], i, k, n = 0, all = 0, index = 0;
	struct bed *bed = r->bed;
	struct accel_bo *bo;
	struct accel_value v;

	for (i = 0; i < count; i++) {
		reserve[i] = (struct accel_kv_rows) { pieces[i].seq, pieces[i].count };
		seqs[i] = pieces[i].seq;
		all += pieces[i].count;
	}
	MUST(accel_kv_reserve(r->kv, r->job, reserve, count, NULL, 0, &index));
	assert_int_equal(index, UINT32_MAX);
	tokens = ints(r, IN_TOKENS, 2, DIMS(1, all));
	positions = ints(r, IN_POSITIONS, 2, DIMS(1, all));
	slots = ints(r, IN_SLOTS, 1, DIMS(all));
	table = ints(r, IN_PAGES, 2, DIMS(count, NET_CONTEXT / NET_PAGE));
	lengths = ints(r, IN_LENGTHS, 2, DIMS(count, 3));
	rows = ints(r, IN_ROWS, 1, DIMS(all));
	MUST(accel_kv_table(r->kv, seqs, count, NET_CONTEXT / NET_PAGE, &pages, &keys));
	memcpy(table, (char *)accel_bo_ptr(pages.bo) + pages.offset,
	       count * NET_CONTEXT / NET_PAGE * sizeof(*table));
	for (i = 0; i < count; i++) {
		lengths[3 * i] = ((int32_t *)((char *)accel_bo_ptr(keys.bo) + keys.offset))[i];
		lengths[3 * i + 1] = (int32_t)pieces[i].count;
		lengths[3 * i + 2] = (int32_t)n;
		for (k = 0; k < pieces[i].count; k++, n++) {
			tokens[n] = pieces[i].text[pieces[i].first + k];
			positions[n] = (int32_t)(pieces[i].first + k);
			rows[n] = (int32_t)n;
		}
	}
	accel_bo_unref(pages.bo);
	MUST(accel_bo_create(bed->ctx, all * sizeof(int32_t), NULL, &bo));
	to = accel_tensor_dense(bo, ACCEL_S32, 1, DIMS(all));
	MUST(accel_kv_slots(r->kv, reserve, count, &to));
	memcpy(slots, accel_bo_ptr(bo), all * sizeof(int32_t));
	accel_bo_unref(bo);
	MUST(accel_state_run(r->state));
	return output(bed, r->state, 0, &v);
}

static void make_text(int32_t *text, uint32_t count, uint64_t seed)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		text[i] = (int32_t)((noise(seed, i) + 1) / 2 * (NET_VOCAB - 1));
}

/* The same without a cache */
static float *whole(struct bed *bed, const int32_t *text, uint32_t count)
{
	struct bed other = *bed;
	struct accel_program *program;
	struct accel_state *state;
	struct accel_value v;
	int32_t positions[NET_CONTEXT];
	uint32_t i;
	float *copy = malloc(count * NET_VOCAB * sizeof(*copy));

	assert_non_null(copy);
	assert_int_equal(accel_graph_create(&other.graph), 0);
	net_decoder_build(&other, false, ACCEL_F32, 1);
	program = compile(&other, 3, 0);
	state = new_state(&other, program);
	for (i = 0; i < count; i++)
		positions[i] = (int32_t)i;
	MUST(accel_state_set_input(state, 0, 2, DIMS(1, count), NULL, 0));
	MUST(accel_state_set_input(state, 1, 2, DIMS(1, count), NULL, 0));
	fill_input(state, 0, text, count * sizeof(*text));
	fill_input(state, 1, positions, count * sizeof(*positions));
	MUST(accel_state_run(state));
	memcpy(copy, output(&other, state, 0, &v), count * NET_VOCAB * sizeof(*copy));
	accel_state_destroy(state);
	accel_program_unref(program);
	accel_graph_destroy(other.graph);
	return copy;
}

static void again(struct bed *bed, bool reproducible)
{
	struct accel_ctx_opts opts = ACCEL_CTX_OPTS_INIT;

	accel_graph_destroy(bed->graph);
	accel_ctx_destroy(bed->ctx);
	opts.flags = reproducible ? ACCEL_CTX_REPRODUCIBLE : 0;
	assert_int_equal(accel_ctx_create(bed->dev, &opts, &bed->ctx), 0);
	assert_int_equal(accel_graph_create(&bed->graph), 0);
}

/* In chunks of all sizes, at each level: @bound 0: bits */
static void chunks(struct bed *bed, uint32_t level, bool bits)
{
	enum { COUNT = 45 };
	static const uint32_t sizes[] = { 1, 2, 3, 7, 16, 44 };
	int32_t text[COUNT];
	struct piece piece = { .text = text };
	struct runner r;
	float *want, *once;
	const float *got;
	uint32_t i, k;

	make_text(text, COUNT, 7);
	want = whole(bed, text, COUNT);
	once = malloc(COUNT * NET_VOCAB * sizeof(*once));
	assert_non_null(once);
	runner_start(&r, bed, ACCEL_F32, level);
	piece.count = COUNT;
	MUST(accel_kv_seq_create(r.kv, &piece.seq));
	got = runner_run(&r, &piece, 1);
	memcpy(once, got, COUNT * NET_VOCAB * sizeof(*once));
	assert_close(once, want, COUNT * NET_VOCAB, 0.0002);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_int_equal(accel_kv_seq_destroy(r.kv, piece.seq), 0);
		MUST(accel_kv_seq_create(r.kv, &piece.seq));
		for (k = 0; k < COUNT; k += sizes[i]) {
			piece.first = k;
			piece.count = k + sizes[i] < COUNT ? sizes[i] : COUNT - k;
			got = runner_run(&r, &piece, 1);
			assert_close(got, want + k * NET_VOCAB, piece.count * NET_VOCAB, 0.0002);
			if (bits)
				assert_memory_equal(got, once + k * NET_VOCAB,
						    piece.count * NET_VOCAB * sizeof(*got));
		}
	}
	runner_stop(&r);
	free(once);
	free(want);
}

static void test_chunks(void **state)
{
	uint32_t level;

	for (level = 0; level <= 3; level++) {
		again(*state, false);
		chunks(*state, level, false);
	}
}

static void test_chunks_reproducible(void **state)
{
	uint32_t level;

	for (level = 0; level <= 3; level += 3) {
		again(*state, true);
		chunks(*state, level, true);
	}
}

/* Eight sequences, each in pieces of its own sizes, all in each run */
static void ragged(struct bed *bed, uint32_t dtype, double bound, bool bits)
{
	enum { COUNT = 40, SEQS = 8 };
	int32_t text[SEQS][COUNT];
	struct piece pieces[SEQS], some[SEQS];
	float *want[SEQS], *alone[SEQS];
	uint32_t i, k, n, run;
	const float *got;
	struct runner r;

	runner_start(&r, bed, dtype, 3);
	for (i = 0; i < SEQS; i++) {
		make_text(text[i], COUNT, 100 + i);
		pieces[i] = (struct piece) { .text = text[i], .count = COUNT };
		want[i] = whole(bed, text[i], COUNT);
		alone[i] = malloc(COUNT * NET_VOCAB * sizeof(float));
		assert_non_null(alone[i]);
		MUST(accel_kv_seq_create(r.kv, &pieces[i].seq));
		memcpy(alone[i], runner_run(&r, &pieces[i], 1), COUNT * NET_VOCAB * sizeof(float));
		accel_kv_seq_destroy(r.kv, pieces[i].seq);
		MUST(accel_kv_seq_create(r.kv, &pieces[i].seq));
		pieces[i].count = 0;
	}
	for (run = 0, n = 1; n; run++) {
		for (i = 0, n = 0; i < SEQS; i++) {
			pieces[i].first += pieces[i].count;
			pieces[i].count = (run * 5 + i * 3) % 7 + (i < 4 ? 0 : 1);
			if (pieces[i].first + pieces[i].count > COUNT)
				pieces[i].count = COUNT - pieces[i].first;
			if (pieces[i].first < COUNT)
				some[n++] = pieces[i];
		}
		if (!n)
			break;
		for (i = 0, k = 0; i < n; i++)
			k += some[i].count;
		if (!k)
			continue;
		got = runner_run(&r, some, n);
		for (i = 0; i < n; i++) {
			k = (uint32_t)(some[i].text - text[0]) / COUNT;
			assert_close(got, want[k] + some[i].first * NET_VOCAB,
				     some[i].count * NET_VOCAB, bound);
			if (bits)
				assert_memory_equal(got, alone[k] + some[i].first * NET_VOCAB,
						    some[i].count * NET_VOCAB * sizeof(*got));
			got += some[i].count * NET_VOCAB;
		}
	}
	for (i = 0; i < SEQS; i++) {
		free(want[i]);
		free(alone[i]);
	}
	runner_stop(&r);
}

static void test_ragged(void **state)
{
	ragged(*state, ACCEL_F32, 0.0002, false);
}

static void test_ragged_reproducible(void **state)
{
	again(*state, true);
	ragged(*state, ACCEL_F32, 0.0002, true);
}

/* Logits are from -4 to 4. */
static void test_through_file(void **state)
{
	through_file = true;
	test_chunks(state);
	through_file = false;
}

static void test_ragged_types(void **state)
{
	again(*state, true);
	ragged(*state, ACCEL_F16, 0.02, true);
	again(*state, true);
	ragged(*state, ACCEL_BF16, 0.15, true);
	again(*state, true);
	ragged(*state, ACCEL_S8, 0.3, true);
}

/* A step that is like the one before takes no memory and makes no plan. */
static void test_step_makes_nothing(void **state)
{
	struct bed *bed = *state;
	int32_t text[8], *at;
	struct piece piece = { .text = text, .count = 4 };
	struct mallinfo2 before, after;
	struct accel_value v;
	struct runner r;
	float first[NET_VOCAB], *want;

	make_text(text, 8, 3);
	want = whole(bed, text, 6);
	runner_start(&r, bed, ACCEL_F32, 3);
	MUST(accel_kv_seq_create(r.kv, &piece.seq));
	runner_run(&r, &piece, 1);
	piece.first = 4;
	piece.count = 1;
	memcpy(first, runner_run(&r, &piece, 1), sizeof(first));
	MUST(accel_kv_reserve(r.kv, r.job, &(struct accel_kv_rows) { piece.seq, 1 }, 1, NULL, 0,
			      NULL));
	before = mallinfo2();
	at = accel_state_get_input(r.state, IN_TOKENS, NULL);
	at[0] = text[5];
	at = accel_state_get_input(r.state, IN_POSITIONS, NULL);
	at[0]++;
	at = accel_state_get_input(r.state, IN_SLOTS, NULL);
	at[0]++;
	at = accel_state_get_input(r.state, IN_LENGTHS, NULL);
	at[0]++;
	MUST(accel_state_run(r.state));
	after = mallinfo2();
	assert_true(after.uordblks == before.uordblks);
	assert_close(first, want + 4 * NET_VOCAB, NET_VOCAB, 0.0002);
	assert_close(output(bed, r.state, 0, &v), want + 5 * NET_VOCAB, NET_VOCAB, 0.0002);
	runner_stop(&r);
	free(want);
}

/* --- what may be written over ------------------------------------------------------- */

static int write_over(struct bed *bed, uint32_t pool, uint32_t rows, uint32_t slots, uint32_t *d)
{
	struct accel_kv_write_desc desc = ACCEL_KV_WRITE_DESC_INIT;
	struct accel_graph_arg args[] = {
		{ ACCEL_ARG_D, ACCEL_VALUE_NEW }, { ACCEL_ARG_A, rows },
		{ ACCEL_ARG_AUX2, slots }, { ACCEL_ARG_B, pool }
	};
	struct accel_value v = ACCEL_VALUE_INIT;
	int ret = accel_graph_add(bed->graph, "write", &desc.hdr, args, 4);

	*d = args[0].value;
	return ret ? ret : accel_graph_get_value(bed->graph, *d, &v);
}

/* One over the other's result: both are there, and nobody has to read them. */
static void test_chain(void **state)
{
	struct bed *bed = *state;
	uint32_t pool = add_input(bed, "pool", ACCEL_F32, 4, DIMS(2, 2, 1, 4));
	uint32_t a = add_input(bed, "a", ACCEL_F32, 3, DIMS(1, 1, 4)), d;
	uint32_t b = add_input(bed, "b", ACCEL_F32, 3, DIMS(2, 1, 4));
	uint32_t sa = add_input(bed, "sa", ACCEL_S32, 1, DIMS(1));
	uint32_t sb = add_input(bed, "sb", ACCEL_S32, 1, DIMS(2));
	const float rows[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	const float want[] = { 0, 0, 0, 0, 5, 6, 7, 8, 0, 0, 0, 0, 1, 2, 3, 4 };
	const int32_t slots[] = { 3, 1 };
	struct accel_program *program;
	struct accel_state *s;
	float *p;

	MUST_GRAPH(write_over(bed, pool, a, sa, &d));
	MUST_GRAPH(write_over(bed, d, b, sb, &d));
	add_output(bed, "y", add_act(bed, NULL, ACCEL_ACT_RELU, a));
	program = compile(bed, 3, 0);
	s = new_state(bed, program);
	p = accel_state_get_input(s, 0, NULL);
	memset(p, 0, sizeof(want));
	fill_input(s, 1, rows + 4, 16);
	fill_input(s, 2, rows, 32);
	fill_input(s, 3, slots, 4);
	fill_input(s, 4, slots, 8);
	MUST(accel_state_run(s));
	assert_memory_equal(p, want, sizeof(want));
	accel_state_destroy(s);
	accel_program_unref(program);
}

static void expect_over(struct bed *bed, uint32_t pool, uint32_t rows, uint32_t slots,
			const char *text)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	uint32_t d;

	assert_int_equal(write_over(bed, pool, rows, slots, &d), -EINVAL);
	accel_graph_get_error(bed->graph, &e);
	if (!strstr(e.text, text))
		fail_msg("'%s' does not say '%s'", e.text, text);
	accel_graph_destroy(bed->graph);
	assert_int_equal(accel_graph_create(&bed->graph), 0);
}

static void test_mistakes(void **state)
{
	struct accel_kv_write_desc desc = ACCEL_KV_WRITE_DESC_INIT;
	struct accel_dynamic_desc twice = ACCEL_DYNAMIC_DESC_INIT(ACCEL_DYNAMIC_IF);
	struct accel_graph_arg args[] = {
		{ ACCEL_ARG_D, ACCEL_VALUE_NEW }, { ACCEL_ARG_A, 0 }, { ACCEL_ARG_AUX2, 0 },
	};
	struct bed *bed = *state, body = *bed;
	float zeros[16] = { 0 };
	uint32_t pool, a, s, d, k;

	for (k = 0; k < 4; k++) {
		pool = add_input(bed, "pool", ACCEL_F32, 4, DIMS(2, 2, 1, 4));
		a = add_input(bed, "a", ACCEL_F32, 3, DIMS(1, 1, k == 3 ? 5 : 4));
		s = add_input(bed, "s", ACCEL_S32, 1, DIMS(1));
		if (k == 0)
			expect_over(bed, add_const(bed, ACCEL_F32, 4, DIMS(2, 2, 1, 4), zeros), a,
				    s, "no part of an input");
		if (k == 1)
			expect_over(bed, add_act(bed, NULL, ACCEL_ACT_RELU, pool), a, s,
				    "no part of an input");
		if (k == 2) {
			MUST_GRAPH(write_over(bed, pool, a, s, &d));
			expect_over(bed, pool, a, s, "another node writes over it");
		}
		if (k == 3)
			expect_over(bed, pool, a, s, "dims");
	}
	/* Without what it goes over */
	a = add_input(bed, "a", ACCEL_F32, 3, DIMS(1, 1, 4));
	args[1].value = a;
	args[2].value = add_input(bed, "s", ACCEL_S32, 1, DIMS(1));
	assert_int_equal(accel_graph_add(bed->graph, NULL, &desc.hdr, args, 3), -EINVAL);
	/* In a graph of a node */
	assert_int_equal(accel_graph_create(&twice.body), 0);
	body.graph = twice.body;
	pool = add_input(&body, "pool", ACCEL_F32, 4, DIMS(2, 2, 1, 4));
	a = add_input(&body, "a", ACCEL_F32, 3, DIMS(1, 1, 4));
	s = add_input(&body, "s", ACCEL_S32, 1, DIMS(1));
	assert_int_equal(write_over(&body, pool, a, s, &d), 0);
	add_output(&body, "d", d);
	assert_int_equal(accel_graph_create(&twice.other), 0);
	body.graph = twice.other;
	add_output(&body, "d", add_input(&body, "x", ACCEL_F32, 1, DIMS(1)));
	s = add_input(bed, "c", ACCEL_HOST_BOOL, 0, NULL);
	assert_int_equal(accel_graph_dynamic(bed->graph, NULL, &twice,
					     (uint32_t[]) { s, s, s, s, s }, 5, &d, 1),
			 -EOPNOTSUPP);
}

#define TEST(name)	cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_chunks),
		TEST(test_chunks_reproducible),
		TEST(test_ragged),
		TEST(test_ragged_reproducible),
		TEST(test_ragged_types),
		TEST(test_through_file),
		TEST(test_step_makes_nothing),
		TEST(test_chain),
		TEST(test_mistakes),
	};

	return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
