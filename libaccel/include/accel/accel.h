/* SPDX-License-Identifier: MIT */
/*
 * libaccel - accelerators that share memory with the CPU, from C.
 *
 * One header, however long: it is the library's manual, read from top to bottom.
 *
 *	device -> context (address space, errors) -> buffer
 *	descriptor -> plan (immutable) -> job (buffers bound) -> queue -> fence
 *
 * Conventions of every function and struct here:
 *
 * - Functions return 0 or a negative errno unless said otherwise. What was
 *   wrong, with the name of the field, is in the context's error record:
 *   accel_ctx_get_error(). A failed call changes nothing.
 * - Objects are opaque. What _create, _open, _import or _ref gives is returned
 *   with the matching _destroy or _unref; both take NULL. An object keeps alive
 *   what it needs: contexts may be destroyed before their buffers.
 * - Structs that the caller fills start with their size (use the _INIT macros);
 *   zero is the default of every field. A struct longer than the library knows
 *   is accepted if the unknown tail is zero, else -E2BIG.
 * - Structs that the library fills have their size set by the caller too; the
 *   library writes no more than that.
 * - There is no global state, nothing is printed, and no signal is touched.
 * - Threads: functions may be called from any thread. Devices, contexts,
 *   buffers, plans, queues and fences may be shared between threads; a job may
 *   be built by one thread at a time, and submitted from any.
 */
#ifndef ACCEL_ACCEL_H
#define ACCEL_ACCEL_H

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** ACCEL_API: marks the functions that the shared library exports */
#define ACCEL_API __attribute__((visibility("default")))

/** ACCEL_VERSION_MAJOR: changes when the ABI does */
#define ACCEL_VERSION_MAJOR	0
/** ACCEL_VERSION_MINOR: changes with additions */
#define ACCEL_VERSION_MINOR	1

/**
 * accel_version - version of the library that runs
 *
 * Return: major << 16 | minor.
 */
ACCEL_API uint32_t accel_version(void);

/** ACCEL_MAX_RANK: largest number of dimensions of a tensor */
#define ACCEL_MAX_RANK		5

/* --- enumerations --------------------------------------------------------- */

/**
 * enum accel_dtype - element types
 * @ACCEL_NONE: none
 * @ACCEL_F32: IEEE 754 binary32
 * @ACCEL_F16: IEEE 754 binary16
 * @ACCEL_BF16: bfloat16
 * @ACCEL_S32: signed, 32 bit
 * @ACCEL_S8: signed, 8 bit
 * @ACCEL_U8: unsigned, 8 bit
 * @ACCEL_S4: signed, 4 bit, two a byte, even element in the low nibble
 * @ACCEL_U4: unsigned, 4 bit, likewise
 * @ACCEL_DTYPE_COUNT: number of values
 */
enum accel_dtype {
	ACCEL_NONE = 0,
	ACCEL_F32 = 1,
	ACCEL_F16 = 2,
	ACCEL_BF16 = 3,
	ACCEL_S32 = 4,
	ACCEL_S8 = 5,
	ACCEL_U8 = 6,
	ACCEL_S4 = 7,
	ACCEL_U4 = 8,
	ACCEL_DTYPE_COUNT = 9
};

/**
 * enum accel_engine - kinds of engine
 * @ACCEL_ENGINE_AUTO: the library chooses
 * @ACCEL_ENGINE_MATRIX: matrix unit
 * @ACCEL_ENGINE_GPU: GPU
 * @ACCEL_ENGINE_NEURAL: neural engine
 * @ACCEL_ENGINE_COUNT: number of values
 */
enum accel_engine {
	ACCEL_ENGINE_AUTO = 0,
	ACCEL_ENGINE_MATRIX = 1,
	ACCEL_ENGINE_GPU = 2,
	ACCEL_ENGINE_NEURAL = 3,
	ACCEL_ENGINE_COUNT = 4
};

/**
 * enum accel_op - operations
 * @ACCEL_OP_NONE: none
 * @ACCEL_OP_COPY: copy, with layout and type conversion: &struct accel_copy_desc
 * @ACCEL_OP_FILL: fill with a constant: &struct accel_fill_desc
 * @ACCEL_OP_UNARY: elementwise function: &struct accel_unary_desc
 * @ACCEL_OP_BINARY: elementwise function of two: &struct accel_binary_desc
 * @ACCEL_OP_GEMM: matrix product: &struct accel_gemm_desc
 * @ACCEL_OP_CONV: convolution
 * @ACCEL_OP_ATTENTION: scaled dot-product attention
 * @ACCEL_OP_ROTARY: rotary position embedding
 * @ACCEL_OP_NORM: normalisation
 * @ACCEL_OP_SOFTMAX: softmax and its logarithm
 * @ACCEL_OP_REDUCE: reduction along dimensions
 * @ACCEL_OP_POOL: pooling
 * @ACCEL_OP_RESIZE: resampling
 * @ACCEL_OP_GATHER: elements by index
 * @ACCEL_OP_SCATTER: elements to an index
 * @ACCEL_OP_TOPK: the largest or smallest elements
 * @ACCEL_OP_SCAN: cumulative sums
 * @ACCEL_OP_SELECT: one of two tensors, element by element
 * @ACCEL_OP_CONCAT: tensors side by side
 * @ACCEL_OP_SPLIT: the opposite
 * @ACCEL_OP_PAD: a border around a tensor
 * @ACCEL_OP_FFN: feed-forward network of a transformer
 * @ACCEL_OP_DYNQUANT: into bytes, with scales that follow from the numbers
 * @ACCEL_OP_COUNT: number of values
 */
enum accel_op {
	ACCEL_OP_NONE = 0,
	ACCEL_OP_COPY = 1,
	ACCEL_OP_FILL = 2,
	ACCEL_OP_UNARY = 3,
	ACCEL_OP_BINARY = 4,
	ACCEL_OP_GEMM = 5,
	ACCEL_OP_CONV = 6,
	ACCEL_OP_ATTENTION = 7,
	ACCEL_OP_ROTARY = 8,
	ACCEL_OP_NORM = 9,
	ACCEL_OP_SOFTMAX = 10,
	ACCEL_OP_REDUCE = 11,
	ACCEL_OP_POOL = 12,
	ACCEL_OP_RESIZE = 13,
	ACCEL_OP_GATHER = 14,
	ACCEL_OP_SCATTER = 15,
	ACCEL_OP_TOPK = 16,
	ACCEL_OP_SCAN = 17,
	ACCEL_OP_SELECT = 18,
	ACCEL_OP_CONCAT = 19,
	ACCEL_OP_SPLIT = 20,
	ACCEL_OP_PAD = 21,
	ACCEL_OP_FFN = 22,
	ACCEL_OP_DYNQUANT = 23,
	ACCEL_OP_COUNT = 24
};

/**
 * enum accel_act - activations; @p0 and @p1 are of &struct accel_epilogue
 * @ACCEL_ACT_NONE: x
 * @ACCEL_ACT_RELU: max(x, 0)
 * @ACCEL_ACT_CLAMP: min(max(x, p0), p1)
 * @ACCEL_ACT_LEAKY_RELU: x < 0 ? p0 x : x
 * @ACCEL_ACT_SIGMOID: 1 / (1 + e^-x)
 * @ACCEL_ACT_TANH: tanh(x)
 * @ACCEL_ACT_GELU: x Phi(x), through erf
 * @ACCEL_ACT_GELU_TANH: the tanh approximation of GELU
 * @ACCEL_ACT_SILU: x sigmoid(x)
 * @ACCEL_ACT_HARD_SIGMOID: clamp(p0 x + p1, 0, 1)
 * @ACCEL_ACT_HARD_SWISH: x clamp(x / 6 + 0.5, 0, 1)
 * @ACCEL_ACT_ELU: x < 0 ? p0 (e^x - 1) : x
 * @ACCEL_ACT_CELU: x < 0 ? p0 (e^(x / p0) - 1) : x; p0 is not 0
 * @ACCEL_ACT_SELU: p1 x for x > 0, else p1 p0 (e^x - 1)
 * @ACCEL_ACT_SOFTPLUS: log(1 + e^x)
 * @ACCEL_ACT_SOFTSIGN: x / (1 + abs(x))
 * @ACCEL_ACT_MISH: x tanh(softplus(x))
 * @ACCEL_ACT_COUNT: number of values
 */
enum accel_act {
	ACCEL_ACT_NONE = 0,
	ACCEL_ACT_RELU = 1,
	ACCEL_ACT_CLAMP = 2,
	ACCEL_ACT_LEAKY_RELU = 3,
	ACCEL_ACT_SIGMOID = 4,
	ACCEL_ACT_TANH = 5,
	ACCEL_ACT_GELU = 6,
	ACCEL_ACT_GELU_TANH = 7,
	ACCEL_ACT_SILU = 8,
	ACCEL_ACT_HARD_SIGMOID = 9,
	ACCEL_ACT_HARD_SWISH = 10,
	ACCEL_ACT_ELU = 11,
	ACCEL_ACT_CELU = 12,
	ACCEL_ACT_SELU = 13,
	ACCEL_ACT_SOFTPLUS = 14,
	ACCEL_ACT_SOFTSIGN = 15,
	ACCEL_ACT_MISH = 16,
	ACCEL_ACT_COUNT = 17
};

/**
 * enum accel_unary - functions of &struct accel_unary_desc
 * @ACCEL_UNARY_ACT: the activation in the epilogue and nothing else
 * @ACCEL_UNARY_ABS: magnitude
 * @ACCEL_UNARY_NEG: negation
 * @ACCEL_UNARY_SQRT: square root
 * @ACCEL_UNARY_RSQRT: 1 / sqrt(x)
 * @ACCEL_UNARY_RECIP: 1 / x
 * @ACCEL_UNARY_EXP: e^x
 * @ACCEL_UNARY_LOG: natural logarithm
 * @ACCEL_UNARY_ERF: error function
 * @ACCEL_UNARY_SQUARE: x * x
 * @ACCEL_UNARY_FLOOR: towards minus infinity
 * @ACCEL_UNARY_CEIL: towards plus infinity
 * @ACCEL_UNARY_ROUND: to nearest, ties to even
 * @ACCEL_UNARY_SIN: sine of radians
 * @ACCEL_UNARY_COS: cosine
 * @ACCEL_UNARY_TAN: tangent
 * @ACCEL_UNARY_ASIN: inverse sine
 * @ACCEL_UNARY_ACOS: inverse cosine
 * @ACCEL_UNARY_ATAN: inverse tangent
 * @ACCEL_UNARY_SINH: hyperbolic sine
 * @ACCEL_UNARY_COSH: hyperbolic cosine
 * @ACCEL_UNARY_ASINH: inverse hyperbolic sine
 * @ACCEL_UNARY_ACOSH: inverse hyperbolic cosine
 * @ACCEL_UNARY_ATANH: inverse hyperbolic tangent
 * @ACCEL_UNARY_SIGN: -1, 0 or 1; zeros and NaN stay what they are
 * @ACCEL_UNARY_TRUNC: round towards zero
 * @ACCEL_UNARY_IS_NAN: 1 for NaN, else 0
 * @ACCEL_UNARY_IS_INF: 1 for an infinity, else 0
 * @ACCEL_UNARY_NOT: 1 for a zero, else 0
 * @ACCEL_UNARY_BIT_NOT: the complement of an integer's bits
 * @ACCEL_UNARY_COUNT: number of values
 */
enum accel_unary {
	ACCEL_UNARY_ACT = 0,
	ACCEL_UNARY_ABS = 1,
	ACCEL_UNARY_NEG = 2,
	ACCEL_UNARY_SQRT = 3,
	ACCEL_UNARY_RSQRT = 4,
	ACCEL_UNARY_RECIP = 5,
	ACCEL_UNARY_EXP = 6,
	ACCEL_UNARY_LOG = 7,
	ACCEL_UNARY_ERF = 8,
	ACCEL_UNARY_SQUARE = 9,
	ACCEL_UNARY_FLOOR = 10,
	ACCEL_UNARY_CEIL = 11,
	ACCEL_UNARY_ROUND = 12,
	ACCEL_UNARY_SIN = 13,
	ACCEL_UNARY_COS = 14,
	ACCEL_UNARY_TAN = 15,
	ACCEL_UNARY_ASIN = 16,
	ACCEL_UNARY_ACOS = 17,
	ACCEL_UNARY_ATAN = 18,
	ACCEL_UNARY_SINH = 19,
	ACCEL_UNARY_COSH = 20,
	ACCEL_UNARY_ASINH = 21,
	ACCEL_UNARY_ACOSH = 22,
	ACCEL_UNARY_ATANH = 23,
	ACCEL_UNARY_SIGN = 24,
	ACCEL_UNARY_TRUNC = 25,
	ACCEL_UNARY_IS_NAN = 26,
	ACCEL_UNARY_IS_INF = 27,
	ACCEL_UNARY_NOT = 28,
	ACCEL_UNARY_BIT_NOT = 29,
	ACCEL_UNARY_COUNT = 30
};

/**
 * enum accel_binary - functions of &struct accel_binary_desc
 * @ACCEL_BINARY_ADD: a + b
 * @ACCEL_BINARY_SUB: a - b
 * @ACCEL_BINARY_MUL: a * b
 * @ACCEL_BINARY_DIV: a / b
 * @ACCEL_BINARY_MAX: the larger
 * @ACCEL_BINARY_MIN: the smaller
 * @ACCEL_BINARY_MOD: remainder of a / b with the sign of b
 * @ACCEL_BINARY_REM: remainder of a / b with the sign of a
 * @ACCEL_BINARY_QUOT: a / b, rounded towards zero
 * @ACCEL_BINARY_POW: a to the power of b
 * @ACCEL_BINARY_EQ: 1 if a = b, else 0; so the others
 * @ACCEL_BINARY_NE: a != b, also if either is NaN
 * @ACCEL_BINARY_LT: a < b
 * @ACCEL_BINARY_LE: a <= b
 * @ACCEL_BINARY_GT: a > b
 * @ACCEL_BINARY_GE: a >= b
 * @ACCEL_BINARY_AND: neither is zero
 * @ACCEL_BINARY_OR: not both are zero
 * @ACCEL_BINARY_XOR: one of them is zero
 * @ACCEL_BINARY_BIT_AND: and of the bits of integers
 * @ACCEL_BINARY_BIT_OR: or of them
 * @ACCEL_BINARY_BIT_XOR: exclusive or of them
 * @ACCEL_BINARY_SHL: a shifted b bits to the left
 * @ACCEL_BINARY_SHR: a shifted b bits to the right
 * @ACCEL_BINARY_PRELU: a < 0 ? b * a : a
 * @ACCEL_BINARY_COUNT: number of values
 */
enum accel_binary {
	ACCEL_BINARY_ADD = 0,
	ACCEL_BINARY_SUB = 1,
	ACCEL_BINARY_MUL = 2,
	ACCEL_BINARY_DIV = 3,
	ACCEL_BINARY_MAX = 4,
	ACCEL_BINARY_MIN = 5,
	ACCEL_BINARY_MOD = 6,
	ACCEL_BINARY_REM = 7,
	ACCEL_BINARY_QUOT = 8,
	ACCEL_BINARY_POW = 9,
	ACCEL_BINARY_EQ = 10,
	ACCEL_BINARY_NE = 11,
	ACCEL_BINARY_LT = 12,
	ACCEL_BINARY_LE = 13,
	ACCEL_BINARY_GT = 14,
	ACCEL_BINARY_GE = 15,
	ACCEL_BINARY_AND = 16,
	ACCEL_BINARY_OR = 17,
	ACCEL_BINARY_XOR = 18,
	ACCEL_BINARY_BIT_AND = 19,
	ACCEL_BINARY_BIT_OR = 20,
	ACCEL_BINARY_BIT_XOR = 21,
	ACCEL_BINARY_SHL = 22,
	ACCEL_BINARY_SHR = 23,
	ACCEL_BINARY_PRELU = 24,
	ACCEL_BINARY_COUNT = 25
};

/**
 * accel_dtype_name - name of an element type: "fp32", "fp16", "bf16", "int32",
 * "int8", "uint8", "int4", "uint4"
 * @dtype: &enum accel_dtype
 *
 * Return: static string, NULL for a value out of range.
 */
ACCEL_API const char *accel_dtype_name(uint32_t dtype);

/**
 * accel_dtype_bits - bits of an element
 * @dtype: &enum accel_dtype
 *
 * Return: bits, 0 for a value out of range.
 */
ACCEL_API uint32_t accel_dtype_bits(uint32_t dtype);

/**
 * accel_engine_name - name of a kind of engine: "auto", "matrix", "gpu", "neural"
 * @engine: &enum accel_engine
 *
 * Return: static string, NULL for a value out of range.
 */
ACCEL_API const char *accel_engine_name(uint32_t engine);

/**
 * accel_op_name - name of an operation: "copy", "gemm", "attention"
 * @op: &enum accel_op
 *
 * Return: static string, NULL for a value out of range.
 */
ACCEL_API const char *accel_op_name(uint32_t op);

/**
 * accel_unary_name - name of a function of one operand: "act", "abs", "sqrt"
 * @func: &enum accel_unary
 *
 * Return: static string, NULL for a value out of range.
 */
ACCEL_API const char *accel_unary_name(uint32_t func);

/**
 * accel_binary_name - name of a function of two operands: "add", "max"
 * @func: &enum accel_binary
 *
 * Return: static string, NULL for a value out of range.
 */
ACCEL_API const char *accel_binary_name(uint32_t func);

/* --- errors and log ------------------------------------------------------- */

/**
 * struct accel_error - what went wrong
 */
struct accel_error {
	/** @size: sizeof(struct accel_error) */
	uint32_t size;
	/** @code: negative errno, 0 if nothing has failed yet */
	int32_t code;
	/** @engine: &enum accel_engine concerned, 0 if none */
	uint32_t engine;
	/** @op_index: operation of the job, UINT32_MAX if none */
	uint32_t op_index;
	/** @addr: device address of a fault, 0 if none */
	uint64_t addr;
	/** @field: field at fault: "gemm.b.dims[0]", empty if none */
	char field[64];
	/** @text: one sentence for a person */
	char text[256];
};

/** ACCEL_ERROR_INIT: an error record to be filled */
#define ACCEL_ERROR_INIT	{ sizeof(struct accel_error), 0, 0, 0, 0, { 0 }, { 0 } }

/**
 * enum accel_log_level - severity of a log line
 * @ACCEL_LOG_ERROR: a call failed
 * @ACCEL_LOG_WARN: it works, but not as well as it could
 * @ACCEL_LOG_INFO: choices made: device, engine, algorithm
 * @ACCEL_LOG_DEBUG: every call to a backend
 */
enum accel_log_level {
	ACCEL_LOG_ERROR = 0,
	ACCEL_LOG_WARN = 1,
	ACCEL_LOG_INFO = 2,
	ACCEL_LOG_DEBUG = 3
};

/**
 * typedef accel_log_fn - receives log lines
 * @user: pointer given with it
 * @level: &enum accel_log_level
 * @text: one line, no newline, valid during the call
 *
 * Called from any thread, also at the same time; it must not call libaccel.
 */
typedef void accel_log_fn(void *user, int level, const char *text);

/* --- devices -------------------------------------------------------------- */

struct accel_device;

/**
 * struct accel_device_desc - a device that could be opened
 */
