// SPDX-License-Identifier: MIT
/*
 * Inside the planner: forms of requests, capability rows, conversion of constants, results
 * over inputs. Linked with the library's objects; in one file, for they share its requests.
 */
#include <endian.h>
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "libaccel/plan/planner.h"
#include "libaccel/tests/oracle/oracle.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static struct accel_tensor dense(uint32_t dtype, uint32_t rank, int64_t d0, int64_t d1,
				 int64_t d2, int64_t d3, int64_t d4)
{
	const int64_t dims[] = { d0, d1, d2, d3, d4 };

	return accel_tensor_dense(NULL, dtype, rank, dims);
}

static void request(const struct accel_desc *desc, union any_desc *copy,
		    struct request *req)
{
	struct accel_error e = ACCEL_ERROR_INIT;

	if (request_create(desc, copy, req, &e))
		fail_msg("%s: %s", e.field, e.text);
}

static void expect_dims(const struct operand *t, uint32_t rank, int64_t d0, int64_t d1,
			int64_t d2)
{
	const int64_t dims[] = { d0, d1, d2 };
	uint32_t i;

	assert_int_equal(t->rank, rank);
	for (i = 0; i < rank; i++)
		assert_int_equal(t->dims[i], dims[i]);
}

/* --- forms ----------------------------------------------------------------------- */

static void test_fold(void **state)
{
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;
	struct request req, v[MAX_VARIANTS];
	union any_desc copy;

	(void)state;
	/* Batches of one B are rows. */
	g.a = dense(ACCEL_F32, 4, 2, 3, 4, 5, 0);
	g.b = dense(ACCEL_F32, 2, 5, 6, 0, 0, 0);
	g.d = dense(ACCEL_F32, 4, 2, 3, 4, 6, 0);
	g.epilogue.bias = dense(ACCEL_F32, 1, 6, 0, 0, 0, 0);
	request(&g.hdr, &copy, &req);
	assert_int_equal(make_variants(&req, v), 2);
	expect_dims(&v[0].t[UMA_SLOT_A], 2, 24, 5, 0);
	expect_dims(&v[0].t[UMA_SLOT_B], 2, 5, 6, 0);
	expect_dims(&v[0].t[UMA_SLOT_DST], 2, 24, 6, 0);
	expect_dims(&v[0].t[UMA_SLOT_BIAS], 2, 24, 6, 0);
	assert_int_equal(v[0].t[UMA_SLOT_BIAS].strides[0], 0);
	assert_int_equal(v[1].t[UMA_SLOT_DST].rank, 4);

	/* Not if the bias knows the row, but not the batch. */
	g.epilogue.bias = dense(ACCEL_F32, 2, 4, 6, 0, 0, 0);
	request(&g.hdr, &copy, &req);
	assert_int_equal(make_variants(&req, v), 2);
	expect_dims(&v[0].t[UMA_SLOT_A], 3, 6, 4, 5);

	/* Not if rows of A are columns in memory. */
	g.epilogue.bias = (struct accel_tensor){ 0 };
	g.a = dense(ACCEL_F32, 4, 2, 3, 5, 4, 0);
	g.flags = ACCEL_GEMM_TRANS_A;
	request(&g.hdr, &copy, &req);
	make_variants(&req, v);
	expect_dims(&v[0].t[UMA_SLOT_A], 3, 6, 4, 5);

	/* A batch of both stays one, of fewer dimensions. */
	g.flags = 0;
	g.a = dense(ACCEL_F32, 5, 2, 1, 3, 4, 5);
	g.b = dense(ACCEL_F32, 5, 2, 1, 3, 5, 6);
	g.d = dense(ACCEL_F32, 5, 2, 1, 3, 4, 6);
	request(&g.hdr, &copy, &req);
	make_variants(&req, v);
	expect_dims(&v[0].t[UMA_SLOT_B], 3, 6, 5, 6);

	/* Already simple: one form. */
	g.a = dense(ACCEL_F32, 2, 4, 5, 0, 0, 0);
	g.b = dense(ACCEL_F32, 2, 5, 6, 0, 0, 0);
	g.d = dense(ACCEL_F32, 2, 4, 6, 0, 0, 0);
	request(&g.hdr, &copy, &req);
	assert_int_equal(make_variants(&req, v), 1);
	/* Nothing to multiply: left alone. */
	g.a = dense(ACCEL_F32, 3, 0, 4, 5, 0, 0);
	g.d = dense(ACCEL_F32, 3, 0, 4, 6, 0, 0);
	request(&g.hdr, &copy, &req);
	assert_int_equal(make_variants(&req, v), 1);
}

