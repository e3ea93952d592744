/* SPDX-License-Identifier: MIT */
/*
 * What an operation is before anything is planned.
 *
 *	descriptor -> request (validate.c, tensor.c, one file for each operation)
 *		   -> ways to do it (the same files, conv_ways.c)
 *
 * All of it are functions of their arguments: no engine, context or buffer. What devices
 * decide in the same way, of types, operands and opcodes, is decided by their functions.
 */
#ifndef LIBACCEL_OPS_H
#define LIBACCEL_OPS_H

#include <stdbool.h>
#include <accel/accel.h>
#include "driver/model/uma_op.h"
#include "driver/model/uma_tensor.h"
#include "libaccel/core/internal.h"

/* Slots that an operation of this library can use */
#define REQUEST_SLOTS	UMA_TASK_SLOTS

/**
 * struct operand_quant - quantisation of an operand
 * @scheme: &enum accel_quant_scheme, but ACCEL_QUANT_GROUP_MIN is groups, see quant_scheme()
 * @axis: as in &struct accel_quant, of the operand's dimensions
 * @group: likewise
 * @flags: UMA_QUANT_SHARED, UMA_QUANT_SWAPPED
 * @scale_dtype: likewise
 * @scale: likewise
 * @zero: likewise
 * @zeros: type of the table of zero points or minima, 0 if there is none
 * @entries: entries of each table
 * @scales_at: address of the table if it is known, else 0
 * @zeros_at: likewise
 */
struct operand_quant {
	uint32_t scheme;
	uint32_t axis;
	uint32_t group;
	uint32_t flags;
	uint32_t scale_dtype;
	float scale;
	int32_t zero;
	uint32_t zeros;
	uint64_t entries;
	uint64_t scales_at;
	uint64_t zeros_at;
};

/* The scheme as tasks and capability rows name it. */
static inline uint32_t quant_scheme(const struct operand_quant *q)
{
	return q->zeros && q->zeros != ACCEL_S32 ? ACCEL_QUANT_GROUP_MIN : q->scheme;
}

/* Bytes of an entry of the table of zero points or minima; 0: there is none */
static inline uint32_t quant_zero_bytes(const struct operand_quant *q)
{
	return q->zeros ? accel_dtype_bits(q->zeros) / 8 : 0;
}

/**
 * struct operand - a tensor as an operation sees it
 * @arg: &enum accel_arg that it is bound by
 * @name: path of the tensor in the descriptor, for messages: "gemm.a"
 * @dtype: &enum accel_dtype
 * @rank: number of dimensions, 0: there is none
 * @dims: dimensions
 * @strides: in elements
 * @quant: quantisation
 * @lo: first byte relative to element 0
 * @hi: one past the last; @lo if there is no element
 * @dynamic: mask of the dimensions that the number in memory replaces
 * @from: where it was described; lives as long as the copied descriptor
 * @addr: address if it is known and matters, or what is known of it: how far it is
 *	from an address that may be any; else 0
 * @own: lies in the workspace
 */
struct operand {
	uint32_t arg;
	const char *name;
	uint32_t dtype;
	uint32_t rank;
	int64_t dims[ACCEL_MAX_RANK];
	int64_t strides[ACCEL_MAX_RANK];
	struct operand_quant quant;
	int64_t lo;
	int64_t hi;
	uint32_t dynamic;
	const struct accel_tensor *from;
	uint64_t addr;
	bool own;
};

struct op_class;
union any_desc;
struct parts;
struct tuning;