struct accel_device_desc {
	/** @size: sizeof(struct accel_device_desc) */
	uint32_t size;
	/** @emulated: 1 for software, in process or in the kernel */
	uint32_t emulated;
	/** @access: 0, or the negative errno that opening it gives */
	int32_t access;
	/** @pad: 0 */
	uint32_t pad;
	/** @name: what accel_device_open() takes: "sw", "accel0" */
	char name[32];
	/** @path: device node, empty for the in-process device */
	char path[64];
	/** @driver: kernel driver, or "sw" */
	char driver[32];
	/** @profile: chip, empty if it could not be opened */
	char profile[32];
};

/**
 * typedef accel_device_fn - receives the devices of accel_device_list()
 * @user: pointer given with it
 * @desc: the device, valid during the call
 *
 * Return: 0 to go on, anything else to stop.
 */
typedef int accel_device_fn(void *user, const struct accel_device_desc *desc);

/**
 * accel_device_list - enumerate devices: the nodes of the accel class that the
 * uma driver serves, in order of their number, then the in-process device
 * @fn: called for each
 * @user: passed on
 *
 * Return: 0, what @fn returned if not 0, or a negative errno.
 */
ACCEL_API int accel_device_list(accel_device_fn *fn, void *user);

/**
 * struct accel_device_opts - options of accel_device_open()
 */
struct accel_device_opts {
	/** @size: sizeof(struct accel_device_opts) */
	uint32_t size;
	/** @threads: in-process device: threads that run tiles, 0: one a core */
	uint32_t threads;
	/** @log: receives log lines, NULL: none */
	accel_log_fn *log;
	/** @log_user: passed to @log */
	void *log_user;
	/** @log_level: most verbose level wanted */
	uint32_t log_level;
	/** @pad: 0 */
	uint32_t pad;
	/** @record_path: "rec:" devices: file for the calls, one JSON object a line */
	const char *record_path;
	/** @error: filled if opening fails, may be NULL */
	struct accel_error *error;
};

/** ACCEL_DEVICE_OPTS_INIT: default options */
#define ACCEL_DEVICE_OPTS_INIT \
	{ sizeof(struct accel_device_opts), 0, NULL, NULL, 0, 0, NULL, NULL }

/**
 * accel_device_open - open a device
 * @name: "sw", or "sw:PROFILE" for a given chip, the in-process device;
 *	"accel0" or a path, a node; "rec:NAME", the device NAME with every call
 *	recorded; NULL: real hardware if there is any, else "sw"
 * @opts: options, or NULL
 * @dev: out
 *
 * Return: 0; -ENODEV no such device, or not one of the uma driver; -EACCES no
 * permission; -EPROTO the driver or device speaks a version that this library
 * does not; -EINVAL, -E2BIG bad name or options; -ENOMEM.
 */
ACCEL_API int accel_device_open(const char *name,
				const struct accel_device_opts *opts,
				struct accel_device **dev);

/**
 * accel_device_ref - take another reference
 * @dev: device
 *
 * Return: @dev.
 */
ACCEL_API struct accel_device *accel_device_ref(struct accel_device *dev);

/**
 * accel_device_unref - drop a reference
 * @dev: device, or NULL
 */
ACCEL_API void accel_device_unref(struct accel_device *dev);

/** ACCEL_DEVICE_EMULATED: software */
#define ACCEL_DEVICE_EMULATED		(1u << 0)
/** ACCEL_DEVICE_MODELLED_POWER: clock, temperature and power are modelled */
#define ACCEL_DEVICE_MODELLED_POWER	(1u << 1)
/** ACCEL_DEVICE_COHERENT: cached CPU mappings are coherent with the device */
#define ACCEL_DEVICE_COHERENT		(1u << 2)

/**
 * struct accel_device_info - the device
 */
struct accel_device_info {
	/** @size: sizeof(struct accel_device_info) */
	uint32_t size;
	/** @flags: ACCEL_DEVICE_* */
	uint32_t flags;
	/** @engine_count: engines */
	uint32_t engine_count;
	/** @node_count: memory nodes */
	uint32_t node_count;
	/** @uapi_version: driver's major << 16 | minor, 0 in process */
	uint32_t uapi_version;
	/** @hw_version: major << 16 | minor of the register contract, 0 in process */
	uint32_t hw_version;
	/** @task_version: version of the task descriptors */
	uint32_t task_version;
	/** @page_size: bytes of the smallest page */
	uint32_t page_size;
	/** @timestamp_hz: frequency of the timestamps */
	uint64_t timestamp_hz;
	/** @max_bo_size: bytes of the largest buffer */
	uint64_t max_bo_size;
	/** @max_job_tasks: most operations of a job on one engine */
	uint32_t max_job_tasks;
	/** @priorities: mask of 1 << &enum accel_priority that this process may use */
	uint32_t priorities;
	/** @max_timeout_ms: longest timeout of a queue */
	uint32_t max_timeout_ms;
	/** @default_timeout_ms: timeout of a queue that asks for none */
	uint32_t default_timeout_ms;
	/** @threads: in process: threads that run tiles, else 0 */
	uint32_t threads;
	/** @pad: 0 */
	uint32_t pad;
	/** @name: name that it was opened by: "sw", "accel0" */
	char name[32];
	/** @path: device node or empty */
	char path[64];
	/** @driver: kernel driver, or "sw" */
	char driver[32];
	/** @profile: chip */
	char profile[32];
	/** @kernels: in process: inner kernels in use: "avx2", else empty */
	char kernels[32];
};

/**
 * accel_device_get_info - describe a device
 * @dev: device
 * @info: out
 *
 * Return: 0; -EINVAL size.
 */
ACCEL_API int accel_device_get_info(struct accel_device *dev,
				    struct accel_device_info *info);

/** ACCEL_ENGINE_DYNAMIC_SHAPES: dimensions may be read when a task runs */
#define ACCEL_ENGINE_DYNAMIC_SHAPES	(1u << 0)
/** ACCEL_ENGINE_PREEMPT: can be stopped between tiles */
#define ACCEL_ENGINE_PREEMPT		(1u << 1)

/**
 * struct accel_engine_info - one engine
 */
struct accel_engine_info {
	/** @size: sizeof(struct accel_engine_info) */
	uint32_t size;
	/** @engine: &enum accel_engine */
	uint32_t engine;
	/** @instance: index within the kind */
	uint32_t instance;
	/** @node: memory node that it is near to */
	uint32_t node;
	/** @flags: ACCEL_ENGINE_* */
	uint32_t flags;
	/** @cap_count: rows of accel_device_get_cap() */
	uint32_t cap_count;
	/** @clock_max_mhz: highest clock */
	uint32_t clock_max_mhz;
	/** @max_job_tasks: most operations in a job */
	uint32_t max_job_tasks;
};

/**
 * accel_device_get_engine - describe an engine
 * @dev: device
 * @index: from 0 to engine_count - 1
 * @info: out
 *
 * Return: 0; -ENOENT no such engine; -EINVAL size.
 */
ACCEL_API int accel_device_get_engine(struct accel_device *dev, uint32_t index,
				      struct accel_engine_info *info);

/**
 * struct accel_cap - a row of what an engine can do: any combination within it
 */
struct accel_cap {
	/** @size: sizeof(struct accel_cap) */
	uint32_t size;
	/** @op: &enum accel_op; ACCEL_OP_NONE for operations that only the library uses */
	uint32_t op;
	/** @rank_max: largest rank */
	uint32_t rank_max;
	/** @a_dtypes: mask of 1 << &enum accel_dtype for the first input */
	uint32_t a_dtypes;
	/** @b_dtypes: mask for the second input */
	uint32_t b_dtypes;
	/** @d_dtypes: mask for the result */
	uint32_t d_dtypes;
	/** @funcs: mask of 1 << &enum accel_unary, &enum accel_binary, or what the operation has */
	uint32_t funcs;
	/** @a_quants: mask of 1 << &enum accel_quant_scheme for the first input */
	uint32_t a_quants;
	/** @b_quants: mask for the second input */
	uint32_t b_quants;
	/** @d_quants: mask for the result */
	uint32_t d_quants;
	/** @acts: mask of 1 << &enum accel_act */
	uint32_t acts;
	/** @dim_max: largest dimension */
	uint32_t dim_max;
	/** @k_max: largest length of a sum: K of a GEMM */
	uint32_t k_max;
	/** @align: alignment of addresses in bytes */
	uint32_t align;
	/** @macs_per_cycle: peak multiply-adds or elements a cycle, modelled */
	uint32_t macs_per_cycle;
	/** @packed: 1: takes weights packed into a plan */
	uint32_t packed;
};

/**
 * accel_device_get_cap - read a capability row
 * @dev: device
 * @engine: index of the engine
 * @row: from 0 to cap_count - 1
 * @cap: out
 *
 * Return: 0; -ENOENT no such engine or row; -EINVAL size.
 */
ACCEL_API int accel_device_get_cap(struct accel_device *dev, uint32_t engine,
				   uint32_t row, struct accel_cap *cap);

/**
 * struct accel_memory_info - one memory node
 */
struct accel_memory_info {
	/** @size: sizeof(struct accel_memory_info) */
	uint32_t size;
	/** @node: index */
	uint32_t node;
	/** @bytes: RAM */
	uint64_t bytes;
	/** @bandwidth: peak bytes a second of the chip, modelled, 0 if unknown */
	uint64_t bandwidth;
};

/**
 * accel_device_get_memory - describe a memory node
 * @dev: device
 * @node: from 0 to node_count - 1
 * @info: out
 *
 * Return: 0; -ENOENT no such node; -EINVAL size.
 */
ACCEL_API int accel_device_get_memory(struct accel_device *dev, uint32_t node,
				      struct accel_memory_info *info);

/**
 * accel_device_timestamp - read the device's and the CPU's clock together
 * @dev: device
 * @device: out: ticks of timestamp_hz
 * @cpu_ns: out: CLOCK_MONOTONIC
 *
 * Return: 0; -ENODEV.
 */
ACCEL_API int accel_device_timestamp(struct accel_device *dev, uint64_t *device,
				     uint64_t *cpu_ns);

/* --- contexts ------------------------------------------------------------- */

struct accel_ctx;

/**
 * struct accel_ctx_opts - options of accel_ctx_create()
 */
struct accel_ctx_opts {
	/** @size: sizeof(struct accel_ctx_opts) */
	uint32_t size;
	/** @flags: 0 */
	uint32_t flags;
	/**
	 * @tune_dir: directory of what was measured, see accel_tune(); NULL:
	 * accel/tune in XDG_CACHE_HOME or, without that, in ~/.cache
	 */
	const char *tune_dir;
};

/** ACCEL_CTX_OPTS_INIT: default options */
#define ACCEL_CTX_OPTS_INIT	{ sizeof(struct accel_ctx_opts), 0, NULL }

/**
 * accel_ctx_create - create an address space
 * @dev: device
 * @opts: options, or NULL
 * @ctx: out
 *
 * Contexts see nothing of each other's buffers unless shared by dma-buf or by
 * importing the same memory.
 *
 * Return: 0; -EINVAL, -E2BIG options; -ENOSPC the device has no more; -ENODEV;
 * -ENOMEM.
 */
ACCEL_API int accel_ctx_create(struct accel_device *dev,
			       const struct accel_ctx_opts *opts,
			       struct accel_ctx **ctx);

/**
 * accel_ctx_destroy - give up a context; waits for nothing
 * @ctx: context, or NULL
 *
 * Buffers, plans, queues and fences of it stay usable until they are given up
 * themselves.
 */
ACCEL_API void accel_ctx_destroy(struct accel_ctx *ctx);

/**
 * accel_ctx_get_error - what the last failed call on this context found
 * @ctx: context
 * @error: out
 *
 * The record is the context's: with several threads it is the latest failure
 * of any of them.
 *
 * Return: 0; -EINVAL size.
 */
ACCEL_API int accel_ctx_get_error(struct accel_ctx *ctx,
				  struct accel_error *error);

/**
 * accel_ctx_device - device of a context
 * @ctx: context
 *
 * Return: borrowed reference.
 */
ACCEL_API struct accel_device *accel_ctx_device(struct accel_ctx *ctx);

/**
 * struct accel_memory_stats - memory of a context
 */
struct accel_memory_stats {
	/** @size: sizeof(struct accel_memory_stats) */
	uint32_t size;
	/** @bo_count: buffers alive, those of plans and jobs included */
	uint32_t bo_count;
	/** @bo_bytes: bytes of created buffers */
	uint64_t bo_bytes;
	/** @bo_bytes_peak: largest value of @bo_bytes */
	uint64_t bo_bytes_peak;
	/** @imported_bytes: bytes of imported pointers and dma-bufs */
	uint64_t imported_bytes;
};

/**
 * accel_ctx_get_memory - memory accounting of a context
 * @ctx: context
 * @stats: out
 *
 * Return: 0; -EINVAL size.
 */
ACCEL_API int accel_ctx_get_memory(struct accel_ctx *ctx,
				   struct accel_memory_stats *stats);

/* --- buffers -------------------------------------------------------------- */

struct accel_bo;

/** ACCEL_BO_WC: write-combined CPU mapping, for data that the CPU only writes */
#define ACCEL_BO_WC		(1u << 0)
/** ACCEL_BO_NO_MAP: the CPU does not see it: accel_bo_ptr() is NULL */
#define ACCEL_BO_NO_MAP		(1u << 1)
/** ACCEL_BO_READONLY: imports only: the device may only read */
#define ACCEL_BO_READONLY	(1u << 2)

/**
 * struct accel_bo_opts - options of buffers
 */
struct accel_bo_opts {
	/** @size: sizeof(struct accel_bo_opts) */
	uint32_t size;
	/** @flags: ACCEL_BO_* */
	uint32_t flags;
	/** @label: name shown by tools, NULL: none */
	const char *label;
};

/** ACCEL_BO_OPTS_INIT: default options */
#define ACCEL_BO_OPTS_INIT	{ sizeof(struct accel_bo_opts), 0, NULL }

/**
 * accel_bo_create - allocate zeroed memory that CPU and device share
 * @ctx: context
 * @bytes: size, rounded up to whole pages
 * @opts: options, or NULL
 * @bo: out
 *
 * The device address of a buffer is its CPU address.
 *
 * Return: 0; -EINVAL @bytes 0 or above max_bo_size, flags; -ENOMEM; -ENODEV.
 */
ACCEL_API int accel_bo_create(struct accel_ctx *ctx, uint64_t bytes,
			      const struct accel_bo_opts *opts,
			      struct accel_bo **bo);

/**
 * accel_bo_import_ptr - let the device use memory of the process in place
 * @ctx: context
 * @ptr: first byte, any alignment
 * @bytes: size, not 0
 * @opts: options, or NULL
 * @bo: out
 *
 * The pages of the range are pinned until the buffer is given up; the memory
 * must stay mapped until then. Ranges that share pages may be imported
 * separately. Nothing is copied.
 *
 * Return: 0; -EINVAL size, flags; -EFAULT not mapped, or not writable without
 * ACCEL_BO_READONLY; -EOPNOTSUPP memory that cannot be pinned; -ENOMEM also
 * RLIMIT_MEMLOCK; -ENODEV.
 */
ACCEL_API int accel_bo_import_ptr(struct accel_ctx *ctx, void *ptr,
				  uint64_t bytes,
				  const struct accel_bo_opts *opts,
				  struct accel_bo **bo);

/**
 * accel_bo_import_dmabuf - use a dma-buf of another device or context
 * @ctx: context
 * @fd: dma-buf; stays the caller's
 * @opts: options, or NULL
 * @bo: out
 *
 * Return: 0; -EBADF, -EINVAL not a dma-buf; -EOPNOTSUPP its memory cannot be
 * mapped by this device; -ENOMEM; -ENODEV.
 */
ACCEL_API int accel_bo_import_dmabuf(struct accel_ctx *ctx, int fd,
				     const struct accel_bo_opts *opts,
				     struct accel_bo **bo);

/**
 * accel_bo_export_dmabuf - share a buffer
 * @bo: created buffer, not an import or a part of a pool
 * @fd: out: dma-buf (in process: a memfd that accel_bo_import_dmabuf() of the
 *	in-process device and mmap take), close-on-exec
 *
 * In process the first export moves the buffer's memory to the memfd, at the
 * same address: nobody may write to it during the call.
 *
 * Return: 0; -EOPNOTSUPP an import or a part; -EMFILE; -ENOMEM.
 */
ACCEL_API int accel_bo_export_dmabuf(struct accel_bo *bo, int *fd);

/**
 * accel_bo_ref - take another reference
 * @bo: buffer
 *
 * Return: @bo.
 */
ACCEL_API struct accel_bo *accel_bo_ref(struct accel_bo *bo);

/**
 * accel_bo_unref - drop a reference
 * @bo: buffer, or NULL
 *
 * Jobs that use it keep it until they have finished.
 */
ACCEL_API void accel_bo_unref(struct accel_bo *bo);

/**
 * accel_bo_ptr - where the CPU sees a buffer
 * @bo: buffer
 *
 * Return: address, NULL for ACCEL_BO_NO_MAP.
 */
ACCEL_API void *accel_bo_ptr(const struct accel_bo *bo);

/**
 * accel_bo_size - bytes of a buffer
 * @bo: buffer
 *
 * Return: size as asked for, not rounded.
 */
ACCEL_API uint64_t accel_bo_size(const struct accel_bo *bo);

/** ACCEL_CPU_READ: the CPU will read */
#define ACCEL_CPU_READ		(1u << 0)
/** ACCEL_CPU_WRITE: the CPU will write */
#define ACCEL_CPU_WRITE		(1u << 1)

/**
 * accel_bo_cpu_begin - before the CPU touches a buffer that a device wrote
 * @bo: buffer
 * @offset: first byte
 * @bytes: size
 * @flags: ACCEL_CPU_*
 *
 * Does not wait: wait for the fence first. A no-op on coherent devices.
 *
 * Return: 0; -EINVAL a range outside the buffer, flags; -ENODEV.
 */
ACCEL_API int accel_bo_cpu_begin(struct accel_bo *bo, uint64_t offset,
				 uint64_t bytes, uint32_t flags);

/**
 * accel_bo_cpu_end - after the CPU touched a buffer, before submitting
 * @bo: buffer
 * @offset: first byte
 * @bytes: size
 * @flags: ACCEL_CPU_*
 *
 * Return: as accel_bo_cpu_begin().
 */
ACCEL_API int accel_bo_cpu_end(struct accel_bo *bo, uint64_t offset,
			       uint64_t bytes, uint32_t flags);

struct accel_pool;

/**
 * accel_pool_create - a buffer to allocate small buffers from
 * @ctx: context
 * @bytes: size
 * @opts: options, or NULL
 * @pool: out
 *
 * Return: as accel_bo_create().
 */
ACCEL_API int accel_pool_create(struct accel_ctx *ctx, uint64_t bytes,
				const struct accel_bo_opts *opts,
				struct accel_pool **pool);

/**
 * accel_pool_alloc - allocate a part
 * @pool: pool
 * @bytes: size, not 0
 * @align: power of two up to the page size, 0 for 64
 * @bo: out: a buffer like any other; its space returns to the pool with the
 *	last reference. Its contents are undefined
 *
 * Return: 0; -EINVAL; -ENOSPC no free range is large enough; -ENOMEM.
 */
ACCEL_API int accel_pool_alloc(struct accel_pool *pool, uint64_t bytes,
			       uint64_t align, struct accel_bo **bo);