/* Tables of weights: stored transposed, repeated over the batch. */
static void test_tables(void **state)
{
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;
	struct request req, v[MAX_VARIANTS];
	struct operand *b = &req.t[UMA_SLOT_B];
	union any_desc copy;

	(void)state;
	g.a = dense(ACCEL_F16, 3, 2, 4, 64, 0, 0);
	g.b = dense(ACCEL_S4, 2, 6, 64, 0, 0, 0);
	g.b.quant.scheme = ACCEL_QUANT_GROUP;
	g.b.quant.axis = 1;
	g.b.quant.group = 32;
	g.d = dense(ACCEL_F16, 3, 2, 4, 6, 0, 0);
	g.flags = ACCEL_GEMM_TRANS_B;
	request(&g.hdr, &copy, &req);
	assert_int_equal(b->rank, 3);
	assert_int_equal(b->quant.axis, 1);
	assert_int_equal(b->quant.flags, UMA_QUANT_SWAPPED | UMA_QUANT_SHARED(0));
	assert_int_equal(b->quant.entries, 12);
	assert_int_equal(b->strides[1], 1);
	assert_int_equal(b->strides[2], 64);
	make_variants(&req, v);
	b = &v[0].t[UMA_SLOT_B];
	expect_dims(b, 2, 64, 6, 0);
	assert_int_equal(b->quant.axis, 0);
	assert_int_equal(b->quant.flags, UMA_QUANT_SWAPPED);
	/* Channels follow the columns. */
	g.b.quant = (struct accel_quant){ .scheme = ACCEL_QUANT_CHANNEL };
	request(&g.hdr, &copy, &req);
	b = &req.t[UMA_SLOT_B];
	assert_int_equal(b->quant.axis, 2);
	assert_int_equal(b->quant.flags, 0);
}

static void test_merge(void **state)
{
	struct accel_copy_desc c = ACCEL_COPY_DESC_INIT;
	struct request req, v[MAX_VARIANTS];
	union any_desc copy;

	(void)state;
	c.a = dense(ACCEL_S8, 4, 2, 3, 4, 5, 0);
	c.d = dense(ACCEL_F32, 4, 2, 3, 4, 5, 0);
	request(&c.hdr, &copy, &req);
	assert_int_equal(make_variants(&req, v), 2);
	expect_dims(&v[0].t[UMA_SLOT_DST], 1, 120, 0, 0);
	assert_int_equal(v[0].t[UMA_SLOT_A].strides[0], 1);
	/* Channels keep their dimension. */
	c.a.quant.scheme = ACCEL_QUANT_CHANNEL;
	c.a.quant.axis = 1;
	request(&c.hdr, &copy, &req);
	make_variants(&req, v);
	expect_dims(&v[0].t[UMA_SLOT_DST], 3, 2, 3, 20);
	assert_int_equal(v[0].t[UMA_SLOT_A].quant.axis, 1);
	/* A transposition keeps both. */
	c.a = dense(ACCEL_F32, 2, 6, 7, 0, 0, 0);
	c.a.flags = ACCEL_TENSOR_STRIDES;
	c.a.strides[0] = 1;
	c.a.strides[1] = 6;
	c.d = dense(ACCEL_F32, 2, 6, 7, 0, 0, 0);
	request(&c.hdr, &copy, &req);
	assert_int_equal(make_variants(&req, v), 1);
	/* More elements than a dimension can have. */
	c.a = dense(ACCEL_S8, 2, 70000, 70000, 0, 0, 0);
	c.d = c.a;
	request(&c.hdr, &copy, &req);
	assert_int_equal(make_variants(&req, v), 1);
}

/* --- rows ------------------------------------------------------------------------- */