/**
 * struct request - an operation that has been checked
 * @op: &enum accel_op
 * @opcode: &enum uma_opcode
 * @class: what @op is, or what it was lowered to
 * @engine: &enum accel_engine asked for
 * @func: &enum accel_unary or &enum accel_binary
 * @funcs: bits that the funcs of a capability row must have
 * @params: wire parameters of opcodes that have no fields of their own here
 * @alpha: GEMM
 * @beta: GEMM
 * @a_group: GEMM: elements of A that are rounded to bytes together
 * @bf16: GEMM: A and B may be rounded to bf16 instead; whoever cannot is not told
 * @experts: GEMM: matrices of B, of which each has rows of A; 0: there are batches
 * @value: FILL: bits of the element
 * @epilogue: UMA_EPI_*
 * @act: &enum accel_act
 * @p0: its parameter
 * @p1: its parameter
 * @slots: mask of &enum uma_slot
 * @t: operands
 * @pack: GEMM: B is constant and is read while planning
 * @sparse: GEMM: two at most of each four elements of B along K are not zero
 * @dense: it is packed as if it were not so all the same
 * @sparse_axis: K of B as the caller described it
 * @k: length of the sums, held against k_max
 * @k_field: path of the dimension that says it, NULL if there are no sums
 * @macs: multiply-adds, or elements
 * @work: what the arithmetic of this way costs, in multiply-adds; 0: @macs
 * @host_work: the same for the kernels in process; 0: @work
 * @winograd: B becomes G g G' of F(winograd x winograd, 3 x 3); 0: it does not
 * @b_order: how a dense copy of a constant B lies, dimensions from the innermost
 * @b_ordered: @b_order counts; else as it lies already
 * @desc: descriptor
 * @unread: tensor of it that is not read, though it is there; NULL: there is none
 * @length: tensor that says where the number of dynamic dimensions is, NULL: there are none
 * @length_name: path of that
 * @parts: the operations that it consists of, then nothing above but @op, @class
 *	and @engine counts; NULL if it is one task
 * @tuning: what is wanted of measuring, NULL: nothing
 * @weights: where packed weights are shared, or NULL
 * @reproducible: bits of a row may not depend on how many there are
 * @dry: the plan is only looked at: what it would hold is not made
 */
struct request {
	uint32_t op;
	uint32_t opcode;
	const struct op_class *class;
	uint32_t engine;
	uint32_t func;
	uint32_t funcs;
	uint8_t params[UMA_PARAMS_SIZE] __attribute__((aligned(8)));
	float alpha;
	float beta;
	uint32_t a_group;
	bool bf16;
	int64_t experts;
	uint32_t value;
	uint32_t epilogue;
	uint32_t act;
	float p0;
	float p1;
	uint32_t slots;
	struct operand t[REQUEST_SLOTS];
	bool pack;
	bool sparse;
	uint32_t sparse_axis;
	int64_t k;
	const char *k_field;
	uint64_t macs;
	uint64_t work;
	uint64_t host_work;
	uint32_t winograd;
	uint8_t b_order[ACCEL_MAX_RANK];
	bool b_ordered;
	bool only_packed;
	const union any_desc *desc;
	const struct accel_tensor *unread;
	const struct accel_tensor *length;
	const char *length_name;
	struct parts *parts;
	struct tuning *tuning;
	bool reproducible;
	bool dense;
	struct accel_weights *weights;
	bool dry;
};

/**
 * struct way - a way to do an operation
 * @name: static string, for accel_plan_explain(); NULL: the class's
 * @field: no engine can do it so: the field that stands in the way, else NULL
 * @text: and why
 * @unwanted: it will not be done so, though it could: why, else NULL
 * @req: the operation, done this way
 */
struct way {
	const char *name;
	const char *field;
	const char *text;
	const char *unwanted;
	struct request req;
};

/* Most of them for an operation */
#define MAX_WAYS	8

/**
 * union any_desc - room for every descriptor
 */
union any_desc {
	struct accel_desc hdr;
	struct accel_gemm_desc gemm;
	struct accel_conv_desc conv;
	struct accel_copy_desc copy;
	struct accel_softmax_desc softmax;
	struct accel_norm_desc norm;
	struct accel_reduce_desc reduce;
	struct accel_topk_desc topk;
	struct accel_dynquant_desc dynquant;
	struct accel_kv_write_desc kv_write;
	struct accel_scan_desc scan;
	struct accel_fill_desc fill;
	struct accel_unary_desc unary;
	struct accel_binary_desc binary;
	struct accel_pool_desc pool;
	struct accel_resize_desc resize;
	struct accel_gather_desc gather;
	struct accel_scatter_desc scatter;
	struct accel_rotary_desc rotary;
	struct accel_select_desc select;
	struct accel_attention_desc attention;
	struct accel_concat_desc concat;
	struct accel_split_desc split;
	struct accel_pad_desc pad;
	struct accel_ffn_desc ffn;
};