/**
 * accel_pool_destroy - give up a pool; parts keep its memory alive
 * @pool: pool, or NULL
 */
ACCEL_API void accel_pool_destroy(struct accel_pool *pool);

/* --- tensors -------------------------------------------------------------- */

/**
 * enum accel_quant_scheme - quantisation
 * @ACCEL_QUANT_NONE: the stored number is the value
 * @ACCEL_QUANT_TENSOR: value = scale * (stored - zero)
 * @ACCEL_QUANT_CHANNEL: a scale for each index of @axis
 * @ACCEL_QUANT_GROUP: a scale for each @group indices along @axis
 * @ACCEL_QUANT_COUNT: number of values
 */
enum accel_quant_scheme {
	ACCEL_QUANT_NONE = 0,
	ACCEL_QUANT_TENSOR = 1,
	ACCEL_QUANT_CHANNEL = 2,
	ACCEL_QUANT_GROUP = 3,
	ACCEL_QUANT_COUNT = 4
};

/**
 * struct accel_quant - how the numbers of a tensor are to be read
 */
struct accel_quant {
	/** @scheme: &enum accel_quant_scheme */
	uint32_t scheme;
	/** @axis: channel and group: dimension */
	uint32_t axis;
	/** @group: group: indices that share a scale, a power of two from 16 to 4096 */
	uint32_t group;
	/** @scale_dtype: channel and group: ACCEL_F32 (also 0) or ACCEL_F16 */
	uint32_t scale_dtype;
	/** @scale: tensor: finite, > 0 */
	float scale;
	/** @zero: tensor: zero point */
	int32_t zero;
	/**
	 * @scales: channel: vector of dims[axis] scales; group: dense array of
	 * the tensor's dimensions with dims[axis] replaced by
	 * ceil(dims[axis] / group)
	 */
	struct accel_bo *scales;
	/** @scales_offset: bytes */
	uint64_t scales_offset;
	/** @zeros: NULL for none, or an array like @scales of int32 zero points */
	struct accel_bo *zeros;
	/** @zeros_offset: bytes */
	uint64_t zeros_offset;
};

/** ACCEL_TENSOR_STRIDES: strides are given; else the tensor is dense and row-major */
#define ACCEL_TENSOR_STRIDES	(1u << 0)

/**
 * struct accel_tensor - a tensor, by value
 */
struct accel_tensor {
	/** @bo: buffer; may be NULL while planning */
	struct accel_bo *bo;
	/** @offset: bytes from the start of the buffer to element (0, 0, ...) */
	uint64_t offset;
	/** @dtype: &enum accel_dtype */
	uint32_t dtype;
	/** @rank: number of dimensions, 1 to ACCEL_MAX_RANK; 0: there is no tensor */
	uint32_t rank;
	/** @flags: ACCEL_TENSOR_* */
	uint32_t flags;
	/** @pad: 0 */
	uint32_t pad;
	/** @dims: elements, outermost first */
	int64_t dims[ACCEL_MAX_RANK];
	/** @strides: elements; 0 repeats, negative runs backwards */
	int64_t strides[ACCEL_MAX_RANK];
	/** @quant: quantisation */
	struct accel_quant quant;
	/** @reserved: 0 */
	uint64_t reserved[4];
};

/**
 * accel_tensor_dense - a dense tensor
 * @bo: buffer, or NULL while planning
 * @dtype: &enum accel_dtype
 * @rank: number of dimensions
 * @dims: elements, outermost first
 *
 * Return: the tensor.
 */
static inline struct accel_tensor
accel_tensor_dense(struct accel_bo *bo, uint32_t dtype, uint32_t rank,
		   const int64_t *dims)
{
	struct accel_tensor t = {
		bo, 0, dtype, rank, 0, 0, { 0 }, { 0 },
		{ 0, 0, 0, 0, 0, 0, NULL, 0, NULL, 0 }, { 0 }
	};
	uint32_t i;

	for (i = 0; i < rank && i < ACCEL_MAX_RANK; i++)
		t.dims[i] = dims[i];
	return t;
}

/**
 * accel_tensor_2d - a dense matrix
 * @bo: buffer, or NULL while planning
 * @dtype: &enum accel_dtype
 * @rows: rows
 * @cols: columns
 *
 * Return: the tensor.
 */
static inline struct accel_tensor
accel_tensor_2d(struct accel_bo *bo, uint32_t dtype, int64_t rows,
		int64_t cols)
{
	const int64_t dims[2] = { rows, cols };

	return accel_tensor_dense(bo, dtype, 2, dims);
}

/**
 * accel_tensor_bytes - bytes from the first element's to one past the last's
 * @t: tensor with strides >= 0
 * @bytes: out
 *
 * Return: 0; -EINVAL a field out of range; -EOVERFLOW.
 */
ACCEL_API int accel_tensor_bytes(const struct accel_tensor *t, uint64_t *bytes);

/**
 * accel_tensor_transpose - the same elements, dimensions in another order
 * @t: tensor
 * @order: for each dimension of @out, the dimension of @t that it is
 * @out: out: the view; may be @t
 *
 * Views have the buffer of @t and their strides written out; their buffer may be
 * NULL like that of any tensor. Scales by channel follow.
 *
 * Threads: any; all of these are functions of their arguments.
 *
 * Return: 0; -EINVAL @t is malformed, @order is no permutation; -EOPNOTSUPP
 * scales by group would have to be rearranged.
 */
ACCEL_API int accel_tensor_transpose(const struct accel_tensor *t,
				     const uint32_t *order,
				     struct accel_tensor *out);

/**
 * accel_tensor_slice - every @step-th index of a dimension
 * @t: tensor
 * @axis: dimension
 * @start: first index
 * @count: number of indices; may be 0
 * @step: distance, not 0; negative runs backwards
 * @out: out: the view; may be @t
 *
 * Return: 0; -EINVAL @t is malformed, an index is out of range; -EOPNOTSUPP a
 * slice of 4-bit elements that does not begin at a byte, or of tables of scales
 * that would have gaps.
 */
ACCEL_API int accel_tensor_slice(const struct accel_tensor *t, uint32_t axis,
				 int64_t start, int64_t count, int64_t step,
				 struct accel_tensor *out);

/**
 * accel_tensor_reshape - other dimensions for the same elements in row-major order
 * @t: tensor
 * @rank: number of dimensions, 1 to ACCEL_MAX_RANK
 * @dims: dimensions, with the same product
 * @out: out: the view; may be @t
 *
 * Return: 0; -EINVAL @t is malformed, another number of elements; -EOPNOTSUPP
 * the elements would have to be moved, or the dimension of scales is split or
 * merged.
 */
ACCEL_API int accel_tensor_reshape(const struct accel_tensor *t, uint32_t rank,
				   const int64_t *dims, struct accel_tensor *out);

/**
 * accel_tensor_expand - repeat a tensor as numpy broadcasts
 * @t: tensor
 * @rank: number of dimensions, at least that of @t
 * @dims: dimensions; the trailing ones are those of @t, or @t has 1 there
 * @out: out: the view, an input; may be @t
 *
 * Return: 0; -EINVAL @t is malformed, or does not broadcast to @dims;
 * -EOPNOTSUPP along the dimension of scales.
 */
ACCEL_API int accel_tensor_expand(const struct accel_tensor *t, uint32_t rank,
				  const int64_t *dims, struct accel_tensor *out);

/* --- descriptors ---------------------------------------------------------- */

/**
 * struct accel_desc - what every descriptor starts with
 */
struct accel_desc {
	/** @size: size of the whole descriptor */
	uint32_t size;
	/** @op: &enum accel_op */
	uint32_t op;
	/** @engine: &enum accel_engine to use, ACCEL_ENGINE_AUTO: the fastest that can */
	uint32_t engine;
	/** @pad: 0 */
	uint32_t pad;
};

/**
 * struct accel_epilogue - what happens to a result before it is stored
 *
 * In this order: times @scale, plus @bias, plus @residual, activation, plus
 * @residual_post, conversion to the result's type and quantisation. The tensors
 * are broadcast to the result like numpy does: trailing dimensions match, or
 * are 1; rank 0: absent.
 */
struct accel_epilogue {
	/** @act: &enum accel_act */
	uint32_t act;
	/** @p0: first parameter of the activation */
	float p0;
	/** @p1: second parameter of the activation */
	float p1;
	/** @pad: 0 */
	uint32_t pad;
	/** @scale: multiplied */
	struct accel_tensor scale;
	/** @bias: added */
	struct accel_tensor bias;
	/** @residual: added before the activation */
	struct accel_tensor residual;
	/** @residual_post: added after the activation; excludes @residual */
	struct accel_tensor residual_post;
};

/** ACCEL_GEMM_TRANS_A: A is stored [..., K, M] */
#define ACCEL_GEMM_TRANS_A	(1u << 0)
/** ACCEL_GEMM_TRANS_B: B is stored [..., N, K] */
#define ACCEL_GEMM_TRANS_B	(1u << 1)
/** ACCEL_GEMM_ALPHA: @alpha is given; else 1 */
#define ACCEL_GEMM_ALPHA	(1u << 2)
/**
 * ACCEL_GEMM_PACK_B: B is constant: it is rearranged into the engine's layout
 * when the plan is made, from the tensor's buffer, and never read again
 */
#define ACCEL_GEMM_PACK_B	(1u << 3)
/**
 * ACCEL_GEMM_SPARSE_B: with ACCEL_GEMM_PACK_B: of each four elements of B along
 * K, from a multiple of four on, two at most are not zero, see accel_prune24().
 * Engines that have a layout for that hold half of them; the others take the
 * matrix as it is, and the result is the same. B has no zero points
 */
#define ACCEL_GEMM_SPARSE_B	(1u << 4)

/**
 * struct accel_gemm_desc - D = epilogue(alpha * A x B + beta * C)
 *
 * A is [..., M, K], B [..., K, N], C and D [..., M, N]; ranks from 2; the
 * leading dimensions are batches and broadcast to those of D. A or B of rank 1
 * is a vector, as numpy has it: [K], and D and what is added have no M, or no N;
 * of two vectors D is [1]. Types:
 *
 *	A		B			D
 *	F32		F32			F32, F16, BF16
 *	F16		F16			F16, F32
 *	BF16		BF16			BF16, F32
 *	S8, U8		S8, U8, S4, U4		S32 exact; F32, F16, BF16 scaled; S8, U8
 *	F32, F16, BF16	S8, S4, U4 quantised	type of A, F32
 */
struct accel_gemm_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @flags: ACCEL_GEMM_* */
	uint32_t flags;
	/** @alpha: factor of the product, with ACCEL_GEMM_ALPHA */
	float alpha;
	/** @beta: factor of C; C is read only if it is not 0 */
	float beta;
	/** @pad: 0 */
	uint32_t pad;
	/** @a: left matrix */
	struct accel_tensor a;
	/** @b: right matrix */
	struct accel_tensor b;
	/** @c: addend, rank 0: D's old contents if beta is not 0 */
	struct accel_tensor c;
	/** @d: result */
	struct accel_tensor d;
	/** @epilogue: what follows */
	struct accel_epilogue epilogue;
};

/** ACCEL_DESC_INIT - first initialiser of a descriptor */
#define ACCEL_DESC_INIT(type, op)	{ sizeof(type), op, ACCEL_ENGINE_AUTO, 0 }
/** ACCEL_GEMM_DESC_INIT: default descriptor */
#define ACCEL_GEMM_DESC_INIT	{ .hdr = ACCEL_DESC_INIT(struct accel_gemm_desc, ACCEL_OP_GEMM) }

/** ACCEL_AXIS - mask of a dimension, for descriptors that take several */
#define ACCEL_AXIS(d)		(1u << (d))

/**
 * enum accel_softmax - functions of &struct accel_softmax_desc
 * @ACCEL_SOFTMAX_PLAIN: e^x / sum of e^x; all zeros where all are -infinity
 * @ACCEL_SOFTMAX_LOG: the logarithm of that, -infinity there
 * @ACCEL_SOFTMAX_COUNT: number of values
 */
enum accel_softmax {
	ACCEL_SOFTMAX_PLAIN = 0,
	ACCEL_SOFTMAX_LOG = 1,
	ACCEL_SOFTMAX_COUNT = 2
};

/**
 * struct accel_softmax_desc - D = softmax(A) along a dimension
 *
 * The dimensions of A broadcast to those of D. A is of any type; D is F32, F16,
 * BF16, S8 or U8. The largest element is taken off first: no input overflows.
 */
struct accel_softmax_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @func: &enum accel_softmax */
	uint32_t func;
	/** @axis: dimension of D along which results add up to 1; negative: from the end */
	int32_t axis;
	/** @a: input */
	struct accel_tensor a;
	/** @d: result; may be A itself */
	struct accel_tensor d;
};

/** ACCEL_SOFTMAX_DESC_INIT: default descriptor: along the last dimension */
#define ACCEL_SOFTMAX_DESC_INIT \
	{ .hdr = ACCEL_DESC_INIT(struct accel_softmax_desc, ACCEL_OP_SOFTMAX), .axis = -1 }

/**
 * enum accel_norm - functions of &struct accel_norm_desc
 * @ACCEL_NORM_LAYER: (x - mean) / sqrt(variance + eps), the statistics those of
 *	all elements along @axes (layer norm; training's batch norm)
 * @ACCEL_NORM_RMS: x / sqrt(mean of x^2 + eps), likewise
 * @ACCEL_NORM_GROUP: as LAYER along all dimensions but the first and @channel,
 *	and along the channels of a group; @groups says how many groups there are
 * @ACCEL_NORM_INSTANCE: the same for each channel alone
 * @ACCEL_NORM_BATCH: mean and variance of each channel are given
 * @ACCEL_NORM_COUNT: number of values
 */
enum accel_norm {
	ACCEL_NORM_LAYER = 0,
	ACCEL_NORM_RMS = 1,
	ACCEL_NORM_GROUP = 2,
	ACCEL_NORM_INSTANCE = 3,
	ACCEL_NORM_BATCH = 4,
	ACCEL_NORM_COUNT = 5
};

/**
 * struct accel_norm_desc - D = epilogue(norm(A) * scale + bias)
 *
 * A and D have the same dimensions and any types, D none of 4 bits. For LAYER
 * and RMS, @scale and @bias broadcast to D as numpy does. For the others they,
 * @mean and @variance are vectors with an element for each channel. The epilogue
 * may have residuals and an activation.
 */
struct accel_norm_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @func: &enum accel_norm */
	uint32_t func;
	/** @axes: LAYER, RMS: mask of ACCEL_AXIS(dimension), 0: the last one */
	uint32_t axes;
	/** @channel: GROUP, INSTANCE, BATCH: dimension of the channels; negative: from the end */
	int32_t channel;
	/** @groups: GROUP: number of groups, a divisor of the number of channels */
	uint32_t groups;
	/** @eps: added to the variance: finite, >= 0 */
	float eps;
	/** @pad: 0 */
	uint32_t pad;
	/** @a: input */
	struct accel_tensor a;
	/** @scale: gamma; rank 0: none */
	struct accel_tensor scale;
	/** @bias: beta; rank 0: none */
	struct accel_tensor bias;
	/** @mean: BATCH: mean of each channel; ACCEL_ARG_AUX0 */
	struct accel_tensor mean;
	/** @variance: BATCH: variance of each channel, >= 0; ACCEL_ARG_AUX1 */
	struct accel_tensor variance;
	/** @d: result; may be A itself */
	struct accel_tensor d;
	/** @epilogue: what follows; its scale and bias are absent */
	struct accel_epilogue epilogue;
};

/** ACCEL_NORM_DESC_INIT: default descriptor: channels in dimension 1, eps 0.00001 */
#define ACCEL_NORM_DESC_INIT \
	{ .hdr = ACCEL_DESC_INIT(struct accel_norm_desc, ACCEL_OP_NORM), .channel = 1, \
	  .eps = 0.00001f }

/**
 * enum accel_reduce - functions of &struct accel_reduce_desc
 * @ACCEL_REDUCE_SUM: sum; 0 of nothing
 * @ACCEL_REDUCE_MEAN: mean; NaN of nothing
 * @ACCEL_REDUCE_MAX: largest, NaN if there is one; of nothing -infinity, or the
 *	smallest number of an integer type
 * @ACCEL_REDUCE_MIN: likewise the smallest
 * @ACCEL_REDUCE_PROD: product; 1 of nothing
 * @ACCEL_REDUCE_L1: sum of magnitudes
 * @ACCEL_REDUCE_L2: square root of the sum of squares
 * @ACCEL_REDUCE_SUM_SQUARE: sum of squares
 * @ACCEL_REDUCE_LOG_SUM: logarithm of the sum
 * @ACCEL_REDUCE_LOG_SUM_EXP: logarithm of the sum of e^x; no input overflows
 * @ACCEL_REDUCE_ARG_MAX: index of the largest along a dimension that is not 0;
 *	the first NaN if there is one
 * @ACCEL_REDUCE_ARG_MIN: likewise the smallest
 * @ACCEL_REDUCE_COUNT: number of values
 */
enum accel_reduce {
	ACCEL_REDUCE_SUM = 0,
	ACCEL_REDUCE_MEAN = 1,
	ACCEL_REDUCE_MAX = 2,
	ACCEL_REDUCE_MIN = 3,
	ACCEL_REDUCE_PROD = 4,
	ACCEL_REDUCE_L1 = 5,
	ACCEL_REDUCE_L2 = 6,
	ACCEL_REDUCE_SUM_SQUARE = 7,
	ACCEL_REDUCE_LOG_SUM = 8,
	ACCEL_REDUCE_LOG_SUM_EXP = 9,
	ACCEL_REDUCE_ARG_MAX = 10,
	ACCEL_REDUCE_ARG_MIN = 11,
	ACCEL_REDUCE_COUNT = 12
};

/** ACCEL_REDUCE_LAST_INDEX: ARG_MAX, ARG_MIN: the last of equal elements, not the first */
#define ACCEL_REDUCE_LAST_INDEX	(1u << 0)

/**
 * struct accel_reduce_desc - D = a number of all elements of A along dimensions
 *
 * D has the rank of A and its dimensions, but 1 for those in @axes. Types: any
 * into F32, F16, BF16, S32, S8, U8; ARG_MAX and ARG_MIN into S32. Sum, maximum,
 * minimum, product, L1 and sum of squares of unquantised integers into
 * unquantised integers are exact, saturated once.
 */
struct accel_reduce_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @func: &enum accel_reduce */
	uint32_t func;
	/** @axes: mask of ACCEL_AXIS(dimension), 0: all; exactly one for ARG_MAX, ARG_MIN */
	uint32_t axes;
	/** @flags: ACCEL_REDUCE_* flags */
	uint32_t flags;
	/** @pad: 0 */
	uint32_t pad;
	/** @a: input */
	struct accel_tensor a;
	/** @d: result; not in place */
	struct accel_tensor d;
};

/** ACCEL_REDUCE_DESC_INIT: default descriptor: along all dimensions */
#define ACCEL_REDUCE_DESC_INIT \
	{ .hdr = ACCEL_DESC_INIT(struct accel_reduce_desc, ACCEL_OP_REDUCE) }

/** ACCEL_DYNQUANT_ASYMMETRIC: with zero points; else 0 is in the middle of the type */
#define ACCEL_DYNQUANT_ASYMMETRIC	(1u << 0)

