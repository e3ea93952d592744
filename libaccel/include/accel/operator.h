/* SPDX-License-Identifier: MIT */
/*
 * Operators that users add: nodes of graphs that a function of the program computes.
 */
#ifndef ACCEL_OPERATOR_H
#define ACCEL_OPERATOR_H

#include <stdint.h>
#include <accel/error.h>
#include <accel/graph.h>

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * DOC: Operators that users add
 *
 * A set of operators is filled once, and then given to what reads models and programs of
 * files. An operator has two functions. One says types and dimensions of the results; it is
 * called while a graph is built, and once for each set of sizes that is run. The other computes
 * them, on the CPU, in the thread of accel_state_run(). Both get a &struct accel_call, which
 * is there as long as the call, and what its functions point to likewise.
 *
 * Threads: a set is filled by one thread, and shared once it is full. The function that computes
 * runs in as many threads at once as run states of programs with such a node; the one that says
 * dimensions may run beside it, with a lock of the program held: neither may use the program,
 * its graph or its states.
 */

struct accel_operators;
struct accel_call;

/** ACCEL_OPERATOR_MAX_VALUES: most inputs and results of a node, together */
#define ACCEL_OPERATOR_MAX_VALUES	12

/** ACCEL_OP_ADDED: operation of such nodes, in &struct accel_node_profile */
#define ACCEL_OP_ADDED	768u

/** ACCEL_VALUE_NONE: in the place of an input: it is absent */
#define ACCEL_VALUE_NONE	UINT32_MAX

/** ACCEL_OPERATOR_REPLACE: it goes before one of the same name that a library has built in */
#define ACCEL_OPERATOR_REPLACE	(1u << 0)

/**
 * struct accel_operator - an operator
 */
struct accel_operator {
	/** @size: sizeof(struct accel_operator) */
	uint32_t size;
	/** @flags: ACCEL_OPERATOR_REPLACE */
	uint32_t flags;
	/** @domain: domain, NULL or "" for the default one; copied */
	const char *domain;
	/** @name: name in the domain; copied. Both have letters, digits, ".", "_", "-", ":", "/" */
	const char *name;
	/** @since: version of the domain from which on it is meant, 0: 1 */
	uint32_t since;
	/**
	 * @known_inputs: bits of inputs whose elements @infer needs: lists or scalars of at
	 * most 4096 elements. What comes behind such a node is planned when they are known,
	 * once for the same elements
	 */
	uint32_t known_inputs;
	/** @min_inputs: inputs that each node has, from the first on: these are never absent */
	uint32_t min_inputs;
	/** @max_inputs: most of them, 0: as many as there can be */
	uint32_t max_inputs;
	/** @min_outputs: fewest results, 0: 1 */
	uint32_t min_outputs;
	/** @max_outputs: most of them, 0: as many as there can be */
	uint32_t max_outputs;
	/**
	 * @infer: says with accel_call_give() what each result is, by types and dimensions
	 * of the inputs and by attributes. Dimensions are numbers always: of symbols, those
	 * that they stand for, and examples while a graph is built, of which it may refuse some.
	 * Returns 0, or accel_call_fail()
	 */
	int (*infer)(void *user, struct accel_call *call);
	/**
	 * @compute: writes each result. Inputs and results are dense, in the order of their
	 * dimensions, and aligned to their elements; no result shares memory with an input.
	 * A node whose results nobody reads does not run; a profile may run one several
	 * times. Returns 0, or accel_call_fail(), which the run returns
	 */
	int (*compute)(void *user, struct accel_call *call);
	/**
	 * @release: called with @user when neither the set nor a graph or program needs the
	 * operator any more, by the thread that gave up the last of them; or NULL
	 */
	void (*release)(void *user);
	/** @user: for these functions */
	void *user;
};

/** ACCEL_OPERATOR_INIT: an operator to be filled in */
#define ACCEL_OPERATOR_INIT \
	{ sizeof(struct accel_operator), 0, NULL, NULL, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL }

/**
 * accel_operators_create - an empty set of operators
 * @operators: out
 *
 * Return: 0; -EINVAL NULL; -ENOMEM.
 */
ACCEL_API int accel_operators_create(struct accel_operators **operators);

/**
 * accel_operators_unref - give up a set of operators
 * @operators: set, or NULL
 *
 * Graphs and programs keep the operators that their nodes are of.
 */
ACCEL_API void accel_operators_unref(struct accel_operators *operators);

/**
 * accel_operators_add - add an operator to a set
 * @operators: set, which no other thread uses now
 * @op: operator; for models accel_model_register_op() looks at what is built in first
 * @error: filled if it fails, may be NULL
 *
 * Return: 0; -EINVAL NULL, size, flags, names, numbers of values, a function that is missing;
 * -E2BIG a struct that is longer than what is known of it, or more than 4096 operators; -EEXIST
 * one of that domain, name and version is there; -ENOMEM. @release is not called when it fails.
 */
ACCEL_API int accel_operators_add(struct accel_operators *operators,
				  const struct accel_operator *op, struct accel_error *error);

/**
 * accel_operators_find - does a set have an operator?
 * @operators: set, or NULL
 * @domain: domain, NULL or "" for the default one
 * @name: name
 * @version: version of the domain; what is meant is the newest that is not newer
 * @flags: out: its flags; may be NULL
 *
 * Return: the version since which that operator is meant; 0: there is none.
 */
ACCEL_API uint32_t accel_operators_find(const struct accel_operators *operators,
					const char *domain, const char *name, uint32_t version,
					uint32_t *flags);

/* --- random numbers ------------------------------------------------------------------ */

/** ACCEL_RANDOM_DOMAIN: domain of the operator that is there without a set */
#define ACCEL_RANDOM_DOMAIN	"accel"

/**
 * ACCEL_RANDOM: its name: a result of random numbers, of the attributes ``kind`` (int, &enum
 * accel_random_kind; ACCEL_RANDOM_UNIFORM), ``type`` (int, &enum accel_dtype or &enum
 * accel_host_type; ACCEL_F32), ``a`` (float; 0), ``b`` (float; 1), ``count`` (int; 1), ``dims``
 * (ints) and ``seed`` (int). Without ``dims`` there is an input, which gives them. With a seed each
 * run has the same numbers, those of numpy.random.RandomState(seed); without one each has
 * others. They are drawn in binary64 and rounded to the type
 */
#define ACCEL_RANDOM	"Random"

/**
 * enum accel_random_kind - how numbers are drawn
 * @ACCEL_RANDOM_UNIFORM: from ``a`` on and below ``b``; floating-point types
 * @ACCEL_RANDOM_NORMAL: of the mean ``a`` and the deviation ``b``; floating-point types
 * @ACCEL_RANDOM_CHANCE: 1 with the probability that the element of the input is, else 0
 * @ACCEL_RANDOM_CLASS: ``count`` indices in each row of the input [rows, classes], which has
 *	logarithms of what they are as probable as: [rows, count]
 */
enum accel_random_kind {
	ACCEL_RANDOM_UNIFORM = 0,
	ACCEL_RANDOM_NORMAL = 1,
	ACCEL_RANDOM_CHANCE = 2,
	ACCEL_RANDOM_CLASS = 3
};

/* --- nodes ------------------------------------------------------------------------- */

/**
 * enum accel_attr_type - what an attribute is
 * @ACCEL_ATTR_INT: a number, int64_t
 * @ACCEL_ATTR_FLOAT: a number, float
 * @ACCEL_ATTR_STRING: bytes
 * @ACCEL_ATTR_INTS: a list of int64_t
 * @ACCEL_ATTR_FLOATS: a list of float
 * @ACCEL_ATTR_TENSOR: a tensor, dense
 */
enum accel_attr_type {
	ACCEL_ATTR_INT = 1,
	ACCEL_ATTR_FLOAT = 2,
	ACCEL_ATTR_STRING = 3,
	ACCEL_ATTR_INTS = 4,
	ACCEL_ATTR_FLOATS = 5,
	ACCEL_ATTR_TENSOR = 6
};