/* --- parts.c: operations that are several tasks ------------------------------- */

/* Where tables begin is said by a bit of the argument's number. */
#define ARG_TABLES	(ACCEL_ARG_SCALES | ACCEL_ARG_ZEROS)

/* In the place of an argument: the plan's workspace */
#define ARG_WORKSPACE	UINT32_MAX

/**
 * struct part - one of the operations that an operation consists of
 * @desc: its descriptor: slices of the caller's tensors, or parts of the
 *	workspace, whose offset counts from its start
 * @req: request; its operands are bound by the numbers of their slots
 * @arg: by slot: &enum accel_arg of the whole, or ARG_WORKSPACE
 * @act_field: path of its activation in the caller's descriptor
 */
struct part {
	union any_desc desc;
	struct request req;
	uint32_t arg[REQUEST_SLOTS];
	const char *act_field;
};

/**
 * struct parts - what an operation consists of
 *
 * The parts run in this order, on one engine, and each sees what those before it
 * wrote. They use the arguments of the whole, or pieces of them, and memory that
 * a job has for them.
 *
 * @tensor: the caller's tensors, by &enum accel_arg
 * @workspace: bytes
 * @pieces: each writes a piece of its own of the whole's results
 * @count: number of @part
 * @part: parts
 */
struct parts {
	const struct accel_tensor *tensor[ACCEL_ARG_COUNT];
	uint64_t workspace;
	bool pieces;
	uint32_t count;
	struct part part[];
};

struct parts *parts_alloc(struct request *req, uint32_t count);
void request_release(struct request *req);
const char *request_path(const struct request *req, uint32_t arg);
void own_field(char *field, const char *name);
int64_t part_distance(const struct parts *parts, const struct part *part, uint32_t arg);
int part_lower(struct parts *parts, uint32_t op, const char *const *names,
	       const uint32_t *args, struct accel_error *e);

/* --- ops.c: the operations --------------------------------------------------- */

/**
 * enum op_shape - how the dimensions of an operation may be simplified
 * @SHAPE_OWN: not at all
 * @SHAPE_ELEMENTWISE: all operands have the dimensions of D
 * @SHAPE_MATRIX: all but the last two
 */
enum op_shape {
	SHAPE_OWN,
	SHAPE_ELEMENTWISE,
	SHAPE_MATRIX
};

/**
 * struct op_class - what an operation is
 *
 * One for each; everything that checks, places and emits asks it, and knows no
 * operation by name. Which operands are written, may be in place, or have types of
 * their own is a matter of the opcode: uma_op_class().
 *
 * @size: of the descriptor
 * @opcode: &enum uma_opcode whose capability rows describe it
 * @shape: &enum op_shape
 * @algorithm: static string, for accel_plan_explain()
 * @func_field: field that @funcs come from; NULL: @func_name says it
 * @func_name: name of a bit of funcs, for messages
 * @args: names of the arguments by &enum accel_arg; NULL: those of a GEMM
 * @dynamic: dimensions may be read from memory when it runs
 * @layouts: number of those that a plan may choose from; 0: it chooses none
 * @infer: fill in what the descriptor does not say of its results; NULL: it says all
 * @lower: check the descriptor and fill in the request
 * @ways: the ways to do a request, best first among equals; returns their number.
 *	NULL: as it is
 */
struct op_class {
	size_t size;
	uint32_t opcode;
	enum op_shape shape;
	const char *algorithm;
	const char *func_field;
	const char *(*func_name)(uint32_t bit);
	const char *const *args;
	bool dynamic;
	uint32_t layouts;
	int (*infer)(union any_desc *desc, struct accel_error *e);
	int (*lower)(const union any_desc *desc, struct request *req,
		     struct accel_error *e);
	uint32_t (*ways)(const struct request *req, struct way *ways);
};