/**
 * struct accel_dynquant_desc - D = A in bytes, with scales of its own
 *
 * All elements that differ along @axes alone share a scale and a zero point:
 *
 *	symmetric	scale = max(abs(A)) / 127; zero = 0, or 128 for U8
 *	asymmetric	scale = (max - min) / 255; zero = lo - min / scale
 *
 * with max at least and min at most 0, and lo the smallest number of the type;
 * then D = A / scale + zero, rounded to nearest even, saturated. Where all is 0
 * the scale is 1. A NaN makes the scale NaN.
 *
 * A product with static weights takes D as it is as its left matrix (U8 with a
 * scale of 1 and zero point 128) and, with axes of K, @scales as the scale of
 * its epilogue: [..., M, 1] broadcasts over the columns.
 */
struct accel_dynquant_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @flags: ACCEL_DYNQUANT_* */
	uint32_t flags;
	/** @axes: mask of ACCEL_AXIS(dimension), 0: all: one scale */
	uint32_t axes;
	/** @a: input: F32, F16, BF16 */
	struct accel_tensor a;
	/** @d: result: S8, U8, of A's dimensions, not quantised; not in place */
	struct accel_tensor d;
	/** @scales: result: F32, A's dimensions but 1 along @axes; ACCEL_ARG_AUX0 */
	struct accel_tensor scales;
	/** @zeros: result if asymmetric: S32, likewise; ACCEL_ARG_AUX1 */
	struct accel_tensor zeros;
};

/** ACCEL_DYNQUANT_DESC_INIT: default descriptor: symmetric, one scale */
#define ACCEL_DYNQUANT_DESC_INIT \
	{ .hdr = ACCEL_DESC_INIT(struct accel_dynquant_desc, ACCEL_OP_DYNQUANT) }

/** ACCEL_TOPK_SMALLEST: the smallest elements, ascending; else the largest, descending */
#define ACCEL_TOPK_SMALLEST	(1u << 0)

/**
 * struct accel_topk_desc - the k largest or smallest elements along a dimension
 *
 * D has the dimensions of A, but k along @axis: at most as many as A has.
 * @indices has those of D. Of equal elements the one with the lower index comes
 * first; zeros of either sign are equal; a NaN counts as larger than all numbers.
 * Values are converted from the type of A to that of D, which has no 4 bits.
 */
struct accel_topk_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @flags: ACCEL_TOPK_* */
	uint32_t flags;
	/** @axis: dimension; negative: from the end */
	int32_t axis;
	/** @a: input */
	struct accel_tensor a;
	/** @d: values; not in place */
	struct accel_tensor d;
	/** @indices: S32: where along @axis each was; ACCEL_ARG_AUX0 */
	struct accel_tensor indices;
};

/** ACCEL_TOPK_DESC_INIT: default descriptor: along the last dimension */
#define ACCEL_TOPK_DESC_INIT \
	{ .hdr = ACCEL_DESC_INIT(struct accel_topk_desc, ACCEL_OP_TOPK), .axis = -1 }

/** ACCEL_SCAN_EXCLUSIVE: the sum of the elements before, without the element itself */
#define ACCEL_SCAN_EXCLUSIVE	(1u << 0)
/** ACCEL_SCAN_REVERSE: from the last element on */
#define ACCEL_SCAN_REVERSE	(1u << 1)

/**
 * struct accel_scan_desc - D = running sums of A along a dimension
 *
 * The dimensions of A broadcast to those of D, whose type has no 4 bits. Sums of
 * unquantised integers into unquantised integers are exact, each saturated by
 * itself.
 */
struct accel_scan_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @flags: ACCEL_SCAN_* */
	uint32_t flags;
	/** @axis: dimension; negative: from the end */
	int32_t axis;
	/** @a: input */
	struct accel_tensor a;
	/** @d: result; may be A itself */
	struct accel_tensor d;
};

/** ACCEL_SCAN_DESC_INIT: default descriptor: along the last dimension */
#define ACCEL_SCAN_DESC_INIT \
	{ .hdr = ACCEL_DESC_INIT(struct accel_scan_desc, ACCEL_OP_SCAN), .axis = -1 }

/**
 * enum accel_conv_algorithm - ways to compute a convolution
 * @ACCEL_CONV_AUTO: the fastest that can
 * @ACCEL_CONV_DIRECT: tap by tap
 * @ACCEL_CONV_IMPLICIT: as a GEMM whose left matrix exists in pieces only
 * @ACCEL_CONV_GEMM: as the GEMM that a convolution with a kernel of 1 by 1 is
 * @ACCEL_CONV_WINOGRAD_2: Winograd's F(2x2, 3x3): 2.25 times fewer products
 * @ACCEL_CONV_WINOGRAD_4: F(4x4, 3x3): 4 times fewer
 * @ACCEL_CONV_WINOGRAD_6: F(6x6, 3x3): 5.1 times fewer; fp32 only
 * @ACCEL_CONV_ALGORITHM_COUNT: number of values
 *
 * Winograd's are for kernels of 3 by 3, strides and dilations of 1, one group,
 * floating-point tensors and constant weights (ACCEL_CONV_PACK_B): these are
 * transformed once, when the plan is made. They are less exact than the others;
 * the plan takes them by itself only with ACCEL_CONV_WINOGRAD.
 *
 * Integers come out the same whichever it is; other numbers differ within the
 * bounds of Documentation/numerics.rst.
 */
enum accel_conv_algorithm {
	ACCEL_CONV_AUTO = 0,
	ACCEL_CONV_DIRECT = 1,
	ACCEL_CONV_IMPLICIT = 2,
	ACCEL_CONV_GEMM = 3,
	ACCEL_CONV_WINOGRAD_2 = 4,
	ACCEL_CONV_WINOGRAD_4 = 5,
	ACCEL_CONV_WINOGRAD_6 = 6,
	ACCEL_CONV_ALGORITHM_COUNT = 7
};

/**
 * accel_conv_algorithm_name - name of an algorithm: "auto", "direct", "implicit GEMM"
 * @algorithm: &enum accel_conv_algorithm
 *
 * Return: static string, NULL for a value out of range.
 */
ACCEL_API const char *accel_conv_algorithm_name(uint32_t algorithm);

/** ACCEL_CONV_NHWC: A and D are [N, height, width, C], or [N, width, C] */
#define ACCEL_CONV_NHWC		(1u << 0)
/** ACCEL_CONV_TRANSPOSED: the transposed convolution */
#define ACCEL_CONV_TRANSPOSED	(1u << 1)
/**
 * ACCEL_CONV_PACK_B: the weights are constant: they are rearranged for the
 * engine and the algorithm when the plan is made, from the tensor's buffer, and
 * never read again
 */
#define ACCEL_CONV_PACK_B	(1u << 2)
/**
 * ACCEL_CONV_WINOGRAD: with ACCEL_CONV_AUTO: take F(2x2, 3x3) or F(4x4, 3x3) where
 * that is faster; F(6x6, 3x3) is taken only if it is asked for
 */
#define ACCEL_CONV_WINOGRAD	(1u << 3)

/**
 * struct accel_conv_desc - D = epilogue(A convolved with B)
 *
 * In two dimensions A is [N, C, height, width], D [N, M, height, width] and B
 * [M, C / groups, height, width]; in one dimension there is no height. Tensors
 * with another order in memory have strides, or ACCEL_CONV_NHWC for A, D and what
 * is broadcast to D. With ACCEL_CONV_TRANSPOSED B is [C, M / groups, height,
 * width]. Output channels of a group see the input channels of the same group;
 * groups = C is the depthwise convolution, with M / C filters for each channel.
 *
 * A vector in the epilogue (bias, scale) has a number for each channel of D, also
 * where channels are not the last dimension; other shapes broadcast as usual. So
 * a batch normalisation is a scale and a bias: accel_fold_batch_norm().
 *
 * For each dimension D has floor((A + pad_before + pad_after - (B - 1) dilation -
 * 1) / stride) + 1 elements. Transposed: (A - 1) stride + (B - 1) dilation + 1 -
 * pad_before - pad_after, and up to the larger of stride and dilation less one more, which
 * lie behind: the output padding.
 *
 * Types are those of &struct accel_gemm_desc. Integer weights may have a scale for
 * each output channel, of dimension 0, transposed dimension 1 (the same for all
 * groups); there are no groups of scales.
 */
struct accel_conv_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @flags: ACCEL_CONV_* */
	uint32_t flags;
	/** @algorithm: &enum accel_conv_algorithm */
	uint32_t algorithm;
	/** @groups: groups of channels, 0 for 1 */
	uint32_t groups;
	/** @pad: 0 */
	uint32_t pad;
	/** @stride: distance of windows for each spatial dimension, 0 for 1, up to 65536 */
	uint32_t stride[2];
	/** @dilation: distance of taps, 0 for 1, up to 65536 */
	uint32_t dilation[2];
	/** @pad_before: zeros before the first input, up to 65536 */
	uint32_t pad_before[2];
	/** @pad_after: zeros behind the last input, up to 65536 */
	uint32_t pad_after[2];
	/** @a: input */
	struct accel_tensor a;
	/** @b: weights */
	struct accel_tensor b;
	/** @d: result */
	struct accel_tensor d;
	/** @epilogue: what follows */
	struct accel_epilogue epilogue;
};

/** ACCEL_CONV_DESC_INIT: default descriptor */
#define ACCEL_CONV_DESC_INIT	{ .hdr = ACCEL_DESC_INIT(struct accel_conv_desc, ACCEL_OP_CONV) }

/**
 * struct accel_batch_norm - a trained batch normalisation
 */
struct accel_batch_norm {
	/** @size: sizeof(struct accel_batch_norm) */
	uint32_t size;
	/** @flags: 0 */
	uint32_t flags;
	/** @channels: numbers in each array */
	uint32_t channels;
	/** @epsilon: added to the variances */
	float epsilon;
	/** @gamma: factors, or NULL for 1 */
	const float *gamma;
	/** @beta: addends, or NULL for 0 */
	const float *beta;
	/** @mean: means */
	const float *mean;
	/** @var: variances */
	const float *var;
	/** @bias: the bias of the convolution before it, or NULL */
	const float *bias;
};

/**
 * accel_fold_batch_norm - a batch normalisation as scale and bias of an epilogue
 * @bn: normalisation of x + @bn->bias: gamma (x + bias - mean) / sqrt(var + epsilon) + beta
 * @scale: out: gamma / sqrt(var + epsilon) for each channel
 * @bias: out: (bias - mean) scale + beta for each channel
 *
 * Computed in binary64 and rounded once. Put into &struct accel_epilogue as
 * vectors of the channels they cost nothing; weights stay as they are, quantised
 * ones too.
 *
 * Return: 0; -EINVAL size, flags, no means or variances, epsilon not finite, a
 * variance that is not above -epsilon: nothing has been written.
 */
ACCEL_API int accel_fold_batch_norm(const struct accel_batch_norm *bn, float *scale,
				    float *bias);

/**
 * struct accel_copy_desc - D = A, converted: types, layout, quantisation
 *
 * The dimensions of A broadcast to those of D.
 */
struct accel_copy_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @a: input */
	struct accel_tensor a;
	/** @d: result */
	struct accel_tensor d;
};

/** ACCEL_COPY_DESC_INIT: default descriptor */
#define ACCEL_COPY_DESC_INIT	{ .hdr = ACCEL_DESC_INIT(struct accel_copy_desc, ACCEL_OP_COPY) }

/**
 * struct accel_fill_desc - D = value, converted to D's type (rounded to nearest
 * even, saturated)
 */
struct accel_fill_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @value: constant */
	double value;
	/** @d: result, not quantised */
	struct accel_tensor d;
};

/** ACCEL_FILL_DESC_INIT: default descriptor */
#define ACCEL_FILL_DESC_INIT	{ .hdr = ACCEL_DESC_INIT(struct accel_fill_desc, ACCEL_OP_FILL) }

/**
 * struct accel_unary_desc - D = epilogue(f(A)), elementwise
 *
 * The dimensions of A broadcast to those of D. The epilogue may have an
 * activation only.
 */
struct accel_unary_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @func: &enum accel_unary */
	uint32_t func;
	/** @pad: 0 */
	uint32_t pad;
	/** @a: input */
	struct accel_tensor a;
	/** @d: result; may be A itself */
	struct accel_tensor d;
	/** @epilogue: what follows */
	struct accel_epilogue epilogue;
};

/** ACCEL_UNARY_DESC_INIT: default descriptor */
#define ACCEL_UNARY_DESC_INIT	{ .hdr = ACCEL_DESC_INIT(struct accel_unary_desc, ACCEL_OP_UNARY) }

/**
 * struct accel_binary_desc - D = epilogue(f(A, B)), elementwise
 *
 * The dimensions of A and B broadcast to those of D. The epilogue may have an
 * activation only. Three int32 tensors without quantisation are computed
 * exactly and saturated; then the activation is none or ReLU, and there is no
 * ACCEL_BINARY_DIV. Comparisons and logic give 0 or 1 in any type, and compare
 * integers without quantisation as integers. The functions of bits take
 * integers of one type, unquantised, and no activation.
 */
struct accel_binary_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @func: &enum accel_binary */
	uint32_t func;
	/** @pad: 0 */
	uint32_t pad;
	/** @a: first input */
	struct accel_tensor a;
	/** @b: second input */
	struct accel_tensor b;
	/** @d: result; may be A or B itself */
	struct accel_tensor d;
	/** @epilogue: what follows */
	struct accel_epilogue epilogue;
};

/** ACCEL_BINARY_DESC_INIT: default descriptor */
#define ACCEL_BINARY_DESC_INIT \
	{ .hdr = ACCEL_DESC_INIT(struct accel_binary_desc, ACCEL_OP_BINARY) }

/**
 * struct accel_select_desc - D = A is not zero ? B : C, elementwise
 *
 * The dimensions of A, B and C broadcast to those of D. NaN is not zero. Where
 * B, C and D have one type and no quantisation, elements are moved as they are;
 * else they are converted, through binary32.
 */
struct accel_select_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @a: condition */
	struct accel_tensor a;
	/** @b: taken where the condition is not zero */
	struct accel_tensor b;
	/** @c: taken where it is zero */
	struct accel_tensor c;
	/** @d: result; may be A, B or C itself */
	struct accel_tensor d;
};

/** ACCEL_SELECT_DESC_INIT: default descriptor */
#define ACCEL_SELECT_DESC_INIT \
	{ .hdr = ACCEL_DESC_INIT(struct accel_select_desc, ACCEL_OP_SELECT) }

/** ACCEL_ATTENTION_CAUSAL: a key is seen by queries at its position and after it */
#define ACCEL_ATTENTION_CAUSAL	(1u << 0)
/**
 * ACCEL_ATTENTION_WINDOW: a query at position p sees keys from p - @window_left
 * to p + @window_right, and the first @keep, only
 */
#define ACCEL_ATTENTION_WINDOW	(1u << 1)
/** ACCEL_ATTENTION_OFFSET: @q_offset is given; else the last query is at the last key */
#define ACCEL_ATTENTION_OFFSET	(1u << 2)
/** ACCEL_ATTENTION_SCALE: @scale is given; else 1 / sqrt(head dimension) */
#define ACCEL_ATTENTION_SCALE	(1u << 3)
/** ACCEL_ATTENTION_RAGGED: sequences lie one after the other: @lengths has 3 or 4 columns */
#define ACCEL_ATTENTION_RAGGED	(1u << 4)

/**
 * struct accel_attention_desc - D = softmax(scale * Q x K^T + ...) x V
 *
 * The scores are never in memory. Dimensions, whatever the strides::
 *
 *	q	ACCEL_ARG_A	[batch, queries, heads, head_dim] F32, F16, BF16
 *	k	ACCEL_ARG_B	[batch, keys, kv_heads, head_dim] F32, F16, BF16,
 *				or S8, U8, S4, U4 quantised
 *	v	ACCEL_ARG_C	[batch, keys, kv_heads, v_dim] likewise
 *	d	ACCEL_ARG_D	[batch, queries, heads, v_dim] F32, F16, BF16;
 *				may be q itself
 *	mask	ACCEL_ARG_AUX0	[batch, heads, queries, keys], leading dimensions
 *				may be missing, any may be 1. F32, F16, BF16: added
 *				to the scores; U8: 0 hides the key
 *	pages	ACCEL_ARG_AUX1	S32 [batch, pages of a sequence]
 *	lengths	ACCEL_ARG_AUX2	S32 [batch] or [batch, columns]
 *	slopes	ACCEL_ARG_AUX3	F32 [heads] or [batch, heads]
 *	sinks	ACCEL_ARG_AUX4	F32, F16, BF16 [heads]
 *	partials ACCEL_ARG_RESIDUAL F32 [pieces, batch, queries, heads, v_dim + 2]
 *
 * heads is a multiple of kv_heads: head h reads head h / (heads / kv_heads).
 * Rank 0: there is no such tensor. Scores are, in this order, multiplied by the
 * scale, bounded by @softcap, less the slope times the distance of the query's
 * and the key's position (ALiBi), plus the mask. A sink is the score of a key
 * without a value. A query that sees no key gives zeros.
 *
 * Paged: with @pages, k and v are pools [pages, page_size, kv_heads, dim], and
 * key j of sequence b is in page pages[b, j / page_size] at j % page_size. Pages
 * that no query sees through length, causality and window need no valid entry.
 *
 * Quantised keys and values: any scheme; groups run along the last dimension.
 * With @group at least head_dim that is a scale for each row and head, the table
 * being dense [batch, keys, kv_heads] or, for pools, [pages, page_size, kv_heads].
 *
 * Lengths: column 0 is the number of keys, column 1 that of queries (else all).
 * Queries beyond it give zeros. With ACCEL_ATTENTION_RAGGED q and d are
 * [1, all queries, ...] and column 2 is a sequence's first row, in order and
 * apart; @q_max bounds column 1. With column 3, which excludes @pages, k and v
 * are [1, all keys, ...] and it is a sequence's first key. The batch is that of
 * @lengths; the mask's queries are @q_max. Numbers out of range, in @lengths and
 * @pages, fail the job.
 *
 * Positions: key j is at j; query i at @q_offset + i with ACCEL_ATTENTION_OFFSET,
 * else at keys - queries + i, by the lengths of its sequence. They count for
 * causality, window and slopes.
 *
 * Partials: the keys are cut in as many pieces as the first dimension says, done
 * side by side, and put together from this memory: for few queries and many
 * keys. Its contents are undefined afterwards.
 */
struct accel_attention_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @flags: ACCEL_ATTENTION_* */
	uint32_t flags;
	/** @scale: with ACCEL_ATTENTION_SCALE: factor of the scores, else 0 */
	float scale;
	/** @softcap: c: scores become c * tanh(score / c); 0: they do not */
	float softcap;
	/** @window_left: with ACCEL_ATTENTION_WINDOW, else 0; UINT32_MAX: all before */
	uint32_t window_left;
	/** @window_right: with ACCEL_ATTENTION_WINDOW, else 0; UINT32_MAX: all after */
	uint32_t window_right;
	/** @keep: with ACCEL_ATTENTION_WINDOW: first keys that it does not hide, else 0 */
	uint32_t keep;
	/** @q_offset: with ACCEL_ATTENTION_OFFSET: position of the first query, else 0 */
	int32_t q_offset;
	/** @q_max: with ACCEL_ATTENTION_RAGGED: most queries of a sequence, else 0 */
	uint32_t q_max;
	/** @q: queries */
	struct accel_tensor q;
	/** @k: keys */
	struct accel_tensor k;
	/** @v: values */
	struct accel_tensor v;
	/** @d: result */
	struct accel_tensor d;
	/** @mask: added to the scores, or which keys are seen */
	struct accel_tensor mask;
	/** @pages: page table */
	struct accel_tensor pages;
	/** @lengths: lengths of the sequences */
	struct accel_tensor lengths;
	/** @slopes: ALiBi */
	struct accel_tensor slopes;
	/** @sinks: attention sinks */
	struct accel_tensor sinks;
	/** @partials: memory for pieces of the keys */
	struct accel_tensor partials;
};