#define BIT(x)	(1u << (x))

/* An engine of one row that takes fp32 by fp32. */
static void test_rows(void **state)
{
	static const struct uma_op_cap row = {
		.opcode = UMA_OP_GEMM, .rank_max = 3, .layouts = 3,
		.a_dtypes = BIT(ACCEL_F32), .b_dtypes = BIT(ACCEL_F32),
		.d_dtypes = BIT(ACCEL_F32) | BIT(ACCEL_F16), .quants = 0x01010101,
		.epilogue = UMA_EPI_BIAS, .acts = BIT(ACCEL_ACT_RELU), .dim_max = 100,
		.k_max = 50, .align = 16, .block_k = 4, .block_n = 16,
		.macs_per_cycle = 10,
	};
	static const struct {
		size_t offset;
		uint32_t size, value;
		const char *field;
	} changes[] = {
#define CAP(f, v, name)	{ offsetof(struct uma_op_cap, f), sizeof(row.f), v, name }
		CAP(opcode, UMA_OP_COPY, "gemm.hdr.op"),
		CAP(a_dtypes, BIT(ACCEL_F16), "gemm.a.dtype"),
		CAP(b_dtypes, BIT(ACCEL_F16), "gemm.b.dtype"),
		CAP(d_dtypes, BIT(ACCEL_F16), "gemm.d.dtype"),
		CAP(quants, 0x01010102, "gemm.a.quant.scheme"),
		CAP(quants, 0x01010201, "gemm.b.quant.scheme"),
		CAP(quants, 0x01020101, "gemm.d.quant.scheme"),
		CAP(quants, 0x02010101, "gemm.epilogue.bias.quant.scheme"),
		CAP(epilogue, UMA_EPI_SCALE, "gemm.epilogue.bias"),
		CAP(acts, BIT(ACCEL_ACT_NONE), "gemm.epilogue.act"),
		CAP(rank_max, 2, "gemm.d.rank"),
		CAP(dim_max, 8, "gemm.d.dims[2]"),
		CAP(dim_max, 6, "gemm.d.dims[1]"),
		CAP(k_max, 4, "gemm.a.dims[2]"),
		CAP(align, 64, "gemm.a.offset"),
	};
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;
	struct uma_op_cap caps[2];
	struct device_engine engine = {
		.info = { .engine = ACCEL_ENGINE_NEURAL, .cap_count = 1,
			  .clock_max_mhz = 100 },
		.caps = caps,
	};
	struct placement p;
	union any_desc copy;
	struct request req;
	uint32_t i;

	(void)state;
	g.a = dense(ACCEL_F32, 3, 2, 7, 5, 0, 0);
	g.b = dense(ACCEL_F32, 3, 2, 5, 9, 0, 0);
	g.d = dense(ACCEL_F32, 3, 2, 7, 9, 0, 0);
	g.epilogue.bias = dense(ACCEL_F32, 1, 9, 0, 0, 0, 0);
	g.epilogue.act = ACCEL_ACT_RELU;
	request(&g.hdr, &copy, &req);
	req.t[UMA_SLOT_A].addr = 0x1010;
	caps[0] = row;
	assert_true(place_on(&engine, "chip", &req, 1, &p));
	assert_ptr_equal(p.row, caps);
	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		caps[0] = row;
		memcpy((char *)caps + changes[i].offset, &changes[i].value,
		       changes[i].size);
		assert_false(place_on(&engine, "chip", &req, 1, &p));
		assert_string_equal(p.field, changes[i].field);
		assert_non_null(strstr(p.text, "neural engine "));
		assert_non_null(strstr(p.text, " on chip"));
	}
	/* A second row that takes it: a row alone, not two halves. */
	engine.info.cap_count = 2;
	caps[0] = row;
	caps[0].a_dtypes = BIT(ACCEL_F16);
	caps[1] = row;
	assert_true(place_on(&engine, "chip", &req, 1, &p));
	assert_ptr_equal(p.row, &caps[1]);
	caps[1].d_dtypes = BIT(ACCEL_F16);
	assert_false(place_on(&engine, "chip", &req, 1, &p));
	assert_string_equal(p.field, "gemm.d.dtype");
	/* No rows at all. */
	engine.info.cap_count = 0;
	assert_false(place_on(&engine, "chip", &req, 1, &p));
	assert_string_equal(p.field, "gemm.hdr.op");
}

