/* SPDX-License-Identifier: MIT */
/*
 * User-defined operators: nodes of graphs that are computed by functions of the program.
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
 * DOC: User-defined operators
 *
 * A set of operators is filled once, and then passed to the functions that load models and
 * programs from files. An operator has two functions. One determines types and dimensions of
 * the results; it is called while a graph is built, and once for each set of sizes that is
 * run. The other computes the results, on the CPU, in the thread of accel_state_run(). Both
 * get a &struct accel_call, which is valid during the call, like everything that its
 * functions return.
 *
 * Threads: a set is filled by one thread, and may be shared afterwards. The function that
 * computes runs in all threads that run states of programs with such a node, at the same
 * time; the one that determines dimensions may run concurrently, with a lock of the program
 * held. Neither may use the program, its graph or its states.
 */

struct accel_operators;
struct accel_call;

/** ACCEL_OPERATOR_MAX_VALUES: largest number of inputs and results of a node, together */
#define ACCEL_OPERATOR_MAX_VALUES	12

/** ACCEL_OP_ADDED: operation of user-defined nodes, in &struct accel_node_profile */
#define ACCEL_OP_ADDED	768u

/** ACCEL_VALUE_NONE: an input that is absent */
#define ACCEL_VALUE_NONE	UINT32_MAX

/** ACCEL_OPERATOR_REPLACE: replaces a built-in operator of the same name */
#define ACCEL_OPERATOR_REPLACE	(1u << 0)

/**
 * struct accel_operator - a user-defined operator
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
	/** @since: first version of the domain that has this operator, 0: 1 */
	uint32_t since;
	/**
	 * @known_inputs: mask of inputs whose elements @infer needs: lists or scalars of at
	 * most 4096 elements. Nodes that depend on this one are planned when the elements are
	 * known, once for the same elements
	 */
	uint32_t known_inputs;
	/** @min_inputs: number of inputs, from the first on, that are never absent */
	uint32_t min_inputs;
	/** @max_inputs: largest number of inputs, 0: no limit but ACCEL_OPERATOR_MAX_VALUES */
	uint32_t max_inputs;
	/** @min_outputs: smallest number of results, 0: 1 */
	uint32_t min_outputs;
	/** @max_outputs: largest number of results, 0: no limit but ACCEL_OPERATOR_MAX_VALUES */
	uint32_t max_outputs;
	/**
	 * @infer: sets type and dimensions of each result with accel_call_give(), from types
	 * and dimensions of the inputs and from attributes. Dimensions are always numbers:
	 * for symbols their values, or examples while a graph is built, some of which it may
	 * reject. Returns 0, or accel_call_fail()
	 */
	int (*infer)(void *user, struct accel_call *call);
	/**
	 * @compute: writes each result. Inputs and results are dense, row-major, and aligned
	 * to their elements; no result shares memory with an input. A node whose results are
	 * not used does not run; profiling may run a node several times. Returns 0, or
	 * accel_call_fail(), which the run returns
	 */
	int (*compute)(void *user, struct accel_call *call);
	/**
	 * @release: called with @user when neither the set nor a graph or program needs the
	 * operator any more, by the thread that released the last of them; or NULL
	 */
	void (*release)(void *user);
	/** @user: argument of these functions */
	void *user;
};

/** ACCEL_OPERATOR_INIT: an operator to be filled in */
#define ACCEL_OPERATOR_INIT \
	{ sizeof(struct accel_operator), 0, NULL, NULL, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL }

/**
 * accel_operators_create - create an empty set of operators
 * @operators: out
 *
 * Return: 0; -EINVAL NULL; -ENOMEM.
 */
ACCEL_API int accel_operators_create(struct accel_operators **operators);

/**
 * accel_operators_unref - release a set of operators
 * @operators: set, or NULL
 *
 * Graphs and programs keep the operators of their nodes.
 */
ACCEL_API void accel_operators_unref(struct accel_operators *operators);

/**
 * accel_operators_add - add an operator to a set
 * @operators: set, not in use by another thread
 * @op: operator; for models, accel_model_register_op() also checks the built-in ones
 * @error: filled if it fails, may be NULL
 *
 * Return: 0; -EINVAL NULL, size, flags, names, numbers of values, a missing function; -E2BIG
 * a longer struct with unknown fields set, or more than 4096 operators; -EEXIST the set has
 * one with that domain, name and version; -ENOMEM. On failure @release is not called.
 */