const struct op_class *op_class(uint32_t op);
void pack_request(const struct operand *b, uint64_t bytes, struct request *req);
uint32_t op_of_opcode(uint32_t opcode);

/* --- validate.c: descriptors; all fill the error record when they fail ----- */

int bad(struct accel_error *e, int code, const char *name, const char *suffix,
	const char *fmt, ...) __attribute__((format(printf, 5, 6)));
int bad_at(struct accel_error *e, int code, const char *name,
	   const char *suffix, uint32_t index, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));
int check_header(const struct accel_desc *hdr, const char *name,
		 struct accel_error *e);
int check_activation(const struct accel_epilogue *epi, const char *name,
		     struct request *req, struct accel_error *e);
int broadcast(struct operand *t, const struct operand *to, uint32_t fixed,
	      struct accel_error *e);
int input_init(struct request *req, uint32_t slot, uint32_t arg,
	       const struct accel_tensor *from, const char *name, struct accel_error *e);
int check_product(const struct operand *a, const struct operand *b,
		  const struct operand *d, struct accel_error *e);
struct accel_tensor *desc_tensor(const struct request *req, const struct accel_tensor *t,
				 union any_desc *copy);
int desc_in(const struct accel_desc *desc, union any_desc *copy, struct accel_error *e);
int request_lower(const union any_desc *copy, struct request *req, struct accel_error *e);
int request_create(const struct accel_desc *desc, union any_desc *copy,
		   struct request *req, struct accel_error *e);

/* --- length.c -------------------------------------------------------------- */

int length_lower(struct request *req, struct accel_error *e);

/* --- tensor.c -------------------------------------------------------------- */

int operand_init(struct operand *t, const struct accel_tensor *from,
		 uint32_t arg, const char *name, struct accel_error *e);
int operand_check_output(const struct operand *t, struct accel_error *e);
void operand_insert_dim(struct operand *t, uint32_t at);
int operand_extent(struct operand *t, struct accel_error *e);
bool operand_empty(const struct operand *t);
bool operand_view(const struct operand *t, struct uma_tensor_view *v);
uint64_t operand_elements(const struct operand *t);
uint64_t operand_bytes(const struct operand *t);
uint64_t operand_table_bytes(const struct operand *t);
/* Is its layout left to the plan? */
static inline bool tensor_open(const struct accel_tensor *t)
{
	return (t->flags & (ACCEL_TENSOR_ANY | ACCEL_TENSOR_STRIDES)) == ACCEL_TENSOR_ANY;
}

int tensor_closed(const struct accel_tensor *t, const char *name, struct accel_error *e);
int tensor_explicit(const struct accel_tensor *t, struct accel_tensor *out);
int tensor_absent(const struct accel_tensor *t, const char *name,
		  struct accel_error *e);

/* --- lines.c, norm.c, dynquant.c ---------------------------------------------- */

int lower_softmax(const union any_desc *d, struct request *req, struct accel_error *e);
int lower_norm(const union any_desc *d, struct request *req, struct accel_error *e);
int lower_reduce(const union any_desc *d, struct request *req, struct accel_error *e);
int lower_dynquant(const union any_desc *d, struct request *req, struct accel_error *e);
int lower_topk(const union any_desc *d, struct request *req, struct accel_error *e);
int lower_scan(const union any_desc *d, struct request *req, struct accel_error *e);

/* --- epilogue.c, conv.c, conv_ways.c, gemm.c, elementwise.c ---------------------- */

int lower_addend(struct request *req, uint32_t slot, uint32_t arg,
		 const struct accel_tensor *from, const char *name,
		 uint32_t fixed, uint32_t axis, struct accel_error *e);
int epilogue_lower(const struct accel_epilogue *epi, const char *const names[5],
		   uint32_t axis, struct request *req, struct accel_error *e);
int check_exact(const struct request *req, const char *const names[5],
		struct accel_error *e);