/**
 * struct accel_attr - an attribute of a node; all of it is copied
 */
struct accel_attr {
	/** @name: name */
	const char *name;
	/** @type: &enum accel_attr_type */
	uint32_t type;
	/** @pad: 0 */
	uint32_t pad;
	/** @count: numbers of a list, bytes of a string; else not looked at */
	uint64_t count;
	/** @data: its numbers, bytes or elements, any alignment */
	const void *data;
	/** @tensor: type and dimensions of a tensor, whole bytes an element; else not looked at */
	const struct accel_value *tensor;
};

/**
 * struct accel_operator_desc - a node of such an operator
 */
struct accel_operator_desc {
	/** @size: sizeof(struct accel_operator_desc) */
	uint32_t size;
	/** @version: version of the domain */
	uint32_t version;
	/** @domain: domain, NULL or "" for the default one */
	const char *domain;
	/** @name: operator */
	const char *name;
	/** @attrs: attributes, none twice */
	const struct accel_attr *attrs;
	/** @attr_count: entries of @attrs, at most 256 */
	uint32_t attr_count;
	/** @pad: 0 */
	uint32_t pad;
};

/** ACCEL_OPERATOR_DESC_INIT: a node to be filled in, of version 1 */
#define ACCEL_OPERATOR_DESC_INIT \
	{ sizeof(struct accel_operator_desc), 1, NULL, NULL, NULL, 0, 0 }

/**
 * accel_graph_operator - add a node of an operator that a user added
 * @graph: graph
 * @name: name for people, or NULL
 * @operators: set that has the operator; NULL: for ACCEL_RANDOM, which every set has too
 * @desc: what it is
 * @in: values that it reads, or ACCEL_VALUE_NONE
 * @in_count: their number
 * @out: out: its results
 * @out_count: their number
 *
 * Return: 0; -EINVAL NULL, a value that does not exist, numbers of values that the operator does
 * not take, attributes; -EOPNOTSUPP there is no such operator; -E2BIG as for plans, attributes
 * of more than 64 MiB; -ENOMEM. What @infer says is found when the values are asked for.
 */
ACCEL_API int accel_graph_operator(struct accel_graph *graph, const char *name,
				   struct accel_operators *operators,
				   const struct accel_operator_desc *desc, const uint32_t *in,
				   uint32_t in_count, uint32_t *out, uint32_t out_count);

/**
 * accel_program_load_operators - a program of a file that has nodes of added operators
 * @ctx: context
 * @path: as of accel_program_load()
 * @opts: as of accel_program_load()
 * @operators: set that has them; NULL: none, as with accel_program_load()
 * @program: out
 *
 * A file has names and attributes of such nodes, but not what computes them.
 *
 * Return: as accel_program_load(); -EOPNOTSUPP operators that the set does not have, all of
 * which are named; -ESTALE also an operator whose version is not the one that was compiled.
 */
ACCEL_API int accel_program_load_operators(struct accel_ctx *ctx, const char *path,
					   const struct accel_compile_opts *opts,
					   struct accel_operators *operators,
					   struct accel_program **program);

/* --- for the functions of operators -------------------------------------------------- */

/**
 * struct accel_call_value - an input, a result or a tensor, to an operator's functions
 */
struct accel_call_value {
	/** @size: sizeof(struct accel_call_value), as the library knows it */
	uint32_t size;
	/** @type: &enum accel_dtype or &enum accel_host_type, of whole bytes */
	uint32_t type;
	/** @rank: number of dimensions, 0 for a scalar */
	uint32_t rank;
	/** @pad: 0 */
	uint32_t pad;
	/** @dims: elements, outermost first */
	int64_t dims[ACCEL_GRAPH_MAX_RANK];
	/** @count: elements in all */
	uint64_t count;
	/**
	 * @data: the elements, not to be written but for results; for @infer only those of
	 * @known_inputs and tensors, else NULL
	 */
	void *data;
};