/** ACCEL_ATTENTION_DESC_INIT: default descriptor */
#define ACCEL_ATTENTION_DESC_INIT \
	{ .hdr = ACCEL_DESC_INIT(struct accel_attention_desc, ACCEL_OP_ATTENTION) }

/** ACCEL_ROTARY_INTERLEAVED: a pair is (2i, 2i + 1); else (i, i + rot_dim / 2) */
#define ACCEL_ROTARY_INTERLEAVED	(1u << 0)

/**
 * struct accel_rotary_desc - D = A with rotary position embedding
 *
 * The first rot_dim elements of each head form pairs, and each pair is turned by
 * the angle that the tables have for the position of its row:
 *
 *	d0 = a0 cos - a1 sin
 *	d1 = a1 cos + a0 sin
 *
 * The rest of the head is copied. Dimensions, whatever the strides:
 *
 *	a, d		ACCEL_ARG_A, D	[batch, seq, heads, head_dim] floating-point, or
 *					S8, U8 with one scale; d may be a itself
 *	cosines, sines	ACCEL_ARG_B, C	[positions, rot_dim / 2] F32, F16, BF16;
 *					rot_dim is at most head_dim
 *	positions	ACCEL_ARG_AUX0	S32 [batch, seq], broadcast to it; rank 0:
 *					@start and those that follow
 *
 * A position that the tables do not have fails the job. accel_rotary_table()
 * fills tables. Algorithm: J. Su et al., "RoFormer", 2021, arXiv:2104.09864.
 */
struct accel_rotary_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @flags: ACCEL_ROTARY_* */
	uint32_t flags;
	/** @start: without @positions: position of the first row, else 0 */
	uint32_t start;
	/** @a: input */
	struct accel_tensor a;
	/** @cosines: by position and pair */
	struct accel_tensor cosines;
	/** @sines: by position and pair */
	struct accel_tensor sines;
	/** @positions: of each row */
	struct accel_tensor positions;
	/** @d: result */
	struct accel_tensor d;
};

/** ACCEL_ROTARY_DESC_INIT: default descriptor */
#define ACCEL_ROTARY_DESC_INIT \
	{ .hdr = ACCEL_DESC_INIT(struct accel_rotary_desc, ACCEL_OP_ROTARY) }

/**
 * enum accel_rotary_scaling - how a model stretches its positions
 * @ACCEL_ROTARY_PLAIN: not at all
 * @ACCEL_ROTARY_LINEAR: angles are divided by the factor
 * @ACCEL_ROTARY_LLAMA3: slow angles are divided by the factor, fast ones stay
 * @ACCEL_ROTARY_YARN: likewise, by another rule, and pairs grow longer
 * @ACCEL_ROTARY_SCALING_COUNT: number of values
 */
enum accel_rotary_scaling {
	ACCEL_ROTARY_PLAIN = 0,
	ACCEL_ROTARY_LINEAR = 1,
	ACCEL_ROTARY_LLAMA3 = 2,
	ACCEL_ROTARY_YARN = 3,
	ACCEL_ROTARY_SCALING_COUNT = 4
};

/**
 * struct accel_rotary_opts - the angles of accel_rotary_table()
 *
 * Pair i turns by base^(-2i / rot_dim) a position before scaling. "NTK-aware"
 * scaling is another @base: base * factor^(rot_dim / (rot_dim - 2)).
 */
struct accel_rotary_opts {
	/** @size: sizeof(struct accel_rotary_opts) */
	uint32_t size;
	/** @scaling: &enum accel_rotary_scaling */
	uint32_t scaling;
	/** @rot_dim: elements of a head that turn, even */
	uint32_t rot_dim;
	/** @trained: LLAMA3, YARN: positions that the model was trained with, else 0 */
	uint32_t trained;
	/** @base: 0: 10000 */
	double base;
	/** @factor: LINEAR, LLAMA3, YARN: at least 1, else 0 */
	double factor;
	/**
	 * @low: LLAMA3, YARN: pairs that turn no more often within @trained are
	 * slowed down wholly; 0: 1
	 */
	double low;
	/** @high: pairs that turn more often stay, above @low; 0: LLAMA3 4, YARN 32 */
	double high;
	/** @amplitude: YARN: factor of cosines and sines; 0: 0.1 ln(factor) + 1 */
	double amplitude;
	/** @pad: 0 */
	uint64_t pad;
};

/** ACCEL_ROTARY_OPTS_INIT: default options; rot_dim is to be set */
#define ACCEL_ROTARY_OPTS_INIT \
	{ sizeof(struct accel_rotary_opts), ACCEL_ROTARY_PLAIN, 0, 0, 0, 0, 0, 0, 0, 0 }

/**
 * accel_rotary_table - fill tables for &struct accel_rotary_desc
 * @opts: the angles
 * @first: first position
 * @count: positions, which end at INT32_MAX
 * @cosines: out: [count][rot_dim / 2]
 * @sines: out: likewise
 *
 * Computed in binary64 and rounded once. Sources: RoFormer, arXiv:2104.09864;
 * position interpolation (LINEAR), arXiv:2306.15595; "The Llama 3 Herd of
 * Models", arXiv:2407.21783; YaRN, arXiv:2309.00071, with the ramp of its
 * authors' code.
 *
 * Threads: any.
 *
 * Return: 0; -EINVAL options or positions out of range, or options set that the
 * scaling does not use; -E2BIG.
 */
ACCEL_API int accel_rotary_table(const struct accel_rotary_opts *opts,
				 uint64_t first, uint64_t count,
				 float *cosines, float *sines);

/**
 * enum accel_gather_func - how &struct accel_gather_desc uses indices
 * @ACCEL_GATHER_AXIS: D[i..., j..., k...] = A[i..., B[j...], k...]: dimension
 *	@axis of A is replaced by the dimensions of B. With axis 0: rows of a
 *	table, an embedding
 * @ACCEL_GATHER_ELEMENTS: D[i...] = A[i... with that of @axis replaced by B[i...]];
 *	D has the dimensions of B, which but for the axis do not exceed those of A
 * @ACCEL_GATHER_ND: the last dimension of B is k indices for the dimensions of
 *	A that follow the first @batch, which B shares: D[i..., j..., l...] =
 *	A[i..., B[i..., j..., 0], ..., B[i..., j..., k - 1], l...]
 * @ACCEL_GATHER_COUNT: number of values
 */
enum accel_gather_func {
	ACCEL_GATHER_AXIS = 0,
	ACCEL_GATHER_ELEMENTS = 1,
	ACCEL_GATHER_ND = 2,
	ACCEL_GATHER_COUNT = 3
};

/**
 * struct accel_gather_desc - D = elements of A by index
 *
 * B is indices, S32 without quantisation; negative ones count from the end. An
 * index outside of A is found when the operation runs: the job faults, and what
 * is in D is not defined. Types and quantisation of A become those of D as in a
 * copy: a table of quantised rows can be gathered as F16. D has no 4-bit type.
 */
struct accel_gather_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @func: &enum accel_gather_func */
	uint32_t func;
	/** @axis: dimension of A; 0 for ACCEL_GATHER_ND */
	uint32_t axis;
	/** @batch: ACCEL_GATHER_ND: leading dimensions that A and B share; else 0 */
	uint32_t batch;
	/** @pad: 0 */
	uint32_t pad;
	/** @a: data */
	struct accel_tensor a;
	/** @b: indices */
	struct accel_tensor b;
	/** @d: result, apart from @a */
	struct accel_tensor d;
};

/** ACCEL_GATHER_DESC_INIT: default descriptor */
#define ACCEL_GATHER_DESC_INIT \
	{ .hdr = ACCEL_DESC_INIT(struct accel_gather_desc, ACCEL_OP_GATHER) }

/**
 * enum accel_scatter_func - how &struct accel_scatter_desc uses indices
 * @ACCEL_SCATTER_ELEMENTS: C[i...] goes to D[i... with that of @axis replaced by
 *	B[i...]]; B and C have the same dimensions, which but for the axis do not
 *	exceed those of D
 * @ACCEL_SCATTER_ND: C[j..., l...] goes to D[B[j..., 0], ..., B[j..., k - 1],
 *	l...], k being the last dimension of B
 * @ACCEL_SCATTER_COUNT: number of values
 */
enum accel_scatter_func {
	ACCEL_SCATTER_ELEMENTS = 0,
	ACCEL_SCATTER_ND = 1,
	ACCEL_SCATTER_COUNT = 2
};

/**
 * enum accel_scatter_reduce - what an update does to its element
 * @ACCEL_SCATTER_PUT: replaces it
 * @ACCEL_SCATTER_ADD: is added
 * @ACCEL_SCATTER_MUL: is multiplied
 * @ACCEL_SCATTER_MAX: the larger of the two
 * @ACCEL_SCATTER_MIN: the smaller of the two
 * @ACCEL_SCATTER_REDUCE_COUNT: number of values
 */
enum accel_scatter_reduce {
	ACCEL_SCATTER_PUT = 0,
	ACCEL_SCATTER_ADD = 1,
	ACCEL_SCATTER_MUL = 2,
	ACCEL_SCATTER_MAX = 3,
	ACCEL_SCATTER_MIN = 4,
	ACCEL_SCATTER_REDUCE_COUNT = 5
};

/**
 * struct accel_scatter_desc - D = A, then C at the indices in B
 *
 * Indices are as of &struct accel_gather_desc. Updates that meet in an element
 * take place in the row-major order of B, each rounded and saturated to D's type
 * before the next: the last one that is put stays.
 */
struct accel_scatter_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @func: &enum accel_scatter_func */
	uint32_t func;
	/** @axis: dimension of D; 0 for ACCEL_SCATTER_ND */
	uint32_t axis;
	/** @reduce: &enum accel_scatter_reduce */
	uint32_t reduce;
	/** @pad: 0 */
	uint32_t pad;
	/** @a: data, with the dimensions of @d */
	struct accel_tensor a;
	/** @b: indices */
	struct accel_tensor b;
	/** @c: updates */
	struct accel_tensor c;
	/** @d: result; may be @a itself, which then is not copied */
	struct accel_tensor d;
};

/** ACCEL_SCATTER_DESC_INIT: default descriptor */
#define ACCEL_SCATTER_DESC_INIT \
	{ .hdr = ACCEL_DESC_INIT(struct accel_scatter_desc, ACCEL_OP_SCATTER) }

/**
 * enum accel_pool_func - what a window becomes
 * @ACCEL_POOL_MAX: its largest element; NaN if it has one
 * @ACCEL_POOL_AVERAGE: the average
 * @ACCEL_POOL_LP: (sum of abs(x)^norm)^(1 / norm)
 * @ACCEL_POOL_COUNT: number of values
 */
enum accel_pool_func {
	ACCEL_POOL_MAX = 0,
	ACCEL_POOL_AVERAGE = 1,
	ACCEL_POOL_LP = 2,
	ACCEL_POOL_COUNT = 3
};

/** ACCEL_POOL_CEIL: a last window that is not whole counts, unless it starts in the padding */
#define ACCEL_POOL_CEIL		(1u << 0)
/** ACCEL_POOL_COUNT_PAD: averages: positions in the padding count, as zeros */
#define ACCEL_POOL_COUNT_PAD	(1u << 1)
/** ACCEL_POOL_GLOBAL: the window is all of A; nothing else of it is given */
#define ACCEL_POOL_GLOBAL	(1u << 2)

/**
 * struct accel_pool_desc - D = maximum, average or norm of windows of A
 *
 * A and D are [N, C, spatial...] with one to three spatial dimensions; for NHWC
 * the strides say so. D has floor((in + pad_begin + pad_end - dilation * (kernel
 * - 1) - 1) / stride) + 1 elements along a spatial dimension, with
 * ACCEL_POOL_CEIL one more if windows are left over. What lies outside of A has
 * no part in a window; a window of nothing has the average 0, the norm 0 and
 * the maximum -infinity, saturated. Types: F32, F16, BF16, S8, U8, quantised by
 * tensor or not at all.
 */
struct accel_pool_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @func: &enum accel_pool_func */
	uint32_t func;
	/** @flags: ACCEL_POOL_* */
	uint32_t flags;
	/** @norm: ACCEL_POOL_LP: 1 to 16; else 0 */
	uint32_t norm;
	/** @pad: 0 */
	uint32_t pad;
	/** @kernel: size of the window along each spatial dimension */
	uint32_t kernel[3];
	/** @stride: distance of windows; 0: 1 */
	uint32_t stride[3];
	/** @dilation: distance of the positions in a window; 0: 1 */
	uint32_t dilation[3];
	/** @pad_begin: positions before the first element */
	uint32_t pad_begin[3];
	/** @pad_end: positions behind the last element */
	uint32_t pad_end[3];
	/** @pad1: 0 */
	uint32_t pad1;
	/** @a: input */
	struct accel_tensor a;
	/** @d: result */
	struct accel_tensor d;
};

/** ACCEL_POOL_DESC_INIT: default descriptor */
#define ACCEL_POOL_DESC_INIT	{ .hdr = ACCEL_DESC_INIT(struct accel_pool_desc, ACCEL_OP_POOL) }

/**
 * enum accel_resize_func - how a tensor is sampled
 * @ACCEL_RESIZE_NEAREST: the nearest element
 * @ACCEL_RESIZE_LINEAR: between two neighbours along each dimension
 * @ACCEL_RESIZE_CUBIC: cubic convolution over four neighbours along each (Keys,
 *	"Cubic convolution interpolation for digital image processing", 1981)
 * @ACCEL_RESIZE_COUNT: number of values
 */
enum accel_resize_func {
	ACCEL_RESIZE_NEAREST = 0,
	ACCEL_RESIZE_LINEAR = 1,
	ACCEL_RESIZE_CUBIC = 2,
	ACCEL_RESIZE_COUNT = 3
};

/**
 * enum accel_resize_coord - where element o of D lies in A, s being the scale
 * @ACCEL_COORD_HALF_PIXEL: (o + 0.5) / s - 0.5
 * @ACCEL_COORD_ASYMMETRIC: o / s
 * @ACCEL_COORD_ALIGN_CORNERS: o (in - 1) / (out - 1), 0 if out is 1
 * @ACCEL_COORD_PYTORCH_HALF_PIXEL: as half pixel, 0 if out is 1
 * @ACCEL_COORD_HALF_PIXEL_SYMMETRIC: as half pixel, moved so that the middle of D
 *	is that of A where out differs from in * s
 * @ACCEL_COORD_COUNT: number of values
 */
enum accel_resize_coord {
	ACCEL_COORD_HALF_PIXEL = 0,
	ACCEL_COORD_ASYMMETRIC = 1,
	ACCEL_COORD_ALIGN_CORNERS = 2,
	ACCEL_COORD_PYTORCH_HALF_PIXEL = 3,
	ACCEL_COORD_HALF_PIXEL_SYMMETRIC = 4,
	ACCEL_COORD_COUNT = 5
};

/**
 * enum accel_nearest - which element is the nearest
 * @ACCEL_NEAREST_HALF_DOWN: of two that are as near the lower
 * @ACCEL_NEAREST_HALF_UP: of two that are as near the upper
 * @ACCEL_NEAREST_FLOOR: always the lower
 * @ACCEL_NEAREST_CEIL: always the upper
 * @ACCEL_NEAREST_COUNT: number of values
 */
enum accel_nearest {
	ACCEL_NEAREST_HALF_DOWN = 0,
	ACCEL_NEAREST_HALF_UP = 1,
	ACCEL_NEAREST_FLOOR = 2,
	ACCEL_NEAREST_CEIL = 3,
	ACCEL_NEAREST_COUNT = 4
};

/** ACCEL_RESIZE_CUBIC_A: @cubic is given; else it is -0.75 */
#define ACCEL_RESIZE_CUBIC_A	(1u << 0)
/** ACCEL_RESIZE_EXCLUDE: cubic: neighbours outside of A do not count; the others weigh more */
#define ACCEL_RESIZE_EXCLUDE	(1u << 1)

/**
 * struct accel_resize_desc - D = A sampled at other coordinates
 *
 * All dimensions may change; linear and cubic sampling changes three at most.
 * Beyond the edge of A is its edge. Coordinates are exact fractions. Quantised
 * by tensor or not at all; no 4-bit types, and no S32 but for the nearest.
 */
struct accel_resize_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @func: &enum accel_resize_func */
	uint32_t func;
	/** @flags: ACCEL_RESIZE_* */
	uint32_t flags;
	/** @coord: &enum accel_resize_coord */
	uint32_t coord;
	/** @nearest: ACCEL_RESIZE_NEAREST: &enum accel_nearest; else 0 */
	uint32_t nearest;
	/** @cubic: ACCEL_RESIZE_CUBIC_A: parameter of the kernel */
	float cubic;
	/** @pad: 0 */
	uint32_t pad;
	/**
	 * @scale: D's size over A's along each dimension, within one element of
	 * what the dimensions say; the simplest fraction within 2^-24 of it is
	 * used. 0: the quotient of the dimensions
	 */
	double scale[ACCEL_MAX_RANK];
	/** @a: input */
	struct accel_tensor a;
	/** @d: result, of the same rank */
	struct accel_tensor d;
};

/** ACCEL_RESIZE_DESC_INIT: default descriptor */
#define ACCEL_RESIZE_DESC_INIT \
	{ .hdr = ACCEL_DESC_INIT(struct accel_resize_desc, ACCEL_OP_RESIZE) }

/** ACCEL_CONCAT_MAX: most tensors that are joined, or that one is split into */
#define ACCEL_CONCAT_MAX	8

/**
 * struct accel_concat_desc - D = the tensors of A one after the other
 *
 * All have the rank of D and its dimensions, but along the axis, where theirs
 * add up to D's. Each is converted to D's type and quantisation as by a copy.
 * a[i] is bound as ACCEL_ARG_A + i. One that lies where its piece of D is stays
 * there; D must not lie over tensors otherwise.
 */
struct accel_concat_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @axis: dimension */
	uint32_t axis;
	/** @count: tensors, 1 to ACCEL_CONCAT_MAX */
	uint32_t count;
	/** @a: inputs; those from @count on are absent */
	struct accel_tensor a[ACCEL_CONCAT_MAX];
	/** @d: result; not quantised by groups, unless they are those of the pieces */
	struct accel_tensor d;
};

/** ACCEL_CONCAT_DESC_INIT: default descriptor */
#define ACCEL_CONCAT_DESC_INIT \
	{ .hdr = ACCEL_DESC_INIT(struct accel_concat_desc, ACCEL_OP_CONCAT) }

/**
 * struct accel_split_desc - the tensors of D = pieces of A, one after the other
 *
 * The reverse of &struct accel_concat_desc. d[0] is bound as ACCEL_ARG_D, d[i]
 * as ACCEL_ARG_B + i - 1.
 */