/* An engine whose Winograd has no dilation is not given any. */
static void test_dilation(void **state)
{
	struct uma_op_cap row = {
		.opcode = UMA_OP_CONV, .rank_max = 4, .layouts = 3,
		.a_dtypes = BIT(ACCEL_F32), .b_dtypes = BIT(ACCEL_F32),
		.d_dtypes = BIT(ACCEL_F32), .quants = 0x01010101, .dim_max = 1000,
		.k_max = 1000, .align = 4, .macs_per_cycle = 10,
		.funcs = BIT(UMA_CONV_WINOGRAD_2) | UMA_CONV_CAP_DILATION,
	};
	struct device_engine engine = {
		.info = { .engine = ACCEL_ENGINE_NEURAL, .cap_count = 1,
			  .clock_max_mhz = 100 },
		.caps = &row,
	};
	struct accel_conv_desc c = ACCEL_CONV_DESC_INIT;
	union any_desc copy;
	struct placement p;
	struct request req;
	struct way way;

	(void)state;
	c.a = dense(ACCEL_F32, 4, 1, 4, 9, 9, 0);
	c.b = dense(ACCEL_F32, 4, 5, 4, 3, 3, 0);
	c.d = dense(ACCEL_F32, 4, 1, 5, 7, 5, 0);
	c.dilation[1] = 2;
	c.flags = ACCEL_CONV_PACK_B;
	request(&c.hdr, &copy, &req);
	conv_way(&req, ACCEL_CONV_WINOGRAD_2, &way);
	assert_null(way.field);
	assert_true(place_on(&engine, "chip", &way.req, 1, &p));
	row.funcs &= ~UMA_CONV_CAP_DILATION;
	assert_false(place_on(&engine, "chip", &way.req, 1, &p));
	assert_string_equal(p.field, "conv.algorithm");
	assert_non_null(strstr(p.text, "has no function Winograd with dilation"));
}

static void test_cost(void **state)
{
	struct uma_op_cap cap = {
		.opcode = UMA_OP_GEMM, .macs_per_cycle = 10, .block_k = 4,
		.block_n = 16,
	};
	struct device_engine engine = {
		.info = { .engine = ACCEL_ENGINE_MATRIX, .clock_max_mhz = 100 },
	};
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;
	struct placement p = { .row = &cap };
	union any_desc copy;
	struct request req;

	(void)state;
	g.a = dense(ACCEL_F32, 2, 100, 50, 0, 0, 0);
	g.b = dense(ACCEL_F32, 2, 50, 30, 0, 0, 0);
	g.d = dense(ACCEL_F32, 2, 100, 30, 0, 0, 0);
	request(&g.hdr, &copy, &req);
	/* 150,000 products at 10 a cycle of 10 ns; 38,000 bytes. */
	cost(&engine, 0, &req, &p);
	assert_int_equal(p.compute_ns, 150000);
	assert_int_equal(p.memory_ns, 0);
	assert_int_equal(p.bytes, 38000);
	assert_int_equal(p.estimate_ns, p.start_ns + 150000);
	cost(&engine, 38000000, &req, &p);
	assert_int_equal(p.memory_ns, 1000000);
	assert_int_equal(p.estimate_ns, p.start_ns + 1000000);
	/* 52 by 32 with padding, and a header. */
	assert_int_equal(packed_bytes(&req.t[UMA_SLOT_B], &cap, UMA_LAYOUT_GEMM_B),
			 52 * 32 * 4 + 64);
	p.form = WEIGHTS_PACKED;
	p.pack = &cap;
	cost(&engine, 0, &req, &p);
	assert_int_equal(p.bytes, 38000 - 6000 + 52 * 32 * 4 + 64);
	cap.block_k = 0;
	assert_int_equal(packed_bytes(&req.t[UMA_SLOT_B], &cap, UMA_LAYOUT_GEMM_B),
			 UINT64_MAX);
	/* Astronomical: saturated, no overflow. */
	req.macs = UINT64_MAX;
	p.form = WEIGHTS_PLAIN;
	cost(&engine, 1, &req, &p);
	assert_true(p.estimate_ns >= p.compute_ns);
}