int lower_conv(const union any_desc *d, struct request *req, struct accel_error *e);
int64_t conv_outputs(const struct accel_conv_desc *desc, uint32_t i, int64_t in, int64_t taps);
void conv_way(const struct request *req, uint32_t algorithm, struct way *way);
uint32_t conv_ways(const struct request *req, struct way *ways);
const char *conv_func_name(uint32_t bit);
int lower_gemm(const union any_desc *d, struct request *req, struct accel_error *e);
const char *gemm_func_name(uint32_t bit);
int lower_copy(const union any_desc *d, struct request *req, struct accel_error *e);
int lower_fill(const union any_desc *d, struct request *req, struct accel_error *e);
int lower_unary(const union any_desc *d, struct request *req, struct accel_error *e);
int lower_binary(const union any_desc *d, struct request *req, struct accel_error *e);

/* --- gather.c, vision.c, attention.c, kv_write.c ------------------------------- */

int lower_gather(const union any_desc *d, struct request *req, struct accel_error *e);
int lower_scatter(const union any_desc *d, struct request *req, struct accel_error *e);
int lower_pool(const union any_desc *d, struct request *req, struct accel_error *e);
int64_t pool_outputs(const struct accel_pool_desc *d, uint32_t i, const struct operand *a);
int lower_resize(const union any_desc *d, struct request *req, struct accel_error *e);
const char *gather_func_name(uint32_t bit);
const char *scatter_func_name(uint32_t bit);
const char *pool_func_name(uint32_t bit);
const char *resize_func_name(uint32_t bit);
int lower_select(const union any_desc *d, struct request *req, struct accel_error *e);
int lower_attention(const union any_desc *d, struct request *req, struct accel_error *e);
const char *attention_func_name(uint32_t bit);
int lower_kv_write(const union any_desc *d, struct request *req, struct accel_error *e);
const char *kv_write_func_name(uint32_t bit);

/* --- rotary.c ----------------------------------------------------------------- */

int lower_rotary(const union any_desc *d, struct request *req, struct accel_error *e);

/* --- move.c, ffn.c ------------------------------------------------------------ */

extern const char *const concat_names[ACCEL_CONCAT_MAX];
extern const char *const split_names[ACCEL_CONCAT_MAX];

int check_list(const char *name, uint32_t count, uint32_t axis, uint32_t rank,
	       struct accel_error *e);
int lower_concat(const union any_desc *d, struct request *req, struct accel_error *e);
int lower_split(const union any_desc *d, struct request *req, struct accel_error *e);
int lower_pad(const union any_desc *d, struct request *req, struct accel_error *e);
int lower_ffn(const union any_desc *d, struct request *req, struct accel_error *e);

/* --- infer.c ------------------------------------------------------------------- */

int infer_copy(union any_desc *d, struct accel_error *e);
int infer_unary(union any_desc *d, struct accel_error *e);
int infer_binary(union any_desc *d, struct accel_error *e);
int infer_select(union any_desc *d, struct accel_error *e);
int infer_gemm(union any_desc *d, struct accel_error *e);
int infer_conv(union any_desc *d, struct accel_error *e);
int infer_ffn(union any_desc *d, struct accel_error *e);
int infer_attention(union any_desc *d, struct accel_error *e);
int infer_rotary(union any_desc *d, struct accel_error *e);
int infer_softmax(union any_desc *d, struct accel_error *e);
int infer_norm(union any_desc *d, struct accel_error *e);
int infer_reduce(union any_desc *d, struct accel_error *e);
int infer_scan(union any_desc *d, struct accel_error *e);
int infer_topk(union any_desc *d, struct accel_error *e);
int infer_dynquant(union any_desc *d, struct accel_error *e);
int infer_kv_write(union any_desc *d, struct accel_error *e);
int infer_pool(union any_desc *d, struct accel_error *e);
int infer_resize(union any_desc *d, struct accel_error *e);
int infer_gather(union any_desc *d, struct accel_error *e);
int infer_scatter(union any_desc *d, struct accel_error *e);
int infer_concat(union any_desc *d, struct accel_error *e);
int infer_split(union any_desc *d, struct accel_error *e);
int infer_pad(union any_desc *d, struct accel_error *e);

/* --- convert.c -------------------------------------------------------------- */

int fill_bits(double value, uint32_t dtype, uint32_t *bits);

#endif /* LIBACCEL_OPS_H */