struct accel_split_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @axis: dimension */
	uint32_t axis;
	/** @count: tensors, 1 to ACCEL_CONCAT_MAX */
	uint32_t count;
	/** @a: input */
	struct accel_tensor a;
	/** @d: results; those from @count on are absent */
	struct accel_tensor d[ACCEL_CONCAT_MAX];
};

/** ACCEL_SPLIT_DESC_INIT: default descriptor */
#define ACCEL_SPLIT_DESC_INIT \
	{ .hdr = ACCEL_DESC_INIT(struct accel_split_desc, ACCEL_OP_SPLIT) }

/**
 * enum accel_pad_mode - what lies around a padded tensor
 * @ACCEL_PAD_CONSTANT: a number
 * @ACCEL_PAD_EDGE: the element at the edge: a a a b c c c
 * @ACCEL_PAD_REFLECT: the elements, mirrored at the edge: c b a b c b a
 * @ACCEL_PAD_WRAP: the elements from the other side: b c a b c a b
 * @ACCEL_PAD_COUNT: number of values
 */
enum accel_pad_mode {
	ACCEL_PAD_CONSTANT = 0,
	ACCEL_PAD_EDGE = 1,
	ACCEL_PAD_REFLECT = 2,
	ACCEL_PAD_WRAP = 3,
	ACCEL_PAD_COUNT = 4
};

/**
 * struct accel_pad_desc - D = A with elements around it
 *
 * A is converted to D's type and quantisation as by a copy, and so is what
 * surrounds it. D has no quantisation by groups, and no table of scales with a
 * constant that is not 0.
 */
struct accel_pad_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @mode: &enum accel_pad_mode */
	uint32_t mode;
	/** @pad: 0 */
	uint32_t pad;
	/** @value: the constant, a value of D, converted to its type and quantisation */
	double value;
	/**
	 * @before: elements before those of A, for each dimension; at most its
	 * size with ACCEL_PAD_WRAP, one less with ACCEL_PAD_REFLECT
	 */
	int64_t before[ACCEL_MAX_RANK];
	/** @after: elements after them, likewise */
	int64_t after[ACCEL_MAX_RANK];
	/** @a: input */
	struct accel_tensor a;
	/** @d: result */
	struct accel_tensor d;
};

/** ACCEL_PAD_DESC_INIT: default descriptor */
#define ACCEL_PAD_DESC_INIT \
	{ .hdr = ACCEL_DESC_INIT(struct accel_pad_desc, ACCEL_OP_PAD) }

/** ACCEL_FFN_TRANS: weights are stored transposed: up and gate [H, K], down [N, H] */
#define ACCEL_FFN_TRANS		(1u << 0)
/**
 * ACCEL_FFN_PACK: weights are constant: they are rearranged into the engine's
 * layout when the plan is made, and never read again
 */
#define ACCEL_FFN_PACK		(1u << 1)

/**
 * struct accel_ffn_desc - feed-forward network of a transformer, as one operation
 *
 *	plain	H = act(A x up + up_bias)
 *	gated	H = (A x up + up_bias) * act(A x gate + gate_bias)
 *	both	D = H x down + down_bias + residual
 *
 * Two to four tasks, and H in a workspace of the job. Tensors, leading
 * dimensions and types are those of &struct accel_gemm_desc:
 *
 *	a		ACCEL_ARG_A	[..., M, K]
 *	up		ACCEL_ARG_B	[..., K, H], also quantised to 8 or 4 bits
 *	gate		ACCEL_ARG_C	likewise; rank 0: plain
 *	down		ACCEL_ARG_AUX0	[..., H, N]
 *	up_bias		ACCEL_ARG_AUX1	broadcast to [..., M, H]; rank 0: none
 *	gate_bias	ACCEL_ARG_AUX2	likewise
 *	down_bias	ACCEL_ARG_BIAS	broadcast to D; rank 0: none
 *	residual	ACCEL_ARG_RESIDUAL broadcast to D; rank 0: none
 *	d		ACCEL_ARG_D	[..., M, N]; may be the residual itself
 *
 * H, and before it both factors of a gated one, are rounded to the hidden type;
 * the factors of an integer H to that of A, or F16.
 */
struct accel_ffn_desc {
	/** @hdr: size, operation, engine */
	struct accel_desc hdr;
	/** @flags: ACCEL_FFN_* */
	uint32_t flags;
	/** @act: &enum accel_act */
	uint32_t act;
	/** @p0: first parameter of the activation */
	float p0;
	/** @p1: second parameter of the activation */
	float p1;
	/**
	 * @hidden_dtype: type of H: floating-point, or ACCEL_S8, ACCEL_U8 for
	 * weights of 8 bits; 0: that of A, ACCEL_F16 where A is an integer
	 */
	uint32_t hidden_dtype;
	/** @hidden_scale: ACCEL_S8, ACCEL_U8: scale of H, else 0 */
	float hidden_scale;
	/** @hidden_zero: ACCEL_S8, ACCEL_U8: zero point of H, else 0 */
	int32_t hidden_zero;
	/** @pad: 0 */
	uint32_t pad;
	/** @a: input */
	struct accel_tensor a;
	/** @up: weights into the hidden dimension */
	struct accel_tensor up;
	/** @gate: weights of the gate */
	struct accel_tensor gate;
	/** @down: weights out of it */
	struct accel_tensor down;
	/** @up_bias: added to the first product */
	struct accel_tensor up_bias;
	/** @gate_bias: added to that of the gate, before the activation */
	struct accel_tensor gate_bias;
	/** @down_bias: added to the last product */
	struct accel_tensor down_bias;
	/** @residual: added too */
	struct accel_tensor residual;
	/** @d: result */
	struct accel_tensor d;
};

/** ACCEL_FFN_DESC_INIT: default descriptor */
#define ACCEL_FFN_DESC_INIT \
	{ .hdr = ACCEL_DESC_INIT(struct accel_ffn_desc, ACCEL_OP_FFN) }

/* --- plans ---------------------------------------------------------------- */

struct accel_plan;

/**
 * accel_plan_create - check a descriptor and decide how it is done
 * @ctx: context
 * @desc: the first field of a descriptor
 * @plan: out
 *
 * Chooses engine and algorithm and lowers to tasks. Buffers of the tensors are
 * not looked at, save for weights that are to be packed; those are read before
 * this returns. A plan is immutable and may be used by several threads.
 *
 * Return: 0; -EINVAL, -E2BIG bad descriptor; -EOPNOTSUPP valid, but the engine
 * asked for, or every engine, refuses it: the error record says which field and
 * which engine would take it; -ENOMEM; -ENODEV; errors of packing as of
 * accel_fence_wait().
 */
ACCEL_API int accel_plan_create(struct accel_ctx *ctx,
				const struct accel_desc *desc,
				struct accel_plan **plan);

/** ACCEL_PLAN_TUNE: use what was measured before; measure now if nothing was */
#define ACCEL_PLAN_TUNE		(1u << 0)
/** ACCEL_PLAN_TUNE_CACHED: use what was measured before, but measure nothing */
#define ACCEL_PLAN_TUNE_CACHED	(1u << 1)
/** ACCEL_PLAN_TUNE_AGAIN: with ACCEL_PLAN_TUNE: measure also if it was measured before */
#define ACCEL_PLAN_TUNE_AGAIN	(1u << 2)
/** ACCEL_PLAN_TUNE_KEEP_OUT: with ACCEL_PLAN_TUNE: write no file */
#define ACCEL_PLAN_TUNE_KEEP_OUT	(1u << 3)

/**
 * struct accel_plan_opts - options of accel_plan_create_opts() and accel_tune()
 */
struct accel_plan_opts {
	/** @size: sizeof(struct accel_plan_opts) */
	uint32_t size;
	/** @flags: ACCEL_PLAN_* */
	uint32_t flags;
	/** @tune_budget_ms: longest time to measure, at most 3600000; 0: 200 */
	uint32_t tune_budget_ms;
	/** @pad: 0 */
	uint32_t pad;
};

/** ACCEL_PLAN_OPTS_INIT: default options: nothing is measured, no file is read */
#define ACCEL_PLAN_OPTS_INIT	{ sizeof(struct accel_plan_opts), 0, 0, 0 }

/**
 * accel_plan_create_opts - the same, with a say in how it decides
 * @ctx: context
 * @desc: the first field of a descriptor
 * @opts: options, or NULL
 * @plan: out
 *
 * The engine is always the one that accel_plan_create() takes. With
 * ACCEL_PLAN_TUNE the ways to do the operation there are measured, see
 * accel_tune(), and the plan takes the fastest. Of an operation that consists of
 * others each of those is measured, and has a share of the time. If nothing can
 * be measured, or the winner cannot be written to the file, the plan is made all
 * the same, and the log says what was in the way. accel_plan_explain() tells what
 * was measured, of an operation that consists of others how many of those.
 *
 * Return: 0; -EINVAL, -E2BIG options; else as accel_plan_create().
 */
ACCEL_API int accel_plan_create_opts(struct accel_ctx *ctx,
				     const struct accel_desc *desc,
				     const struct accel_plan_opts *opts,
				     struct accel_plan **plan);

/**
 * accel_plan_ref - take another reference
 * @plan: plan
 *
 * Return: @plan.
 */
ACCEL_API struct accel_plan *accel_plan_ref(struct accel_plan *plan);

/**
 * accel_plan_unref - drop a reference
 * @plan: plan, or NULL
 */
ACCEL_API void accel_plan_unref(struct accel_plan *plan);

/**
 * struct accel_plan_info - what a plan came to
 */
struct accel_plan_info {
	/** @size: sizeof(struct accel_plan_info) */
	uint32_t size;
	/** @op: &enum accel_op */
	uint32_t op;
	/** @engine: &enum accel_engine chosen */
	uint32_t engine;
	/** @task_count: tasks that it lowers to */
	uint32_t task_count;
	/** @macs: multiply-adds, or elements where there are none */
	uint64_t macs;
	/** @read_bytes: bytes of the inputs */
	uint64_t read_bytes;
	/** @write_bytes: bytes of the result */
	uint64_t write_bytes;
	/** @packed_bytes: bytes of packed weights that it holds */
	uint64_t packed_bytes;
	/** @workspace_bytes: memory that it needs beside */
	uint64_t workspace_bytes;
	/** @estimate_ns: time on the chip, modelled from clock and bandwidth */
	uint64_t estimate_ns;
};

/**
 * accel_plan_get_info - describe a plan
 * @plan: plan
 * @info: out
 *
 * Return: 0; -EINVAL size.
 */
ACCEL_API int accel_plan_get_info(struct accel_plan *plan,
				  struct accel_plan_info *info);

/**
 * enum accel_verdict - what became of a candidate
 * @ACCEL_CHOSEN: the plan uses it
 * @ACCEL_POSSIBLE: it could run there, but another is expected to be faster, or was asked for
 * @ACCEL_REFUSED: it cannot run there: see field and text
 */
enum accel_verdict {
	ACCEL_CHOSEN = 0,
	ACCEL_POSSIBLE = 1,
	ACCEL_REFUSED = 2
};

/**
 * struct accel_candidate - one way to do an operation
 */
struct accel_candidate {
	/** @size: sizeof(struct accel_candidate) */
	uint32_t size;
	/** @engine: &enum accel_engine */
	uint32_t engine;
	/** @instances: mask of the engines of that kind that it holds for */
	uint32_t instances;
	/** @verdict: &enum accel_verdict */
	uint32_t verdict;
	/** @estimate_ns: modelled time, 0 if refused */
	uint64_t estimate_ns;
	/** @bytes: bytes moved, 0 if refused */
	uint64_t bytes;
	/** @algorithm: static string: "blocked", "blocked, packed" */
	const char *algorithm;
	/** @field: field that was refused, or empty */
	char field[64];
	/** @text: the reason, one sentence */
	char text[256];
	/** @measured_ns: median of what was measured, 0: it was not */
	uint64_t measured_ns;
	/** @samples: number of measurements */
	uint32_t samples;
	/** @pad: 0 */
	uint32_t pad;
};

/**
 * typedef accel_candidate_fn - receives candidates
 * @user: pointer given with it
 * @candidate: valid during the call
 *
 * Return: 0 to go on, anything else to stop.
 */
typedef int accel_candidate_fn(void *user,
			       const struct accel_candidate *candidate);

/**
 * accel_plan_explain - why a plan is what it is
 * @plan: plan
 * @fn: called for each candidate
 * @user: passed on
 *
 * Return: 0, or what @fn returned.
 */
ACCEL_API int accel_plan_explain(struct accel_plan *plan,
				 accel_candidate_fn *fn, void *user);

/**
 * accel_explain - the same without making a plan, also when there is none
 * @ctx: context
 * @desc: the first field of a descriptor
 * @fn: called for each candidate
 * @user: passed on
 *
 * Return: 0, what @fn returned, or -EINVAL, -E2BIG for a descriptor that no
 * engine could do.
 */
ACCEL_API int accel_explain(struct accel_ctx *ctx,
			    const struct accel_desc *desc,
			    accel_candidate_fn *fn, void *user);

/* --- jobs ----------------------------------------------------------------- */

struct accel_job;

/**
 * enum accel_arg - tensors of an operation, for bindings
 * @ACCEL_ARG_D: result
 * @ACCEL_ARG_A: first input
 * @ACCEL_ARG_B: second input
 * @ACCEL_ARG_C: addend
 * @ACCEL_ARG_BIAS: epilogue
 * @ACCEL_ARG_SCALE: epilogue
 * @ACCEL_ARG_RESIDUAL: epilogue, either residual
 * @ACCEL_ARG_AUX0: the operation says what it is, as for the next four
 * @ACCEL_ARG_AUX1: see @ACCEL_ARG_AUX0
 * @ACCEL_ARG_AUX2: see @ACCEL_ARG_AUX0
 * @ACCEL_ARG_AUX3: see @ACCEL_ARG_AUX0
 * @ACCEL_ARG_AUX4: see @ACCEL_ARG_AUX0
 * @ACCEL_ARG_COUNT: number of values
 *
 * ACCEL_ARG_SCALES and ACCEL_ARG_ZEROS are added to a value for the tables of
 * its quantisation.
 */
enum accel_arg {
	ACCEL_ARG_D = 0,
	ACCEL_ARG_A = 1,
	ACCEL_ARG_B = 2,
	ACCEL_ARG_C = 3,
	ACCEL_ARG_BIAS = 4,
	ACCEL_ARG_SCALE = 5,
	ACCEL_ARG_RESIDUAL = 6,
	ACCEL_ARG_AUX0 = 7,
	ACCEL_ARG_AUX1 = 8,
	ACCEL_ARG_AUX2 = 9,
	ACCEL_ARG_AUX3 = 10,
	ACCEL_ARG_AUX4 = 11,
	ACCEL_ARG_COUNT = 12
};

/** ACCEL_ARG_SCALES: the scale table of an argument */
#define ACCEL_ARG_SCALES	0x100
/** ACCEL_ARG_ZEROS: the zero-point table of an argument */
#define ACCEL_ARG_ZEROS		0x200

/**
 * struct accel_binding - a buffer for an argument
 */
struct accel_binding {
	/** @arg: &enum accel_arg */
	uint32_t arg;
	/** @pad: 0 */
	uint32_t pad;
	/** @bo: buffer */
	struct accel_bo *bo;
	/** @offset: bytes to element (0, 0, ...) */
	uint64_t offset;
};

/** ACCEL_JOB_UNORDERED: operations depend only on what is said; else each on the one before */
#define ACCEL_JOB_UNORDERED	(1u << 0)

/**
 * struct accel_job_opts - options of accel_job_create()
 */
struct accel_job_opts {
	/** @size: sizeof(struct accel_job_opts) */
	uint32_t size;
	/** @flags: ACCEL_JOB_* */
	uint32_t flags;
};

/** ACCEL_JOB_OPTS_INIT: default options */
#define ACCEL_JOB_OPTS_INIT	{ sizeof(struct accel_job_opts), 0 }

/**
 * accel_job_create - an empty job
 * @ctx: context
 * @opts: options, or NULL
 * @job: out
 *
 * Return: 0; -EINVAL, -E2BIG options; -ENOMEM.
 */
ACCEL_API int accel_job_create(struct accel_ctx *ctx,
			       const struct accel_job_opts *opts,
			       struct accel_job **job);

/**
 * accel_job_add - add an operation
 * @job: job that was not submitted yet
 * @plan: plan of the same context
 * @bindings: one for each argument of the plan, in any order
 * @count: number of bindings
 * @deps: indices of operations of this job that it waits for, or NULL
 * @dep_count: number of @deps
 * @index: out: its index, may be NULL
 *
 * Buffers are kept alive by the job, and must be large enough.
 *
 * Return: 0; -EINVAL a binding is missing, twice, unknown, misaligned, too
 * small, or read-only where it is written, the result lies over an input, a
 * dependency is not an earlier index; -EBUSY the job was submitted;
 * -ENOSPC too many operations; -ENOMEM.
 */
ACCEL_API int accel_job_add(struct accel_job *job, struct accel_plan *plan,
			    const struct accel_binding *bindings,
			    uint32_t count, const uint32_t *deps,
			    uint32_t dep_count, uint32_t *index);

/**
 * accel_job_destroy - give up a job; one that runs finishes
 * @job: job, or NULL
 */
ACCEL_API void accel_job_destroy(struct accel_job *job);

/* --- queues and fences ---------------------------------------------------- */

struct accel_queue;
struct accel_fence;

/**
 * enum accel_priority - priorities of queues
 * @ACCEL_PRIORITY_NORMAL: the default
 * @ACCEL_PRIORITY_LOW: below others
 * @ACCEL_PRIORITY_HIGH: above others, privileged
 * @ACCEL_PRIORITY_REALTIME: above all, privileged
 */
enum accel_priority {
	ACCEL_PRIORITY_NORMAL = 0,
	ACCEL_PRIORITY_LOW = 1,
	ACCEL_PRIORITY_HIGH = 2,
	ACCEL_PRIORITY_REALTIME = 3
};

/**
 * struct accel_queue_opts - options of accel_queue_create()
 */
struct accel_queue_opts {
	/** @size: sizeof(struct accel_queue_opts) */
	uint32_t size;
	/** @engine: &enum accel_engine; ACCEL_ENGINE_AUTO takes every plan */
	uint32_t engine;
	/** @priority: &enum accel_priority */
	uint32_t priority;
	/** @timeout_ms: longest run of a job, 0: the device's default */
	uint32_t timeout_ms;
};

/** ACCEL_QUEUE_OPTS_INIT: default options */
#define ACCEL_QUEUE_OPTS_INIT	{ sizeof(struct accel_queue_opts), 0, 0, 0 }

/**
 * accel_queue_create - a queue: jobs run in order of submission
 * @ctx: context
 * @opts: options, or NULL
 * @queue: out
 *
 * Return: 0; -EINVAL, -E2BIG options; -EOPNOTSUPP no such engine; -EACCES
 * priority; -ENOSPC; -ENOMEM; -ENODEV.
 */
ACCEL_API int accel_queue_create(struct accel_ctx *ctx,
				 const struct accel_queue_opts *opts,
				 struct accel_queue **queue);

/**
 * accel_queue_destroy - give up a queue
 * @queue: queue, or NULL
 *
 * Jobs that have not started are cancelled; their fences fail with -ECANCELED.
 * On a node it waits for one that runs.
 */