/* --- constants ------------------------------------------------------------------------ */

/* Every number of 16 bits, the ties between neighbours, and just beside those. */
static void test_fill_bits(void **state)
{
	uint32_t bits, i, got;
	float f;

	(void)state;
	for (i = 0; i < 0x7c00; i++) {
		double v = oracle_f16_value((uint16_t)i);
		double tie = (v + (i == 0x7bff ? 65536 : oracle_f16_value((uint16_t)(i + 1)))) / 2;

		assert_int_equal(fill_bits(v, ACCEL_F16, &got), 0);
		assert_int_equal(got, i);
		fill_bits(-v, ACCEL_F16, &got);
		assert_int_equal(got, i | 0x8000);
		fill_bits(tie, ACCEL_F16, &got);
		assert_int_equal(got, i + (i & 1));
		fill_bits(nextafter(tie, 0), ACCEL_F16, &got);
		assert_int_equal(got, i);
		fill_bits(nextafter(tie, 1e9), ACCEL_F16, &got);
		assert_int_equal(got, i + 1);
	}
	for (i = 0; i < 0x7f80; i++) {
		double next = 0x1.0p128;

		bits = i << 16;
		memcpy(&f, &bits, sizeof(f));
		fill_bits((double)f, ACCEL_BF16, &got);
		assert_int_equal(got, i);
		if (i + 1 < 0x7f80) {
			float g;

			bits = (i + 1) << 16;
			memcpy(&g, &bits, sizeof(g));
			next = (double)g;
		}
		fill_bits(((double)f + next) / 2, ACCEL_BF16, &got);
		assert_int_equal(got, i + (i & 1));
		fill_bits(nextafter(((double)f + next) / 2, 0), ACCEL_BF16, &got);
		assert_int_equal(got, i);
	}
	assert_int_equal(fill_bits(NAN, ACCEL_S8, &got), -EINVAL);
	assert_int_equal(fill_bits(NAN, ACCEL_F16, &got), 0);
	assert_true((got & 0x7c00) == 0x7c00 && (got & 0x3ff));
}

/* --- results over inputs ------------------------------------------------------------------ */

static uint64_t rng = 7;

static uint32_t below(uint32_t n)
{
	rng = rng * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rng >> 33) % n;
}

/* Bytes of an operand in a small memory. */
static void touch(const struct accel_tensor *t, uint64_t addr, uint8_t *memory,
		  uint8_t mark)
{
	uint32_t bits = accel_dtype_bits(t->dtype), i;
	int64_t idx[ACCEL_MAX_RANK];
	uint64_t n, at;

	for (n = 0; n < oracle_count(t); n++) {
		oracle_index(t, n, idx);
		at = addr + (uint64_t)(oracle_offset(t, idx) * (int64_t)bits / 8);
		for (i = 0; i < (bits + 7) / 8; i++)
			memory[at + i] |= mark;
	}
}

static void random_view(struct accel_tensor *t, uint32_t dtype, const int64_t *dims,
			bool output)
{
	*t = accel_tensor_dense(NULL, dtype, 2, dims);
	t->flags = ACCEL_TENSOR_STRIDES;
	t->strides[1] = 1 + below(3);
	t->strides[0] = t->strides[1] * dims[1] + below(12);
	if (dtype >= ACCEL_S4) {
		t->strides[1] = below(2) ? 1 : 2;
		t->strides[0] = (t->strides[1] * dims[1] + 1 + below(8)) & ~1;
	} else if (below(4) == 0) {
		int64_t s = t->strides[0];

		/* columns first */
		t->strides[1] = 1 + below(2);
		t->strides[0] = t->strides[1];
		t->strides[1] = s * dims[0];
	}
	if (!output && below(6) == 0)
		t->strides[below(2)] = 0;
}

/*
 * Memory that both touch is found, always; and where only an interval is
 * shared, column slices of one matrix are told apart.
 */
