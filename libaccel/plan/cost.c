// SPDX-License-Identifier: MIT
/*
 * Roofline model of the time of an operation on the chip: the larger of the time for arithmetic
 * at the highest clock and the time for memory traffic at peak bandwidth, plus a constant start
 * time. Documentation/plans.rst has the formula. It only decides which engine is used, never
 * whether one is supported.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include "libaccel/core/fpmode.h"
#include "libaccel/core/objects.h"
#include "planner.h"

/*
 * Time from the doorbell to the first instruction and from the last one to the interrupt. A
 * matrix unit is next to a core; a GPU fetches and schedules a grid; a neural engine loads its
 * program into its own memory.
 */
static const uint32_t start_ns[ACCEL_ENGINE_COUNT] = {
	[ACCEL_ENGINE_MATRIX] = 1000,
	[ACCEL_ENGINE_GPU] = 8000,
	[ACCEL_ENGINE_NEURAL] = 15000,
};

static uint64_t divup(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

static uint64_t mul_sat(uint64_t a, uint64_t b)
{
	uint64_t r;

	return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

static uint64_t add_sat(uint64_t a, uint64_t b)
{
	uint64_t r;

	return __builtin_add_overflow(a, b, &r) ? UINT64_MAX : r;
}

uint64_t request_read_bytes(const struct request *req)
{
	const uint32_t outputs = uma_op_class(req->opcode)->outputs;
	uint64_t bytes = 0;
	uint32_t s;

	for (s = 0; s < REQUEST_SLOTS; s++) {
		if (!(req->slots & (1u << s)))
			continue;
		if (!(outputs >> s & 1))
			bytes = add_sat(bytes, operand_bytes(&req->t[s]));
		bytes = add_sat(bytes, operand_table_bytes(&req->t[s]));
	}
	return bytes;
}

uint64_t request_write_bytes(const struct request *req)
{
	const uint32_t outputs = uma_op_class(req->opcode)->outputs;
	uint64_t bytes = 0;
	uint32_t s;

	for (s = 0; s < REQUEST_SLOTS; s++)
		if (req->slots & outputs & (1u << s))
			bytes = add_sat(bytes, operand_bytes(&req->t[s]));
	return bytes;
}

/**
 * packed_bytes - size of a packed B
 * @b: operand
 * @row: capability row with the blocks
 * @layout: &enum uma_layout
 *
 * Return: bytes including the header, UINT64_MAX if it is out of range.
 */
uint64_t packed_bytes(const struct operand *b, const struct uma_op_cap *row,
		      uint32_t layout)
{
	struct uma_tensor_view v;
	uint64_t size = 0;

	if (operand_view(b, &v))
		size = uma_packed_size(&v, layout, le16toh(row->block_k), le16toh(row->block_n));
	return size ? size : UINT64_MAX;
}

/**
 * cost - estimate a placement
 * @engine: engine
 * @bandwidth: bytes per second of its memory, 0 if unknown
 * @req: request, in the variant that is placed
 * @p: in: row and form of B; out: the estimate
 */
void cost(const struct device_engine *engine, uint64_t bandwidth,
	  const struct request *req, struct placement *p)
{
	uint64_t rate = mul_sat(le32toh(p->row->macs_per_cycle),
				engine->info.clock_max_mhz);
	const uint64_t work = req->work ? req->work : req->macs;
	const struct operand *b = &req->t[UMA_SLOT_B];

	p->bytes = add_sat(request_read_bytes(req),
			   request_write_bytes(req));
	if (p->pack)
		p->bytes = add_sat(p->bytes - operand_bytes(b),
				   packed_bytes(b, p->pack, weights_layout(p)));
	/* The rate is for 10^6 cycles per second: thousands of operations per nanosecond. */
	p->compute_ns = rate ? divup(mul_sat(work, 1000), rate) : 0;
	p->host_ns = rate && req->host_work ? divup(mul_sat(req->host_work, 1000), rate) :
					      p->compute_ns;
	p->memory_ns = 0;
	if (bandwidth)
		p->memory_ns = (uint64_t)((double)p->bytes * 1e9 / (double)bandwidth);
	p->start_ns = start_ns[engine->info.engine];
	p->estimate_ns = add_sat(p->start_ns, p->compute_ns > p->memory_ns ?
				 p->compute_ns : p->memory_ns);
}

/* Power of an engine in the chip's description, 0 if there is none. */
static uint32_t power_mw(const struct accel_device *dev, const struct device_engine *engine)
{
	const struct uma_profile *chip;
	uint32_t i;

	if (!(dev->info.flags & (ACCEL_DEVICE_EMULATED | ACCEL_DEVICE_MODELLED_POWER)))
		return 0;
	chip = uma_profile_find(dev->info.profile);
	for (i = 0; chip && i < chip->engine_count; i++)
		if (chip->engines[i].engine_class == engine->engine_class &&
		    chip->engines[i].instance == engine->info.instance)
			return chip->engines[i].power_mw;
	return 0;
}

static uint64_t macs_of(const struct request *req)
{
	uint64_t macs = req->parts ? 0 : req->macs;
	uint32_t i;

	for (i = 0; req->parts && i < req->parts->count; i++)
		macs = add_sat(macs, req->parts->part[i].req.macs);
	return macs;
}

static int ask_cost(struct accel_device *dev, const struct request *req, struct accel_cost *out)
{
	const struct choice *c;
	struct choices *all;
	int ret;

	ret = req->parts ? parts_ask(dev, req, &all) : ask_engines(dev, req, false, &all);
	if (ret)
		return ret;
	ret = -EOPNOTSUPP;
	if (all->chosen != all->count) {
		c = &all->c[all->chosen];
		out->engine = c->engine->info.engine;
		out->instances = c->instances;
		out->ns = c->p.estimate_ns;
		/* A milliwatt times a nanosecond is a picojoule. */
		out->energy_pj = mul_sat(out->ns, power_mw(dev, c->engine));
		out->bytes = c->p.bytes;
		out->macs = macs_of(req);
		ret = 0;
	}
	free(all);
	return ret;
}

int accel_cost(struct accel_ctx *ctx, const struct accel_desc *desc, uint32_t engine,
	       struct accel_cost *out)
{
	FP_MODE_SCOPE();
	struct accel_cost all = { .size = sizeof(all) };
	struct accel_error e = ACCEL_ERROR_INIT;
	struct request req;
	union any_desc copy;
	int ret;

	if (!ctx)
		return -EINVAL;
	if (!out)
		return ctx_fail(ctx, -EINVAL, "cost", "NULL");
	if (engine >= ACCEL_ENGINE_COUNT)
		return ctx_fail(ctx, -EINVAL, "engine", "%u is no engine", engine);
	ret = request_settle(ctx->dev, desc, &copy, &req, &e);
	if (ret)
		return ctx_set_error(ctx, &e);
	req.engine = engine;
	ret = ask_cost(ctx->dev, &req, &all);
	request_release(&req);
	if (ret)
		return ctx_fail(ctx, ret, "engine", ret == -ENOMEM ? "out of memory" :
				"no such engine takes it");
	return struct_out(out, &all, sizeof(all), sizeof(all));
}