ACCEL_API void accel_queue_destroy(struct accel_queue *queue);

/**
 * struct accel_submit_opts - options of accel_queue_submit()
 */
struct accel_submit_opts {
	/** @size: sizeof(struct accel_submit_opts) */
	uint32_t size;
	/** @wait_count: number of @waits */
	uint32_t wait_count;
	/** @waits: fences that the job waits for, of any context of the device, or imported */
	struct accel_fence *const *waits;
};

/** ACCEL_SUBMIT_OPTS_INIT: default options */
#define ACCEL_SUBMIT_OPTS_INIT	{ sizeof(struct accel_submit_opts), 0, NULL }

/**
 * accel_queue_submit - run a job
 * @queue: queue of the same context
 * @job: job; may be submitted again, also while it runs
 * @opts: options, or NULL
 * @fence: out: signals when all of it is done; NULL if not wanted
 *
 * A job after one that failed in the same queue fails with -ECANCELED, and so
 * does every later submission: the queue is banned. Create another.
 *
 * Return: 0; -EINVAL a plan for another engine than the queue's, options;
 * -ECANCELED the queue is banned; -EBUSY too many unfinished jobs; -ENOMEM;
 * -ENODEV.
 */
ACCEL_API int accel_queue_submit(struct accel_queue *queue,
				 struct accel_job *job,
				 const struct accel_submit_opts *opts,
				 struct accel_fence **fence);

/**
 * accel_fence_ref - take another reference
 * @fence: fence
 *
 * Return: @fence.
 */
ACCEL_API struct accel_fence *accel_fence_ref(struct accel_fence *fence);

/**
 * accel_fence_unref - drop a reference
 * @fence: fence, or NULL
 */
ACCEL_API void accel_fence_unref(struct accel_fence *fence);

/**
 * accel_fence_wait - wait until a job is done
 * @fence: fence
 * @timeout_ns: longest wait, 0 to poll, negative: for ever
 *
 * Return: 0 done; -ETIMEDOUT not yet; else the job's own error: -ETIME it ran
 * into its timeout, -EFAULT a task faulted, -ECANCELED the queue was banned or
 * destroyed, -ENODEV the device is gone.
 */
ACCEL_API int accel_fence_wait(struct accel_fence *fence, int64_t timeout_ns);

/**
 * struct accel_fence_info - outcome of a job
 */
struct accel_fence_info {
	/** @size: sizeof(struct accel_fence_info) */
	uint32_t size;
	/** @done: 1: signalled */
	uint32_t done;
	/** @status: 0, or negative errno as of accel_fence_wait() */
	int32_t status;
	/** @op_index: operation of the job that failed, UINT32_MAX if none or unknown */
	uint32_t op_index;
	/** @engine: &enum accel_engine that it failed on, 0 if none */
	uint32_t engine;
	/** @pad: 0 */
	uint32_t pad;
	/** @addr: device address of a fault, 0 if none */
	uint64_t addr;
	/** @reason: the device's reason: "read", "unsupported", empty if none */
	char reason[32];
	/** @text: one sentence, empty if nothing failed */
	char text[256];
};

/**
 * accel_fence_get_info - outcome of a job so far
 * @fence: fence
 * @info: out
 *
 * Return: 0; -EINVAL size.
 */
ACCEL_API int accel_fence_get_info(struct accel_fence *fence,
				   struct accel_fence_info *info);

/**
 * accel_fence_export_fd - a file descriptor that polls readable when done
 * @fence: fence
 * @fd: out: a sync_file on a node, an eventfd in process; close-on-exec
 *
 * Return: 0; -EMFILE; -ENOMEM.
 */
ACCEL_API int accel_fence_export_fd(struct accel_fence *fence, int *fd);

/**
 * accel_fence_import_fd - a fence to wait for from a sync_file
 * @ctx: context
 * @fd: sync_file; in process: any descriptor that polls readable when done;
 *	stays the caller's
 * @fence: out
 *
 * Return: 0; -EBADF; -EINVAL not a sync_file; -ENOMEM.
 */
ACCEL_API int accel_fence_import_fd(struct accel_ctx *ctx, int fd,
				    struct accel_fence **fence);

/* --- all at once ---------------------------------------------------------- */

/**
 * accel_run - plan, bind, submit and wait
 * @ctx: context
 * @desc: the first field of a descriptor whose tensors all have their buffers
 *
 * Return: 0, or the error of the step that failed; the error record has it.
 */
ACCEL_API int accel_run(struct accel_ctx *ctx, const struct accel_desc *desc);

/* --- tuning --------------------------------------------------------------- */

/** ACCEL_TUNE_WINNER: the fastest; plans take it */
#define ACCEL_TUNE_WINNER	(1u << 0)
/** ACCEL_TUNE_DEFAULT: what a plan takes that was not tuned */
#define ACCEL_TUNE_DEFAULT	(1u << 1)
/** ACCEL_TUNE_DROPPED: it was clearly slower and was not measured further */
#define ACCEL_TUNE_DROPPED	(1u << 2)
/** ACCEL_TUNE_FAILED: it did not end within the time, or failed */
#define ACCEL_TUNE_FAILED	(1u << 3)

/**
 * struct accel_tune_candidate - a way to do an operation, measured
 */
struct accel_tune_candidate {
	/** @size: sizeof(struct accel_tune_candidate) */
	uint32_t size;
	/** @flags: ACCEL_TUNE_* */
	uint32_t flags;
	/** @ns: median time, 0 if it failed */
	uint64_t ns;
	/** @samples: number of measurements */
	uint32_t samples;
	/** @pad: 0 */
	uint32_t pad;
	/** @algorithm: as of &struct accel_candidate */
	char algorithm[48];
	/** @hint: what the kernel was told: "variant 1, tile 8x32"; empty: nothing */
	char hint[80];
};

/**
 * enum accel_tune_state - whether an entry of the file is used
 * @ACCEL_TUNE_VALID: it is
 * @ACCEL_TUNE_OTHER_DEVICE: another device, profile or number of threads
 * @ACCEL_TUNE_OTHER_CPU: another CPU, or other instruction sets of it
 * @ACCEL_TUNE_OTHER_VERSION: another version of the library
 * @ACCEL_TUNE_CORRUPT: the checksum does not match; nothing of it is known
 * @ACCEL_TUNE_STATE_COUNT: number of values
 */
enum accel_tune_state {
	ACCEL_TUNE_VALID = 0,
	ACCEL_TUNE_OTHER_DEVICE = 1,
	ACCEL_TUNE_OTHER_CPU = 2,
	ACCEL_TUNE_OTHER_VERSION = 3,
	ACCEL_TUNE_CORRUPT = 4,
	ACCEL_TUNE_STATE_COUNT = 5
};

/**
 * struct accel_tune_entry - what is known of an operation
 */
struct accel_tune_entry {
	/** @size: sizeof(struct accel_tune_entry) */
	uint32_t size;
	/** @state: &enum accel_tune_state */
	uint32_t state;
	/** @op: &enum accel_op */
	uint32_t op;
	/** @threads: of the device when it was measured, 0: not of interest */
	uint32_t threads;
	/** @time: when it was measured, CLOCK_REALTIME seconds */
	uint64_t time;
	/** @default_ns: median time of what a plan takes that was not tuned */
	uint64_t default_ns;
	/** @best_ns: that of the winner */
	uint64_t best_ns;
	/** @spent_ns: how long it was measured */
	uint64_t spent_ns;
	/** @cached: 1: it comes from the file, 0: it was measured just now */
	uint32_t cached;
	/** @candidate_count: number of @candidates */
	uint32_t candidate_count;
	/** @candidates: what was measured, or NULL */
	const struct accel_tune_candidate *candidates;
	/**
	 * @desc: the operation, its tensors without buffers and the engine settled;
	 * NULL if this library would not take it
	 */
	const struct accel_desc *desc;
	/** @words: the operation for a person, or "" */
	const char *words;
	/** @cpu: CPU, caches and instruction sets */
	const char *cpu;
	/** @version: version of the library */
	const char *version;
	/** @device: device and profile */
	const char *device;
	/** @json: the whole entry, one JSON object, or "" */
	const char *json;
	/** @line: line of the file, from 1; 0: not from the file */
	uint64_t line;
};

/**
 * typedef accel_tune_fn - receives what was measured
 * @user: pointer given with it
 * @entry: valid during the call
 *
 * Return: 0 to go on, anything else to stop.
 */
typedef int accel_tune_fn(void *user, const struct accel_tune_entry *entry);

/**
 * accel_tune - measure the ways to do an operation, and remember the fastest
 * @ctx: context
 * @desc: the first field of a descriptor; buffers of the tensors are not looked at
 * @opts: options; ACCEL_PLAN_TUNE is implied; NULL: default options
 * @fn: called with the result, of an operation that consists of others with each;
 *	may be NULL
 * @user: passed on
 *
 * Candidates are the algorithms, where there are several, the pieces in which the
 * keys of an attention are cut, and what kernels of the in-process device offer:
 * variant, tile, threads. They run on buffers of their own with random numbers,
 * in turns; what is clearly slower is dropped early. The median counts, and what
 * a plan would take anyway is replaced only by what is faster by more than the
 * noise. All of that ends within the budget, save for weights that are being
 * packed when it does. A result that is too thin to tell is not written.
 *
 * What is remembered decides about speed only: results, and the bound of their
 * error, hold for every candidate, and a hint that does not fit is ignored. But
 * algorithms may round differently, so results may differ between an untuned and
 * a tuned plan by as much.
 *
 * The entry goes into the file of the context, see accel_tune_path(), which is
 * replaced at once. Other processes may do the same at the same time.
 *
 * Threads: any. What else runs on the machine disturbs the measurement.
 *
 * Return: 0; what @fn returned if not 0; -EINVAL, -E2BIG options or descriptor;
 * -ENOENT there is one way only, nothing to measure; -ETIME the budget was too
 * short; errors of writing the file: the record says the path; errors of
 * accel_plan_create() and accel_bo_create().
 */
ACCEL_API int accel_tune(struct accel_ctx *ctx, const struct accel_desc *desc,
			 const struct accel_plan_opts *opts, accel_tune_fn *fn,
			 void *user);

/**
 * accel_tune_path - the file of what was measured
 * @ctx: context
 *
 * It need not exist.
 *
 * Return: static for the context; "" if there is none, as without HOME.
 */
ACCEL_API const char *accel_tune_path(struct accel_ctx *ctx);

/**
 * accel_tune_list - what was measured
 * @ctx: context
 * @fn: called for each entry in the order of the file, those that are not used too
 * @user: passed on
 *
 * Return: 0, also without a file; what @fn returned; errors of open() and read();
 * -EFBIG a file that is too large to be one; -ENOMEM.
 */
ACCEL_API int accel_tune_list(struct accel_ctx *ctx, accel_tune_fn *fn, void *user);

/**
 * accel_tune_prune - remove entries
 * @ctx: context
 * @states: mask of 1 << &enum accel_tune_state: entries with these go
 * @max_age_s: so do those that are older, 0: none
 * @removed: out: their number, may be NULL
 *
 * Return: 0, also without a file; errors of reading and writing it.
 */
ACCEL_API int accel_tune_prune(struct accel_ctx *ctx, uint32_t states,
			       uint64_t max_age_s, uint64_t *removed);

/* --- quantisation --------------------------------------------------------- */

struct accel_calib;

/**
 * enum accel_calib_method - how a range is chosen from the numbers seen
 * @ACCEL_CALIB_MINMAX: all of them
 * @ACCEL_CALIB_PERCENTILE: a given share of them
 * @ACCEL_CALIB_ENTROPY: the least Kullback-Leibler divergence of the quantised
 *	distribution from the one seen (S. Migacz, 8-bit Inference with
 *	TensorRT, 2017)
 * @ACCEL_CALIB_MSE: the least mean square error
 * @ACCEL_CALIB_COUNT: number of values
 *
 * The last three keep a histogram; entropy and MSE try 256 ranges, from all of
 * the numbers down to 1/256 of that; MSE each end on its own.
 */
enum accel_calib_method {
	ACCEL_CALIB_MINMAX = 0,
	ACCEL_CALIB_PERCENTILE = 1,
	ACCEL_CALIB_ENTROPY = 2,
	ACCEL_CALIB_MSE = 3,
	ACCEL_CALIB_COUNT = 4
};

/**
 * ACCEL_CALIB_ASYMMETRIC: a zero point fits the type's range to the numbers'.
 * Else 0 is in the middle, the ends are as far from it, and the stored number
 * that has no counterpart (-128, 0, -8) is not used
 */
#define ACCEL_CALIB_ASYMMETRIC	(1u << 0)

/**
 * struct accel_calib_opts - what is to be found out
 */
struct accel_calib_opts {
	/** @size: sizeof(struct accel_calib_opts) */
	uint32_t size;
	/** @method: &enum accel_calib_method */
	uint32_t method;
	/** @flags: ACCEL_CALIB_* */
	uint32_t flags;
	/** @dtype: type to quantise to: S8, U8, S4, U4 */
	uint32_t dtype;
	/** @scheme: &enum accel_quant_scheme, not NONE */
	uint32_t scheme;
	/** @axis: channel and group: as in &struct accel_quant */
	uint32_t axis;
	/** @group: group: likewise */
	uint32_t group;
	/** @scale_dtype: channel and group: likewise */
	uint32_t scale_dtype;
	/**
	 * @bins: bins of a histogram on either side of 0, a power of two from
	 * 64 to 16384; 0: 2048 for a tensor, 256 for each channel or group
	 */
	uint32_t bins;
	/** @pad: 0 */
	uint32_t pad;
	/** @percentile: percentile: share in percent, above 50, at most 100; 0: 99.99 */
	double percentile;
};

/** ACCEL_CALIB_OPTS_INIT: int8, symmetric, one scale, from the extremes */
#define ACCEL_CALIB_OPTS_INIT \
	{ sizeof(struct accel_calib_opts), 0, 0, ACCEL_S8, ACCEL_QUANT_TENSOR, 0, 0, 0, 0, 0, 0 }

/**
 * accel_calib_create - begin to watch a stream of tensors
 * @ctx: context, for errors and for the tables
 * @opts: options
 * @calib: out
 *
 * Return: 0; -EINVAL, -E2BIG options; -ENOMEM.
 */
ACCEL_API int accel_calib_create(struct accel_ctx *ctx,
				 const struct accel_calib_opts *opts,
				 struct accel_calib **calib);

/**
 * accel_calib_destroy - stop
 * @calib: calibration, or NULL
 */
ACCEL_API void accel_calib_destroy(struct accel_calib *calib);

/**
 * accel_calib_observe - look at a tensor
 * @calib: calibration; one thread at a time
 * @t: fp32, fp16 or bf16, of any strides, in a buffer that the CPU sees; read
 *	before this returns. With channels, dims[axis] is the same each time,
 *	with groups every dimension
 *
 * NaN and infinities are counted and otherwise passed over. The order of the
 * tensors does not matter.
 *
 * Return: 0; -EINVAL; -ENOMEM; -ENODEV.
 */
ACCEL_API int accel_calib_observe(struct accel_calib *calib,
				  const struct accel_tensor *t);

/**
 * struct accel_calib_info - what was seen
 */
struct accel_calib_info {
	/** @size: sizeof(struct accel_calib_info) */
	uint32_t size;
	/** @pad: 0 */
	uint32_t pad;
	/** @entries: scales that it comes to, 0 while that is not known */
	uint64_t entries;
	/** @tensors: tensors seen */
	uint64_t tensors;
	/** @values: finite numbers seen */
	uint64_t values;
	/** @skipped: NaN and infinities */
	uint64_t skipped;
};

/**
 * accel_calib_get_info - what was seen so far
 * @calib: calibration
 * @info: out
 *
 * Return: 0; -EINVAL size.
 */
ACCEL_API int accel_calib_get_info(struct accel_calib *calib,
				   struct accel_calib_info *info);

/**
 * accel_calib_get_range - the range chosen for one scale
 * @calib: calibration
 * @entry: index below entries, row-major as the tables
 * @lo: out: lower end, at most 0
 * @hi: out: upper end, at least 0
 *
 * Return: 0; -EINVAL no such entry; -ENODATA no tensor was seen.
 */
ACCEL_API int accel_calib_get_range(struct accel_calib *calib, uint64_t entry,
				    double *lo, double *hi);

/**
 * accel_calib_get_quant - the quantisation so far
 * @calib: calibration, which may go on afterwards
 * @quant: out: to be put into a tensor of the type asked for; the tables are
 *	new buffers: accel_quant_release()
 *
 * Where only zeros, or nothing finite, was seen the scale is 1.
 *
 * Return: 0; -ENODATA no tensor was seen; -ENOMEM; -ENODEV.
 */
ACCEL_API int accel_calib_get_quant(struct accel_calib *calib,
				    struct accel_quant *quant);

/**
 * accel_quant_release - give up the tables of a quantisation
 * @quant: from accel_calib_get_quant(); becomes zero
 */
ACCEL_API void accel_quant_release(struct accel_quant *quant);

/**
 * accel_tensor_rows - a tensor whose rows start at whole bytes
 * @bo: buffer, or NULL
 * @dtype: &enum accel_dtype
 * @rank: number of dimensions
 * @dims: elements, outermost first
 *
 * Dense but for 4-bit rows of an odd length, which have one element more
 * between them: what every operation takes.
 *
 * Return: the tensor.
 */
static inline struct accel_tensor
accel_tensor_rows(struct accel_bo *bo, uint32_t dtype, uint32_t rank,
		  const int64_t *dims)
{
	struct accel_tensor t = accel_tensor_dense(bo, dtype, rank, dims);
	uint64_t step = 1;
	uint32_t i;

	if ((dtype != ACCEL_S4 && dtype != ACCEL_U4) || rank < 2 ||
	    rank > ACCEL_MAX_RANK || !(dims[rank - 1] & 1))
		return t;
	t.flags = ACCEL_TENSOR_STRIDES;
	for (i = rank; i-- > 0; ) {
		t.strides[i] = (int64_t)step;
		step *= (uint64_t)dims[i] + (i == rank - 1);
	}
	return t;
}

/**
 * accel_quantise - store a tensor in fewer bits
 * @ctx: context
 * @from: fp32, fp16 or bf16, in a buffer
 * @dtype: S8, U8, S4, U4
 * @quant: quantisation, of @from's dimensions; its tables are used, not copied
 * @to: out: tensor of accel_tensor_rows() in a new buffer: accel_bo_unref()
 *
 * The device does it, as ACCEL_OP_COPY does.
 *
 * Return: 0; or what accel_bo_create() and accel_run() give.
 */
ACCEL_API int accel_quantise(struct accel_ctx *ctx,
			     const struct accel_tensor *from, uint32_t dtype,
			     const struct accel_quant *quant,
			     struct accel_tensor *to);

/**
 * accel_prune24 - leave two of each four elements
 * @ctx: context, for errors
 * @t: tensor of any type but S32, in a buffer that the CPU sees and writes; no
 *	zero points
 * @axis: dimension that the fours lie along: K of a right matrix
 *
 * Of each four elements from a multiple of four on, and of what is left at the
 * end, the two of the largest magnitude stay as they are (NaN is larger than
 * all, of equals the first), the others become 0.
 *
 * Return: 0; -EINVAL; -ENODEV.
 */
ACCEL_API int accel_prune24(struct accel_ctx *ctx, const struct accel_tensor *t,
			    uint32_t axis);