static void test_overlap(void **state)
{
	static const uint32_t dtypes[] = { ACCEL_F32, ACCEL_F16, ACCEL_S8, ACCEL_S4 };
	static uint8_t memory[1 << 16];
	struct accel_copy_desc c = ACCEL_COPY_DESC_INIT;
	uint32_t i, j, found = 0, apart = 0, same = 0;
	struct uma_op_cap row = { .align = 1 };
	uint64_t addrs[2];
	union any_desc copy;
	struct request req;

	(void)state;
	for (i = 0; i < 20000; i++) {
		const int64_t dims[] = { 1 + below(5), 1 + below(5) };
		uint32_t a = dtypes[below(4)], d = below(2) ? a : dtypes[below(4)];
		struct accel_plan plan = { 0 };
		bool meet = false, in_place;
		int ret;

		random_view(&c.d, d, dims, true);
		random_view(&c.a, a, dims, false);
		if (below(4) == 0) {
			c.a = c.d;
			a = d;
		}
		addrs[0] = 4096 + 4 * below(40);
		addrs[1] = below(4) ? 4096 + 4 * below(40) : addrs[0];
		request(&c.hdr, &copy, &req);
		assert_int_equal(emit_plan(&plan, &req, &row, NULL, 0), 0);
		assert_int_equal(plan.args[0].arg, ACCEL_ARG_D);
		assert_int_equal(plan.args[1].arg, ACCEL_ARG_A);
		ret = plan_find_overlap(&plan, addrs);
		memset(memory + 3072, 0, 8192);
		touch(&c.d, addrs[0], memory, 1);
		touch(&c.a, addrs[1], memory, 2);
		for (j = 3072; j < 3072 + 8192; j++)
			meet |= memory[j] == 3;
		in_place = addrs[0] == addrs[1] && a == d &&
			   (dims[0] == 1 || c.a.strides[0] == c.d.strides[0]) &&
			   (dims[1] == 1 || c.a.strides[1] == c.d.strides[1]);
		if (in_place)
			assert_int_equal(ret, -1);
		else if (meet && ret != 1)
			fail_msg("%u: [%lld, %lld], %s of strides %lld, %lld at 0x%llx over %s of strides %lld, %lld at 0x%llx",
				 i, (long long)dims[0], (long long)dims[1],
				 accel_dtype_name(d), (long long)c.d.strides[0],
				 (long long)c.d.strides[1],
				 (unsigned long long)addrs[0], accel_dtype_name(a),
				 (long long)c.a.strides[0],
				 (long long)c.a.strides[1],
				 (unsigned long long)addrs[1]);
		found += ret >= 0;
		same += in_place;
		apart += ret < 0 && !in_place &&
			 addrs[0] + (uint64_t)plan.args[0].hi > addrs[1] &&
			 addrs[1] + (uint64_t)plan.args[1].hi > addrs[0];
		free(plan.tasks);
		free(plan.relocs);
	}
	/* All of this happened. */
	assert_true(found > 1000 && apart > 100 && same > 100);
	printf("# overlap: %u found, %u told apart, %u in place\n", found, apart, same);
}

/* Columns of one matrix: a product's result beside its operands. */
static void test_columns(void **state)
{
	struct accel_gemm_desc g = ACCEL_GEMM_DESC_INIT;
	struct uma_op_cap row = { .align = 1 };
	struct accel_plan plan = { 0 };
	uint64_t addrs[4] = { 0x10000, 0x10000 + 16, 0x20000 };
	union any_desc copy;
	struct request req;

	(void)state;
	g.a = dense(ACCEL_F32, 2, 8, 4, 0, 0, 0);
	g.b = dense(ACCEL_F32, 2, 4, 4, 0, 0, 0);
	g.d = dense(ACCEL_F32, 2, 8, 4, 0, 0, 0);
	g.a.flags = g.d.flags = ACCEL_TENSOR_STRIDES;
	g.a.strides[0] = g.d.strides[0] = 8;
	g.a.strides[1] = g.d.strides[1] = 1;
	g.beta = 1;
	request(&g.hdr, &copy, &req);
	assert_int_equal(emit_plan(&plan, &req, &row, NULL, 0), 0);
	/* C is D: three arguments. */
	assert_int_equal(plan.arg_count, 3);
	assert_true(plan.args[0].write && !plan.args[1].write && !plan.args[2].write);
	assert_int_equal(plan_find_overlap(&plan, addrs), -1);
	addrs[1] = 0x10000 + 12;
	assert_int_equal(plan_find_overlap(&plan, addrs), 1);
	addrs[1] = 0x10000;
	assert_int_equal(plan_find_overlap(&plan, addrs), 1);
	addrs[1] = 0x30000;
	addrs[2] = 0x10000 + 28 * 4;
	assert_int_equal(plan_find_overlap(&plan, addrs), 2);
	free(plan.tasks);
	free(plan.relocs);
}