ACCEL_API int accel_operators_add(struct accel_operators *operators,
				  const struct accel_operator *op, struct accel_error *error);

/**
 * accel_operators_find - find an operator in a set
 * @operators: set, or NULL
 * @domain: domain, NULL or "" for the default one
 * @name: name
 * @version: version of the domain; finds the newest operator that is not newer
 * @flags: out: its flags; may be NULL
 *
 * Return: @since of that operator; 0: there is none.
 */
ACCEL_API uint32_t accel_operators_find(const struct accel_operators *operators,
					const char *domain, const char *name, uint32_t version,
					uint32_t *flags);

/* --- random numbers ------------------------------------------------------------------ */

/** ACCEL_RANDOM_DOMAIN: domain of the operator that exists without a set */
#define ACCEL_RANDOM_DOMAIN	"accel"

/**
 * ACCEL_RANDOM: name of that operator: a result of random numbers, with the attributes
 * ``kind`` (int, &enum accel_random_kind; ACCEL_RANDOM_UNIFORM), ``type`` (int, &enum
 * accel_dtype or &enum accel_host_type; ACCEL_F32), ``a`` (float; 0), ``b`` (float; 1),
 * ``count`` (int; 1), ``dims`` (ints) and ``seed`` (int). Without ``dims`` an input has the
 * dimensions. With a seed each run has the same numbers, those of
 * numpy.random.RandomState(seed), without one different ones. They are drawn in binary64 and
 * rounded to the type
 */
#define ACCEL_RANDOM	"Random"

/**
 * enum accel_random_kind - distribution of random numbers
 * @ACCEL_RANDOM_UNIFORM: uniform in [``a``, ``b``); floating-point types
 * @ACCEL_RANDOM_NORMAL: normal with mean ``a`` and standard deviation ``b``; floating-point
 *	types
 * @ACCEL_RANDOM_CHANCE: 1 with the probability given by the element of the input, else 0
 * @ACCEL_RANDOM_CLASS: ``count`` indices of classes for each row of the input, [rows,
 *	classes], which has logarithms of their (unnormalised) probabilities: [rows, count]
 */
enum accel_random_kind {
	ACCEL_RANDOM_UNIFORM = 0,
	ACCEL_RANDOM_NORMAL = 1,
	ACCEL_RANDOM_CHANCE = 2,
	ACCEL_RANDOM_CLASS = 3
};

/* --- nodes ------------------------------------------------------------------------- */

/**
 * enum accel_attr_type - type of an attribute
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
	/** @count: numbers of a list, bytes of a string; else ignored */
	uint64_t count;
	/** @data: its numbers, bytes or elements, any alignment */
	const void *data;
	/** @tensor: type, of whole bytes, and dimensions of a tensor; else ignored */
	const struct accel_value *tensor;
};

/**
 * struct accel_operator_desc - a node of a user-defined operator
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
	/** @attrs: attributes, with different names */
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
 * accel_graph_operator - add a node of a user-defined operator
 * @graph: graph
 * @name: name for people, or NULL
 * @operators: set that has the operator; NULL: only ACCEL_RANDOM, which is part of every set
 * @desc: description of the node
 * @in: input values, or ACCEL_VALUE_NONE
 * @in_count: their number
 * @out: out: its results
 * @out_count: their number
 *
 * Return: 0; -EINVAL NULL, a value that does not exist, a number of values that the operator
 * does not allow, attributes; -EOPNOTSUPP there is no such operator; -E2BIG as for plans,
 * attributes of more than 64 MiB; -ENOMEM. Errors of @infer are returned when the values are
 * queried.
 */
ACCEL_API int accel_graph_operator(struct accel_graph *graph, const char *name,
				   struct accel_operators *operators,
				   const struct accel_operator_desc *desc, const uint32_t *in,
				   uint32_t in_count, uint32_t *out, uint32_t out_count);

/**
 * accel_program_load_operators - load a program that has nodes of user-defined operators
 * @ctx: context
 * @path: as for accel_program_load()
 * @opts: as for accel_program_load()
 * @operators: set that has the operators; NULL: none, as with accel_program_load()
 * @program: out
 *
 * A file has names and attributes of such nodes, but not their functions.
 *
 * Return: as accel_program_load(); -EOPNOTSUPP operators that the set does not have, all of
 * which are named; -ESTALE also an operator with another version than the compiled one.
 */