/**
 * struct accel_quant_error - how far a tensor is from another
 *
 * Over all elements at which both are finite; x is the reference, e the
 * difference.
 */
struct accel_quant_error {
	/** @size: sizeof(struct accel_quant_error) */
	uint32_t size;
	/** @pad: 0 */
	uint32_t pad;
	/** @values: elements compared */
	uint64_t values;
	/** @skipped: elements that are not finite in one of the two */
	uint64_t skipped;
	/** @saturated: quantised elements at either end of their type */
	uint64_t saturated;
	/** @max_abs: largest abs(e) */
	double max_abs;
	/** @max_index: where, row-major */
	uint64_t max_index;
	/** @mean: mean of e: the bias */
	double mean;
	/** @mean_abs: mean of abs(e) */
	double mean_abs;
	/** @rmse: root of the mean of e^2 */
	double rmse;
	/** @sqnr_db: 10 log10(sum of x^2 / sum of e^2); infinity if they are equal */
	double sqnr_db;
	/** @cosine: of the angle between the two as vectors; 1 if both are zero, 0 if one is */
	double cosine;
};

/**
 * accel_quant_report - hold a quantised tensor against the float one
 * @ctx: context, for errors
 * @t: tensor of any type, in a buffer that the CPU sees
 * @ref: reference of the same dimensions, likewise
 * @report: out
 *
 * Computed in binary64 by the CPU.
 *
 * Return: 0; -EINVAL tensors or size; -ENODEV.
 */
ACCEL_API int accel_quant_report(struct accel_ctx *ctx,
				 const struct accel_tensor *t,
				 const struct accel_tensor *ref,
				 struct accel_quant_error *report);

/* --- key-value caches ----------------------------------------------------- */

struct accel_kv;

/**
 * struct accel_kv_opts - options of accel_kv_create()
 */
struct accel_kv_opts {
	/** @size: sizeof(struct accel_kv_opts) */
	uint32_t size;
	/** @layers: layers of the model, 1 to 4096 */
	uint32_t layers;
	/** @kv_heads: heads of keys and values */
	uint32_t kv_heads;
	/** @head_dim: elements of a key */
	uint32_t head_dim;
	/** @v_dim: elements of a value, 0: @head_dim */
	uint32_t v_dim;
	/** @dtype: ACCEL_F32, ACCEL_F16, ACCEL_BF16; ACCEL_S8: a scale for each row and head */
	uint32_t dtype;
	/** @scale_dtype: ACCEL_S8: ACCEL_F32 (also 0) or ACCEL_F16; else 0 */
	uint32_t scale_dtype;
	/** @page_size: tokens of a page, 1 to 4096; 0: 16 */
	uint32_t page_size;
	/** @pages: pages of the pool, at most INT32_MAX */
	uint32_t pages;
	/** @engine: &enum accel_engine that writes rows, ACCEL_ENGINE_AUTO: the fastest that can */
	uint32_t engine;
	/** @label: name shown by tools, NULL: none */
	const char *label;
};

/** ACCEL_KV_OPTS_INIT: default options; the shape is to be set */
#define ACCEL_KV_OPTS_INIT	{ sizeof(struct accel_kv_opts), 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL }

/**
 * accel_kv_create - a cache of keys and values for attention
 * @ctx: context
 * @opts: shape
 * @kv: out
 *
 * A pool of pages, each with the keys and values of page_size tokens in all
 * layers, and sequences that are lists of pages. Sequences may share pages: one
 * that is shared is copied before it is written. The memory of the pool is
 * allocated here, at once.
 *
 * The books are kept by the CPU when a function is called; rows are written by
 * jobs. So jobs that use the pages of a cache run in the order in which they
 * were built: in one queue, or with fences between them. That holds for pages
 * that were given up too, because the next reservation may hand them out.
 *
 * Int8: the scale of a row (a token's key or value in one head) is the largest
 * magnitude in it divided by 127, and elements are rounded to nearest even. A
 * row with an infinity or a NaN becomes NaN; a row of zeros stays zeros.
 *
 * Threads: any may call, also at the same time; one sequence is changed by one
 * thread at a time.
 *
 * Return: 0; -EINVAL, -E2BIG options; -ENOMEM; -ENODEV.
 */
ACCEL_API int accel_kv_create(struct accel_ctx *ctx,
			      const struct accel_kv_opts *opts,
			      struct accel_kv **kv);

/**
 * accel_kv_destroy - give up a cache; jobs that use it keep its memory
 * @kv: cache, or NULL
 */
ACCEL_API void accel_kv_destroy(struct accel_kv *kv);

/**
 * accel_kv_seq_create - an empty sequence
 * @kv: cache
 * @seq: out: its number, not used again soon after it was given up
 *
 * Return: 0; -ENOSPC 2^20 sequences; -ENOMEM.
 */
ACCEL_API int accel_kv_seq_create(struct accel_kv *kv, uint32_t *seq);

/**
 * accel_kv_seq_destroy - give up a sequence and its share of its pages
 * @kv: cache
 * @seq: sequence
 *
 * Return: 0; -ENOENT no such sequence.
 */
ACCEL_API int accel_kv_seq_destroy(struct accel_kv *kv, uint32_t seq);

/**
 * accel_kv_seq_fork - another sequence with the same first tokens
 * @kv: cache
 * @seq: sequence
 * @length: tokens that the new one has, at most those of @seq
 * @child: out: the new one
 *
 * Nothing is copied: they share pages until one of them grows.
 *
 * Return: 0; -ENOENT no such sequence; -EINVAL @length; -ENOSPC 2^20 sequences;
 * -ENOMEM.
 */
ACCEL_API int accel_kv_seq_fork(struct accel_kv *kv, uint32_t seq,
				uint64_t length, uint32_t *child);

/**
 * accel_kv_seq_truncate - give up the last tokens
 * @kv: cache
 * @seq: sequence
 * @length: tokens that stay, at most those that there are
 *
 * Return: 0; -ENOENT no such sequence; -EINVAL @length.
 */
ACCEL_API int accel_kv_seq_truncate(struct accel_kv *kv, uint32_t seq,
				    uint64_t length);

/**
 * accel_kv_seq_evict - give up tokens in the middle
 * @kv: cache
 * @seq: sequence
 * @first: tokens at the beginning that stay
 * @last: tokens at the end that stay
 *
 * Whole pages only: what lies between the page of the last of the @first and
 * that of the first of the @last tokens. The remaining ones follow one another
 * and are neither moved nor changed: with keys that have a rotary embedding
 * they keep the positions that they had. For windows with the first tokens
 * kept: G. Xiao et al., "Efficient Streaming Language Models with Attention
 * Sinks", 2023, arXiv:2309.17453.
 *
 * Return: 0; -ENOENT no such sequence.
 */
ACCEL_API int accel_kv_seq_evict(struct accel_kv *kv, uint32_t seq,
				 uint64_t first, uint64_t last);

/**
 * struct accel_kv_seq_info - a sequence
 */
struct accel_kv_seq_info {
	/** @size: sizeof(struct accel_kv_seq_info) */
	uint32_t size;
	/** @pages: pages */
	uint32_t pages;
	/** @shared_pages: those that it shares */
	uint32_t shared_pages;
	/** @pad: 0 */
	uint32_t pad;
	/** @length: tokens in the cache */
	uint64_t length;
	/** @evicted: tokens that were evicted; @length + @evicted is the next position */
	uint64_t evicted;
};

/**
 * accel_kv_seq_get_info - describe a sequence
 * @kv: cache
 * @seq: sequence
 * @info: out
 *
 * Return: 0; -ENOENT no such sequence; -EINVAL size.
 */
ACCEL_API int accel_kv_seq_get_info(struct accel_kv *kv, uint32_t seq,
				    struct accel_kv_seq_info *info);

/**
 * struct accel_kv_rows - tokens of a sequence
 */
struct accel_kv_rows {
	/** @seq: sequence */
	uint32_t seq;
	/** @tokens: number of its last tokens */
	uint32_t tokens;
};

/**
 * accel_kv_reserve - make sequences longer
 * @kv: cache
 * @job: job of the same context that was not submitted yet
 * @rows: how many tokens which sequence gets; no sequence twice
 * @count: number of @rows
 * @deps: as of accel_job_add()
 * @dep_count: likewise
 * @index: out: operation that comes last, UINT32_MAX if there is none; may be NULL
 *
 * Takes pages from the pool. Where the last page of a sequence is shared and has
 * room, the job gets an operation that copies it. The new rows of every layer
 * are then written by accel_kv_append(), in this job or a later one; until that
 * has run their contents are undefined.
 *
 * Return: 0; -ENOENT no such sequence; -EINVAL a sequence twice, more than
 * INT32_MAX tokens; -ENOSPC too few pages; errors of accel_job_add() and
 * accel_plan_create(). A failed call changes neither the cache nor the job.
 */
ACCEL_API int accel_kv_reserve(struct accel_kv *kv, struct accel_job *job,
			       const struct accel_kv_rows *rows, uint32_t count,
			       const uint32_t *deps, uint32_t dep_count,
			       uint32_t *index);

/**
 * struct accel_kv_append - rows for the last tokens of sequences, in one layer
 */
struct accel_kv_append {
	/** @size: sizeof(struct accel_kv_append) */
	uint32_t size;
	/** @layer: layer */
	uint32_t layer;
	/** @rows: sequences and tokens of each, as they were reserved */
	const struct accel_kv_rows *rows;
	/** @count: number of @rows */
	uint32_t count;
	/** @pad: 0 */
	uint32_t pad;
	/**
	 * @k: keys [all tokens, kv_heads, head_dim], those of the first sequence
	 * first; F32, F16, BF16, any strides, with a buffer
	 */
	struct accel_tensor k;
	/** @v: values [all tokens, kv_heads, v_dim], likewise */
	struct accel_tensor v;
};

/** ACCEL_KV_APPEND_INIT: to be filled in */
#define ACCEL_KV_APPEND_INIT	{ .size = sizeof(struct accel_kv_append) }

/**
 * accel_kv_append - add operations to a job that write rows into pages
 * @kv: cache
 * @job: job of the same context that was not submitted yet
 * @append: what goes where
 * @deps: as of accel_job_add()
 * @dep_count: likewise
 * @index: out: operation that comes last, UINT32_MAX if there is none; may be NULL
 *
 * The operations depend on one another in their order, so one that waits for
 * @index waits for all. They convert to the type of the cache, or quantise.
 *
 * Return: 0; -ENOENT no such sequence; -EINVAL @append, more tokens than the
 * sequence has; -EBUSY a page of these tokens is shared: they were not reserved;
 * errors of accel_job_add(), accel_plan_create() and accel_bo_create(). A failed
 * call changes neither the cache nor the job.
 */
ACCEL_API int accel_kv_append(struct accel_kv *kv, struct accel_job *job,
			      const struct accel_kv_append *append,
			      const uint32_t *deps, uint32_t dep_count,
			      uint32_t *index);

/**
 * accel_kv_tensors - the pool of a layer, for &struct accel_attention_desc
 * @kv: cache
 * @layer: layer
 * @k: out: [pages, page_size, kv_heads, head_dim]
 * @v: out: [pages, page_size, kv_heads, v_dim]
 *
 * The tensors borrow the buffers of the cache.
 *
 * Return: 0; -EINVAL no such layer.
 */
ACCEL_API int accel_kv_tensors(struct accel_kv *kv, uint32_t layer,
			       struct accel_tensor *k, struct accel_tensor *v);

/**
 * accel_kv_table - page table and lengths of sequences as they are now
 * @kv: cache
 * @seqs: sequences, one may be there more than once
 * @count: their number, not 0
 * @columns: pages of a row, at least those of the longest sequence; 0: as many
 * @pages: out: int32 [count, columns]; -1 where a sequence has no page
 * @lengths: out: int32 [count]: tokens of each
 *
 * Both lie in a new buffer that the caller gives up: accel_bo_unref(pages->bo).
 *
 * Return: 0; -ENOENT no such sequence; -EINVAL @count, @columns; errors of
 * accel_bo_create().
 */
ACCEL_API int accel_kv_table(struct accel_kv *kv, const uint32_t *seqs,
			     uint32_t count, uint32_t columns,
			     struct accel_tensor *pages,
			     struct accel_tensor *lengths);

/**
 * accel_kv_save - write a sequence to a file
 * @kv: cache
 * @seq: sequence
 * @path: file, replaced at once when all is written
 *
 * The file has a version and checksums (CRC-64 of ECMA-182), is little-endian,
 * and knows nothing of pages: a cache with other pages can load it. Jobs that
 * write the rows must have ended.
 *
 * Return: 0; -ENOENT no such sequence, or directory; errors of open(), write(),
 * fsync() and rename().
 */
ACCEL_API int accel_kv_save(struct accel_kv *kv, uint32_t seq, const char *path);

/**
 * accel_kv_load - read a sequence from a file
 * @kv: cache of the same shape, types included; page_size and pages may differ
 * @path: file of accel_kv_save()
 * @seq: out: a new sequence
 *
 * Nothing in the file is believed before the checksums are right; the cache is
 * as it was if they are not. Jobs that use pages which were given up must have
 * ended.
 *
 * Return: 0; -EINVAL the file is of another shape: the error record says which
 * field; -EBADMSG not such a file, truncated or corrupt; -EPROTO a version that
 * this library does not know; -ENOSPC too few pages; errors of open() and
 * read(); -ENOMEM.
 */
ACCEL_API int accel_kv_load(struct accel_kv *kv, const char *path, uint32_t *seq);

/**
 * struct accel_kv_stats - a cache
 */
struct accel_kv_stats {
	/** @size: sizeof(struct accel_kv_stats) */
	uint32_t size;
	/** @sequences: sequences */
	uint32_t sequences;
	/** @pages: pages of the pool */
	uint32_t pages;
	/** @used_pages: those that sequences have */
	uint32_t used_pages;
	/** @used_pages_peak: largest value of @used_pages */
	uint32_t used_pages_peak;
	/** @shared_pages: those that more than one sequence has */
	uint32_t shared_pages;
	/** @tokens: lengths of all sequences, shared ones counted for each */
	uint64_t tokens;
	/** @bytes: memory of the pool */
	uint64_t bytes;
	/** @page_bytes: that of a page in all layers, scales included */
	uint64_t page_bytes;
	/** @copied_pages: pages copied because they were shared */
	uint64_t copied_pages;
	/** @evicted_tokens: tokens evicted */
	uint64_t evicted_tokens;
};

/**
 * accel_kv_get_stats - statistics of a cache
 * @kv: cache
 * @stats: out
 *
 * Return: 0; -EINVAL size.
 */
ACCEL_API int accel_kv_get_stats(struct accel_kv *kv,
				 struct accel_kv_stats *stats);

/* --- core dumps ----------------------------------------------------------- */

/**
 * accel_coredump_format - a core dump of a device as text
 * @data: the dump, as /sys/class/devcoredump has it; NULL is no dump
 * @size: bytes of it
 * @text: out: ASCII, lines that end in newlines, ended by NUL; free() it
 *
 * Shows the header, the job at fault with its tasks, the page-table walk,
 * rings, registers and what happened before. Nothing in the dump is believed;
 * sections of unknown types are named and skipped. No device is needed.
 *
 * Threads: any, also at the same time with the same @data.
 *
 * Return: 0; -EBADMSG the dump is truncated or contradicts itself, and, other
 * than with the errors that follow, @text is set: to what could be read, with a
 * line that begins with "error: " where something is wrong. -EINVAL not a
 * dump, or no @text; -EPROTO a version that this library does not know;
 * -ENOMEM.
 */
ACCEL_API int accel_coredump_format(const void *data, size_t size, char **text);

/** ACCEL_COREDUMP_JOB: there is a job at fault */
#define ACCEL_COREDUMP_JOB	(1u << 0)
/** ACCEL_COREDUMP_WALK: there is a page-table walk */
#define ACCEL_COREDUMP_WALK	(1u << 1)

/**
 * struct accel_coredump_info - the core of a core dump
 *
 * Strings are ASCII; other characters and backslashes are escaped as \xNN.
 */
struct accel_coredump_info {
	/** @size: sizeof(struct accel_coredump_info) */
	uint32_t size;
	/** @parts: ACCEL_COREDUMP_*: which of the fields below @kernel are set */
	uint32_t parts;
	/** @realtime_ns: CLOCK_REALTIME of the dump */
	uint64_t realtime_ns;
	/** @boottime_ns: CLOCK_BOOTTIME of the dump */
	uint64_t boottime_ns;
	/** @timestamp: device ticks */
	uint64_t timestamp;
	/** @timestamp_hz: device ticks a second */
	uint64_t timestamp_hz;
	/** @hw_version: major << 16 | minor of the register contract */
	uint32_t hw_version;
	/** @driver_version: major << 16 | minor of the driver's interface */
	uint32_t driver_version;
	/** @cause: "fault", "hang", "wedged", "unknown"; empty without a whole header */
	char cause[16];
	/** @device: name of the device */
	char device[260];
	/** @profile: chip */
	char profile[132];
	/** @kernel: release of the kernel */
	char kernel[260];
	/** @engine_name: job: engine, as the driver names it */
	char engine_name[68];
	/** @comm: job: name of the process */
	char comm[68];
	/** @reason: job: why it faulted: "read", "dtype"; "none" if it did not */
	char reason[32];
	/** @slot: job: operand at fault: "d", "a", "bias"; empty if none */
	char slot[16];
	/** @engine: job: &enum accel_engine, 0 if unknown */
	uint32_t engine;
	/** @engine_index: job: index of the engine */
	uint32_t engine_index;
	/** @error: job: negative errno, 0 if none */
	int32_t error;
	/** @pid: job: process */
	uint32_t pid;
	/** @queue: job: queue */
	uint32_t queue;
	/** @as: job: hardware address space */
	uint32_t as;
	/** @number: job: its number in its queue */
	uint64_t number;
	/** @seqno: job: its number on its engine */
	uint64_t seqno;
	/** @tasks_addr: job: device address of its tasks */
	uint64_t tasks_addr;
	/** @task_count: job: tasks */
	uint32_t task_count;
	/** @task_index: job: task at fault */
	uint32_t task_index;
	/** @addr: job: device address of the fault, 0 if none */
	uint64_t addr;
	/** @walk_addr: walk: device address */
	uint64_t walk_addr;
	/** @walk_entry: walk: entry of each level, the root's first */
	uint64_t walk_entry[4];
	/** @walk_levels: walk: entries that were read */
	uint32_t walk_levels;
	/** @walk_writable: walk: 1: it ended in memory that may be written */
	uint32_t walk_writable;
	/**
	 * @walk_end: walk: "none": there is no table; "invalid": nothing is
	 * mapped; "malformed"; "block", "page": mapped; "table": cut short
	 */
	char walk_end[16];
};

/**
 * accel_coredump_get_info - header, job and walk of a core dump
 * @data: the dump; NULL is no dump
 * @size: bytes of it
 * @info: out
 *
 * Threads: any, also at the same time with the same @data.
 *
 * Return: 0; -EBADMSG the dump is truncated or contradicts itself, and @info
 * has what could be read; -EINVAL not a dump, or size of @info; -EPROTO a
 * version that this library does not know.
 */
ACCEL_API int accel_coredump_get_info(const void *data, size_t size,
				      struct accel_coredump_info *info);

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_ACCEL_H */