/* --- what devices decide, too -------------------------------------------------- */

/* What is refused as a result is what devices refuse. */
static void test_self_overlap(void **state)
{
	uint32_t i, j, refused = 0;

	(void)state;
	for (i = 0; i < 100000; i++) {
		struct operand t = { .name = "d", .dtype = ACCEL_F32, .rank = 1 + below(4) };
		struct accel_error e = ACCEL_ERROR_INIT;
		struct uma_tensor_view v;
		bool bad;

		for (j = 0; j < t.rank; j++) {
			t.dims[j] = below(6);
			t.strides[j] = (int64_t)below(40) - 8;
		}
		bad = operand_check_output(&t, &e);
		assert_true(operand_view(&t, &v));
		assert_int_equal(bad, uma_self_overlap(&v));
		refused += bad;
	}
	assert_true(refused > 10000 && refused < 90000);
}

static void random_tensor(struct accel_tensor *t, uint32_t dtype, uint32_t rank,
			  const int64_t *dims)
{
	*t = accel_tensor_dense(NULL, dtype, rank, dims);
	if (dtype < ACCEL_S32 || below(3))
		return;
	t->quant.scheme = ACCEL_QUANT_TENSOR;
	t->quant.scale = below(3) ? 1 : 0.5f;
	t->quant.zero = (int32_t)below(3);
}

static void random_epilogue(struct accel_epilogue *epi, const int64_t *n)
{
	if (!below(3))
		epi->act = below(ACCEL_ACT_COUNT);
	if (!below(3))
		random_tensor(&epi->bias, ACCEL_F32 + below(6), 1, n);
	if (!below(5))
		random_tensor(&epi->scale, ACCEL_F32, 1, n);
}

/* An operation that may be one, or not. */
static void random_desc(union any_desc *d)
{
	static const int64_t sizes[] = { 0, 1, 2, 3, 17, 64, 300, 5000, 70000, 20000000 };
	const int64_t m = sizes[below(8)], k = sizes[below(10)], n = sizes[below(6)];
	const int64_t a[] = { 2, m, k }, b[] = { 2, k, n }, r[] = { 2, m, n };
	const uint32_t rank = 2 + below(2), from = 3 - rank;
	const uint32_t ta = 1 + below(8), td = below(2) ? ta : 1 + below(8);

	memset(d, 0, sizeof(*d));
	switch (below(7)) {
	case 0:
	case 1:
		d->gemm = (struct accel_gemm_desc)ACCEL_GEMM_DESC_INIT;
		random_tensor(&d->gemm.a, ta, rank, a + from);
		random_tensor(&d->gemm.b, below(2) ? ta : 1 + below(8), rank, b + from);
		random_tensor(&d->gemm.d, td, rank, r + from);
		random_epilogue(&d->gemm.epilogue, &n);
		d->gemm.beta = below(4) ? 0 : (float)below(3);
		break;
	case 2:
		d->unary = (struct accel_unary_desc)ACCEL_UNARY_DESC_INIT;
		d->unary.func = below(ACCEL_UNARY_COUNT);
		random_tensor(&d->unary.a, ta, rank, a + from);
		random_tensor(&d->unary.d, td, rank, a + from);
		break;
	case 3:
		d->binary = (struct accel_binary_desc)ACCEL_BINARY_DESC_INIT;
		d->binary.func = below(ACCEL_BINARY_COUNT);
		random_tensor(&d->binary.a, ta, rank, a + from);
		random_tensor(&d->binary.b, below(2) ? ta : 1 + below(8), rank, a + from);
		random_tensor(&d->binary.d, td, rank, a + from);
		break;
	case 4:
		d->copy = (struct accel_copy_desc)ACCEL_COPY_DESC_INIT;
		random_tensor(&d->copy.a, ta, rank, a + from);
		random_tensor(&d->copy.d, td, rank, a + from);
		break;
	case 5:
		d->softmax = (struct accel_softmax_desc)ACCEL_SOFTMAX_DESC_INIT;
		d->softmax.func = below(ACCEL_SOFTMAX_COUNT);
		random_tensor(&d->softmax.a, ta, rank, a + from);
		random_tensor(&d->softmax.d, td, rank, a + from);
		break;
	default:
		d->scan = (struct accel_scan_desc)ACCEL_SCAN_DESC_INIT;
		random_tensor(&d->scan.a, ta, rank, a + from);
		random_tensor(&d->scan.d, td, rank, a + from);
		break;
	}
}