ACCEL_API int accel_program_load_operators(struct accel_ctx *ctx, const char *path,
					   const struct accel_compile_opts *opts,
					   struct accel_operators *operators,
					   struct accel_program **program);

/* --- for the functions of operators -------------------------------------------------- */

/**
 * struct accel_call_value - an input, a result or a tensor, for an operator's functions
 */
struct accel_call_value {
	/** @size: sizeof(struct accel_call_value) in the library */
	uint32_t size;
	/** @type: &enum accel_dtype or &enum accel_host_type, of whole bytes */
	uint32_t type;
	/** @rank: number of dimensions, 0 for a scalar */
	uint32_t rank;
	/** @pad: 0 */
	uint32_t pad;
	/** @dims: elements, outermost first */
	int64_t dims[ACCEL_GRAPH_MAX_RANK];
	/** @count: total number of elements */
	uint64_t count;
	/**
	 * @data: the elements; only those of results may be written. For @infer only those of
	 * @known_inputs and tensors, else NULL
	 */
	void *data;
};

/**
 * accel_call_inputs - number of inputs of the node
 * @call: call
 *
 * Return: their number, including absent ones in between.
 */
ACCEL_API uint32_t accel_call_inputs(const struct accel_call *call);

/**
 * accel_call_outputs - number of results of the node
 * @call: call
 *
 * Return: their number; all of them must be set, even if they are not used.
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
 * Return: the result, to be written by @compute; NULL: there is none, or @infer has not set
 * it yet.
 */
ACCEL_API const struct accel_call_value *accel_call_output(const struct accel_call *call,
							   uint32_t index);

/**
 * accel_call_give - set type and dimensions of a result
 * @call: call of @infer
 * @index: result
 * @type: &enum accel_dtype or &enum accel_host_type, of whole bytes
 * @rank: number of dimensions
 * @dims: sizes, none negative
 *
 * Return: 0; -EINVAL there is no such result, it is not a call of @infer, type, rank, a
 * dimension; this sets the error of the call, for @infer to return.
 */
ACCEL_API int accel_call_give(struct accel_call *call, uint32_t index, uint32_t type,
			      uint32_t rank, const int64_t *dims);

/**
 * accel_call_int - read an integer attribute
 * @call: call
 * @name: attribute
 * @value: out: not changed if there is none, so it may be set to a default before
 *
 * Return: 0; -ENOENT the node has none; -EINVAL NULL, or it is of another type, which sets
 * the error of the call. The same for the next functions.
 */
ACCEL_API int accel_call_int(struct accel_call *call, const char *name, int64_t *value);

/**
 * accel_call_float - read a floating-point attribute
 * @call: call
 * @name: attribute
 * @value: out
 *
 * Return: as accel_call_int().
 */
ACCEL_API int accel_call_float(struct accel_call *call, const char *name, float *value);

/**
 * accel_call_string - read a string attribute
 * @call: call
 * @name: attribute
 * @text: out: NUL-terminated
 * @bytes: out: its length, may be NULL
 *
 * Return: as accel_call_int().
 */
ACCEL_API int accel_call_string(struct accel_call *call, const char *name, const char **text,
				uint64_t *bytes);

/**
 * accel_call_ints - read an attribute that is a list of integers
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
 * accel_call_floats - read an attribute that is a list of floating-point numbers
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
 * accel_call_tensor - read an attribute that is a tensor
 * @call: call
 * @name: attribute
 * @tensor: out: aligned to its elements
 *
 * Return: as accel_call_int().
 */
ACCEL_API int accel_call_tensor(struct accel_call *call, const char *name,
				const struct accel_call_value **tensor);

/**
 * accel_call_fail - set the error of a call
 * @call: call
 * @code: negative errno, which @infer or @compute is to return
 * @fmt: as for printf(): one sentence, which is prefixed with the names of node and operator
 *
 * Return: @code.
 */
ACCEL_API int accel_call_fail(struct accel_call *call, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#if defined(__cplusplus)
}
#endif

#endif /* ACCEL_OPERATOR_H */