/**
 * accel_call_inputs - how many inputs does the node have?
 * @call: call
 *
 * Return: their number, absent ones in between included.
 */
ACCEL_API uint32_t accel_call_inputs(const struct accel_call *call);

/**
 * accel_call_outputs - how many results does the node have?
 * @call: call
 *
 * Return: their number; each has to be given, also those that nobody reads.
 */
ACCEL_API uint32_t accel_call_outputs(const struct accel_call *call);

/**
 * accel_call_input - an input of the node
 * @call: call
 * @index: from 0 on
 *
 * Return: the input; NULL: absent.
 */
ACCEL_API const struct accel_call_value *accel_call_input(const struct accel_call *call,
							  uint32_t index);

/**
 * accel_call_output - a result of the node
 * @call: call
 * @index: from 0 on
 *
 * Return: the result, to be written by @compute; NULL: there is none, or @infer has not said
 * what it is.
 */
ACCEL_API const struct accel_call_value *accel_call_output(const struct accel_call *call,
							   uint32_t index);

/**
 * accel_call_give - say what a result is
 * @call: call of @infer
 * @index: result
 * @type: &enum accel_dtype or &enum accel_host_type, of whole bytes
 * @rank: number of dimensions
 * @dims: sizes, none negative
 *
 * Return: 0; -EINVAL there is no such result, it is no call of @infer, type, rank, a dimension;
 * the call has an error then, which is that of @infer if it returns the number.
 */
ACCEL_API int accel_call_give(struct accel_call *call, uint32_t index, uint32_t type,
			      uint32_t rank, const int64_t *dims);

/**
 * accel_call_int - an attribute that is an integer
 * @call: call
 * @name: attribute
 * @value: out: stays as it is if there is none, and may have a default before
 *
 * Return: 0; -ENOENT the node has none; -EINVAL NULL, or it is of another type, of which the
 * call has an error. So for the following ones.
 */
ACCEL_API int accel_call_int(struct accel_call *call, const char *name, int64_t *value);

/**
 * accel_call_float - an attribute that is a floating-point number
 * @call: call
 * @name: attribute
 * @value: out
 *
 * Return: as accel_call_int().
 */
ACCEL_API int accel_call_float(struct accel_call *call, const char *name, float *value);

/**
 * accel_call_string - an attribute that is text
 * @call: call
 * @name: attribute
 * @text: out: with a zero behind it
 * @bytes: out: its length, may be NULL
 *
 * Return: as accel_call_int().
 */
ACCEL_API int accel_call_string(struct accel_call *call, const char *name, const char **text,
				uint64_t *bytes);

/**
 * accel_call_ints - an attribute that is a list of integers
 * @call: call
 * @name: attribute
 * @list: out
 * @count: out: their number
 *
 * Return: as accel_call_int().
 */
ACCEL_API int accel_call_ints(struct accel_call *call, const char *name, const int64_t **list,
			      uint64_t *count);

/**
 * accel_call_floats - an attribute that is a list of floating-point numbers
 * @call: call
 * @name: attribute
 * @list: out
 * @count: out: their number
 *
 * Return: as accel_call_int().
 */
ACCEL_API int accel_call_floats(struct accel_call *call, const char *name, const float **list,
				uint64_t *count);

/**
 * accel_call_tensor - an attribute that is a tensor
 * @call: call
 * @name: attribute
 * @tensor: out: aligned to its elements
 *
 * Return: as accel_call_int().
 */
ACCEL_API int accel_call_tensor(struct accel_call *call, const char *name,
				const struct accel_call_value **tensor);

/**
 * accel_call_fail - say what is wrong
 * @call: call
 * @code: negative errno, which @infer or @compute is to return
 * @fmt: as of printf(): one sentence without node and operator, which stand before it
 *
 * Return: @code.
 */
ACCEL_API int accel_call_fail(struct accel_call *call, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_OPERATOR_H */