/* The task of a request, all of its operands somewhere. */
static void make_task(const struct request *req, const struct uma_op_cap *row,
		      struct uma_task *task)
{
	struct accel_plan plan = { 0 };
	uint32_t i;

	assert_int_equal(emit_plan(&plan, req, row, NULL, UMA_LAYOUT_STRIDED), 0);
	*task = plan.tasks[0];
	for (i = 0; i < plan.reloc_count; i++) {
		const struct plan_reloc *r = &plan.relocs[i];
		const uint32_t at = plan.args[r->arg].arg == ACCEL_ARG_D ? 0 : r->slot;

		assert_int_equal(r->field, PLAN_ADDR);
		task->op[r->slot].addr = htole64((uint64_t)(at + 1) << 42);
	}
	free(plan.tasks);
	free(plan.relocs);
}

/* Every engine of every chip takes what the planner says that it takes, by the same row. */
static void test_same_verdict(void **state)
{
	uint32_t round, i, j, taken = 0, refused = 0;
	const struct uma_profile *profile;

	(void)state;
	for (round = 0; round < 3000; round++) {
		struct accel_error error = ACCEL_ERROR_INIT;
		union any_desc desc, copy;
		struct request req;

		random_desc(&desc);
		if (request_create(&desc.hdr, &copy, &req, &error))
			continue;
		for (i = 0; (profile = uma_profile_get(i)); i++)
			for (j = 0; j < profile->engine_count; j++) {
				const struct uma_engine_desc *e = &profile->engines[j];
				struct device_engine engine = {
					.info = { .engine = e->engine_class + 1,
						  .cap_count = e->cap_count },
					.engine_class = e->engine_class,
					.caps = (struct uma_op_cap *)(uintptr_t)e->caps,
				};
				struct uma_fault_info fault = { 0 };
				struct uma_task task;
				struct placement p;
				struct uma_op op;
				bool ok;
				int row;

				ok = place_on(&engine, profile->name, &req, 1, &p);
				make_task(&req, ok ? p.row : e->caps, &task);
				if (uma_task_decode(&task, &op, &fault))
					fail_msg("round %u: %s is no task: %s of operand %u", round,
						 accel_op_name(req.op), fault.field, fault.slot);
				row = uma_op_check(&op, e, &fault);
				if (ok ? row < 0 || p.row != &e->caps[row] : row >= 0)
					fail_msg("round %u: %s on %s: %s %s, but row %d, %s of operand %u",
						 round, accel_op_name(req.op), profile->name,
						 p.field, p.text, row, row < 0 ? fault.field : "",
						 fault.slot);
				taken += ok;
				refused += !ok;
			}
	}
	printf("# %u taken, %u refused\n", taken, refused);
	assert_true(taken > 3000 && refused > 3000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fold), cmocka_unit_test(test_tables),
		cmocka_unit_test(test_merge), cmocka_unit_test(test_rows),
		cmocka_unit_test(test_cost), cmocka_unit_test(test_dilation),
		cmocka_unit_test(test_fill_bits),
		cmocka_unit_test(test_overlap), cmocka_unit_test(test_columns),
		cmocka_unit_test(test_self_overlap), cmocka_unit_test(test_same_verdict),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
