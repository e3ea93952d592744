/* SPDX-License-Identifier: MIT */
/*
 * Graphs from the inside: one header, as all parts work on the same structures.
 *
 *	graph (build.c): what the caller described, symbols and all
 *	  -> net (net.c, shape.c, late.c): the same for numbers: every dimension known,
 *	     shapes computed, constants folded, views instead of moves
 *	  -> stages (stage.c): nets that end where shapes depend on data, flow.c: what is
 *	     done there
 *	  -> passes (pass.c, pass_*.c): net to net; watch.c: fp16 that overflows
 *	  -> lower.c: a plan, or work for the CPU, for each node; arena.c: memory
 *	  -> program.c keeps nets by the numbers of their symbols; state.c has what
 *	     a run needs, run.c runs; file.c writes programs to files, and maps them
 */
#ifndef LIBACCEL_GRAPH_H
#define LIBACCEL_GRAPH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <accel/accel.h>
#include "libaccel/plan/plan.h"
#include "libaccel/core/internal.h"
#include "libaccel/host/host.h"
#include "libaccel/ops/ops.h"
#include "added.h"

#define MAX_RANK	ACCEL_GRAPH_MAX_RANK
/* Most arguments of a node: pieces of a concatenation, and its result */
#define NODE_MAX_ARGS	ACCEL_ARG_COUNT
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define NO_VALUE	UINT32_MAX
/* Arguments that are the tables of others */
#define ARG_TABLES	(ACCEL_ARG_SCALES | ACCEL_ARG_ZEROS)
/* Dimensions and bytes of a value end here: products of two fit. */
#define MAX_ELEMENTS	(1LL << 46)
/* Loops that go on for longer, all of a run together, are taken for such that do not end. */
#define MAX_ITERATIONS	(1 << 20)

/**
 * union node_desc - descriptor of a node; only the part that @hdr.size says is there
 */
union node_desc {
	struct accel_desc hdr;
	union any_desc any;
	struct accel_shape_desc shape;
	struct added_desc added;
};

/* Is a node one of an operator that a user added? */
static inline bool is_added(const union node_desc *desc)
{
	return desc->hdr.op == ACCEL_OP_ADDED;
}

/**
 * struct blob - data of a constant
 * @refs: references
 * @data: first byte, NULL: it is not there, only what was packed of it is
 * @bytes: size
 * @release: called in the end, or NULL
 * @user: for @release
 * @mapped: of a file: pages come back when they are read
 * @place: where in that file
 * @sums: of one that may be packed and need not be there then: what is known of it
 * @sum_count: number of @sums
 */
struct blob {
	atomic_uint refs;
	const void *data;
	uint64_t bytes;
	void (*release)(void *user);
	void *user;
	bool mapped;
	struct file_place place;
	const struct weights_sum *sums;
	uint32_t sum_count;
};

struct blob *blob_create(const void *data, uint64_t bytes, void (*release)(void *), void *user);
struct blob *blob_ref(struct blob *blob);
void blob_rest(const struct blob *blob);
void blob_unref(struct blob *blob);

struct node;
struct facts;
struct program_file;

/* --- build.c ----------------------------------------------------------------------- */

struct symbol {
	char *name;
	int64_t min;
	int64_t max;
};

/**
 * struct graph_value - a value that was described
 * @name: name, or NULL
 * @known: type, rank and dims are; else it is a node's result
 * @type: &enum accel_dtype or &enum accel_host_type
 * @rank: dimensions
 * @dims: numbers or symbols
 * @blob: data of a constant, or NULL
 * @input: index of the input, NO_VALUE: it is none
 */
struct graph_value {
	char *name;
	bool known;
	uint32_t type;
	uint32_t rank;
	int64_t dims[MAX_RANK];
	struct blob *blob;
	uint32_t input;
};

/**
 * struct graph_dynamic - a node whose results have dimensions that only running tells
 * @d: what it is
 * @body: graphs that it runs, its own
 * @in_count: values that it reads, the first of its arguments
 */
struct graph_dynamic {
	struct accel_dynamic_desc d;
	struct accel_graph *body[2];
	uint32_t in_count;
};

/**
 * struct graph_node - a node that was described
 * @name: name, or NULL
 * @source: what it was made for, or NULL; one of the graph's
 * @desc: descriptor; of dynamic ones the head alone
 * @dynamic: it is one of these, or NULL
 * @args: values
 */
struct graph_node {
	char *name;
	const char *source;
	union node_desc *desc;
	struct graph_dynamic *dynamic;
	uint32_t arg_count;
	struct accel_graph_arg *args;
};

struct graph_output {
	char *name;
	uint32_t value;
};

struct accel_graph {
	atomic_uint refs;
	/* compiled: it does not change any more */
	atomic_bool frozen;
	struct accel_error error;
	struct symbol *symbols;
	uint32_t symbol_count;
	struct graph_value *values;
	uint32_t value_count, value_cap;
	struct graph_node *nodes;
	uint32_t node_count, node_cap;
	/* what nodes are made for, and what those are that are added now, or NULL */
	char **sources;
	const char *source;
	uint32_t source_count, source_cap;
	uint32_t *inputs;
	uint32_t input_count;
	struct graph_output *outputs;
	uint32_t output_count;
	/* what nodes of operators that users added say: its nets have them too */
	struct operator_node **added;
	uint32_t added_count, added_cap;
	/* with numbers for symbols, as far as it was asked for */
	struct net *example;
	/* nets that may still be made to find such numbers */
	uint32_t tries;
	/* numbers that may still be looked at for that */
	uint32_t looks;
	/* with other numbers for all symbols, NULL: not asked for, or none fit */
	struct net *other;
	/* ways to choose those that did not fit */
	uint32_t other_tries;
};

struct accel_graph *graph_ref(struct accel_graph *graph);
int graph_fail(struct accel_graph *graph, int code, const char *field, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
int graph_nomem(struct accel_graph *graph);
int graph_open(struct accel_graph *graph);
struct graph_value *graph_add_value(struct accel_graph *graph, const char *name);
uint32_t symbol_index(int64_t dim);

/* --- example.c --------------------------------------------------------------------- */

int graph_example(struct accel_graph *graph);
struct net *graph_try(struct accel_graph *graph, const int64_t *numbers,
		      const struct facts *facts);
bool graph_varies(struct accel_graph *graph, uint32_t value, uint32_t dim);

/* --- fields.c: the tensors of a descriptor ----------------------------------------- */

struct accel_tensor *desc_field(union any_desc *desc, uint32_t arg, bool *result);
uint32_t over_arg(uint32_t op, uint32_t arg);
uint32_t over_args(uint32_t op);
uint32_t shape_args(uint32_t op);
bool is_shape_op(uint32_t op);
bool is_table(uint32_t arg);
bool is_quantised(const struct node *node);
uint32_t desc_size(uint32_t op);
const char *node_op_name(uint32_t op);
const char *desc_name(const union node_desc *desc);
const char *made_for(const char *source, const union node_desc *desc);
bool desc_writes(union node_desc *desc, uint32_t arg);
struct accel_epilogue *desc_epilogue(union any_desc *desc);

/* --- net.c ------------------------------------------------------------------------- */

/**
 * enum store_kind - where elements are
 * @STORE_ARENA: in memory of the state
 * @STORE_INPUT: where the caller said; with a node: what that node wrote there
 * @STORE_CONST: in a constant
 * @STORE_GIVEN: where a stage before left them
 */
enum store_kind {
	STORE_ARENA,
	STORE_INPUT,
	STORE_CONST,
	STORE_GIVEN
};

/**
 * struct store - memory of values
 * @kind: &enum store_kind
 * @index: of the input, or of what is given: value of the graph
 * @bytes: size
 * @blob: constant
 * @offset: in the arena
 * @first: step that writes it, 0 for what is there
 * @last: last step that reads it
 * @over: store whose place it takes when that is not needed any more, or NO_VALUE
 * @node: node that writes it, NO_VALUE: none
 * @uses: arguments and results of the graph that read it, by net_count_uses()
 * @user: node of one of them, NO_VALUE: none
 * @source: by which its contents are known where it was packed, 0: it was not
 * @part_of: store in whose memory it is, columns of rows of that, or NO_VALUE
 */
struct store {
	enum store_kind kind;
	uint32_t index;
	uint64_t bytes;
	struct blob *blob;
	uint64_t offset;
	uint32_t first;
	uint32_t last;
	uint32_t over;
	uint32_t node;
	uint32_t uses;
	uint32_t user;
	uint64_t source;
	uint32_t part_of;
};

/**
 * struct value - elements of a store
 * @name: name, or NULL; the graph's
 * @type: &enum accel_dtype or &enum accel_host_type
 * @rank: dimensions
 * @dims: numbers
 * @strides: elements; 0 repeats
 * @offset: element (0, 0, ...) in the store
 * @store: store
 * @unsure: of an example: its dimensions were guessed
 */
struct value {
	const char *name;
	uint32_t type;
	uint32_t rank;
	int64_t dims[MAX_RANK];
	int64_t strides[MAX_RANK];
	int64_t offset;
	uint32_t store;
	bool unsure;
};

struct node_arg {
	uint32_t arg;
	uint32_t value;
	bool result;
};

/* Of rules: it stays in fp32, for it has numbers that fp16 does not have */
#define RULE_KEPT	(1u << 30)
/* Of rules: it adds up the magnitudes of a value in fp16, so what is not finite in it shows */
#define RULE_WATCH	(1u << 31)

/**
 * struct node - an operation
 * @name: name for people, or NULL; the graph's
 * @source: what it was made for, or NULL; likewise
 * @desc: descriptor; its tensors are absent
 * @args: values
 * @arg_count: number of @args
 * @dead: not there any more
 * @host: done by the CPU
 * @rules: mask of 1 << &enum accel_pass that made it, and of RULE_*
 * @fused: nodes that became part of it
 * @plan: plan
 * @info: of it
 * @algorithm: static string
 */
struct node {
	const char *name;
	const char *source;
	union node_desc *desc;
	struct node_arg args[NODE_MAX_ARGS];
	uint32_t arg_count;
	bool dead;
	bool host;
	uint32_t rules;
	uint32_t fused;
	struct accel_plan *plan;
	struct accel_plan_info info;
	const char *algorithm;
};

/* Is there nothing to do, as all is where it belongs? Of a node that was lowered */
static inline bool node_idle(const struct node *node)
{
	return !node->host && !node->plan;
}

/**
 * struct constant - a constant as a buffer
 * @blob: what it is, a reference: its address is no other's as long as this is here
 * @bo: buffer
 * @offset: bytes
 * @kept: something reads it while it runs
 */
struct constant {
	struct blob *blob;
	struct accel_bo *bo;
	uint64_t offset;
	bool kept;
};

/**
 * struct fact - what running told of a value
 * @value: of the graph
 * @type: &enum accel_dtype or &enum accel_host_type
 * @rank: dimensions
 * @dims: their sizes
 * @data: its elements, which become a constant; NULL: it is given
 * @bytes: of @data
 */
struct fact {
	uint32_t value;
	uint32_t type;
	uint32_t rank;
	int64_t dims[MAX_RANK];
	void *data;
	uint64_t bytes;
};

struct facts {
	struct fact *list;
	uint32_t count;
	uint32_t cap;
};

/**
 * struct net - a graph for numbers
 * @refs: references
 * @used: when it was last looked for
 * @graph: what it was made of
 * @program: program whose buffers of constants it uses
 * @symbols: what symbols stand for
 * @symbol_count: their number
 * @error: what went wrong
 * @order: nodes in the order in which they run
 * @watches: nodes of RULE_WATCH, in that order
 * @watch_count: their number
 * @values_taken: values of the graph that were looked at
 * @nodes_taken: likewise nodes
 * @map_cap: room of @map
 * @map: by value of the graph: value
 * @facts: what is known beside the symbols
 * @first: nodes of the graph before this one ran in stages before
 * @stop: node of the graph that cannot be resolved yet, or their number
 * @peek: nothing has to run before that can
 * @guess: an example: what is not known is guessed
 * @guessed: so it was for the node in work
 * @unread: by node of the graph: nobody reads its results; NULL: an example, whose graph may go on
 * @idle: so it is for the node in work: it is resolved, as its sizes may be wrong, but has no
 *	constants but small ones, which sizes may depend on
 * @out_values: values of the graph that are results
 * @outputs: values of results
 * @output_count: their number
 * @given_bytes: of the graph's constants
 * @folded_bytes: of those that were computed
 * @arena_bytes: of the arena
 * @arena_bound: the least that it could be
 */
struct net {
	atomic_uint refs;
	uint64_t used;
	struct accel_graph *graph;
	struct accel_program *program;
	int64_t *symbols;
	uint32_t symbol_count;
	struct accel_error error;
	struct store *stores;
	uint32_t store_count;
	uint32_t store_cap;
	struct value *values;
	uint32_t value_count, value_cap;
	struct node *nodes;
	uint32_t node_count;
	uint32_t node_cap;
	uint32_t *order;
	uint32_t order_count;
	uint32_t *watches;
	uint32_t watch_count;
	uint32_t values_taken;
	uint32_t nodes_taken;
	struct facts facts;
	uint32_t first;
	uint32_t stop;
	bool peek;
	bool guess;
	bool guessed;
	uint32_t map_cap;
	uint32_t *map;
	bool *unread;
	bool idle;
	uint32_t *out_values;
	uint32_t *outputs;
	uint32_t output_count;
	uint64_t given_bytes;
	uint64_t folded_bytes;
	uint64_t arena_bytes;
	uint64_t arena_bound;
	uint64_t packed_bytes;
	uint64_t constant_bytes;
	uint64_t workspace_bytes;
	uint64_t macs;
};

/* The store whose memory a store is in */
static inline uint32_t whole_of(const struct net *net, uint32_t store)
{
	return net->stores[store].part_of == NO_VALUE ? store : net->stores[store].part_of;
}

/**
 * struct net_key - what tells nets of a program from each other
 * @symbols: numbers
 * @facts: what is known beside them
 * @first: nodes of the graph before this one ran
 */
struct net_key {
	const int64_t *symbols;
	const struct facts *facts;
	uint32_t first;
};

int net_create(struct accel_program *program, const struct net_key *key, struct net **net);
int net_extend(struct net *net);
struct net *net_alloc(struct accel_graph *graph);
void net_unref(struct net *net);
void net_free(struct net *net);
int net_fail(struct net *net, int code, const struct node *node, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
int net_nomem(struct net *net);
bool list_grow(void *list, uint32_t count, uint32_t *cap, size_t size);
uint32_t net_store(struct net *net, enum store_kind kind, uint64_t bytes);
uint32_t net_value(struct net *net, uint32_t type, uint32_t rank, const int64_t *dims,
		   uint32_t store);
uint32_t net_new_value(struct net *net, uint32_t type, uint32_t rank, const int64_t *dims);
uint32_t net_constant(struct net *net, uint32_t type, uint32_t rank, const int64_t *dims,
		      void *data);
bool net_may_fold(struct net *net, uint64_t bytes);
uint32_t net_view(struct net *net, uint32_t value);
struct node *net_node(struct net *net, const struct node *of, uint32_t op);
int node_arg(struct node *node, uint32_t arg, uint32_t value, bool result);
uint32_t node_value(const struct node *node, uint32_t arg);
bool node_set(struct node *node, uint32_t arg, uint32_t value);
uint32_t node_result(const struct node *node);
uint32_t net_copy(struct net *net, uint32_t value, uint32_t type, const struct node *of);
uint32_t *net_copies(const struct net *net);
uint32_t net_copy_once(struct net *net, uint32_t *made, uint32_t value, uint32_t type,
		       const struct node *of);

/* --- infer.c ----------------------------------------------------------------------- */

int net_infer(struct net *net, struct node *node);

/* --- stage.c ----------------------------------------------------------------------- */

/* Elements of a value whose numbers say shapes */
#define MAX_WANTED	4096

void facts_free(struct facts *facts);
bool facts_add(struct facts *facts, const struct fact *fact);
bool facts_copy(struct facts *to, const struct facts *from);
bool facts_equal(const struct facts *a, const struct facts *b);
int stage_fact(struct net *net, uint32_t index);
int stage_facts(struct net *net, const struct graph_node *from);
void stage_done(struct net *net, const struct graph_node *from, struct node *node);
int stage_wants(struct net *net, const struct graph_node *from, uint32_t *in, bool *stop);
int stage_dynamic(struct net *net, const struct graph_node *from, uint32_t index);
bool is_result(const struct graph_node *node, uint32_t k);
int stage_end(struct net *net);
uint32_t stage_next(const struct net *net, uint32_t index);

/* --- value.c ----------------------------------------------------------------------- */

bool dims_fit(uint32_t rank, const int64_t *dims);
uint64_t value_count(const struct value *v);
bool value_dense(const struct value *v);
bool is_real(uint32_t type);
bool value_fills(const struct net *net, const struct value *v);
bool value_whole(const struct net *net, const struct value *v);
bool value_const(const struct net *net, uint32_t value);
bool value_tensor(const struct value *v, struct accel_tensor *t);
struct host_tensor value_host(const struct value *v, const void *base);
const void *value_data(const struct net *net, uint32_t value);
bool value_ints(const struct net *net, uint32_t value, int64_t *list, uint32_t *count,
		uint32_t max);
bool value_reals(const struct net *net, uint32_t value, double *list, uint32_t *count,
		 uint32_t max);
bool value_scalar(const struct net *net, uint32_t value, double *number);
uint32_t engine_type(uint32_t type);
uint64_t type_bytes(uint32_t type, uint64_t elements);
bool type_is_blocks(uint32_t type);
bool same_place(const struct value *a, const struct value *b);
bool reshape_view(struct value *v, uint32_t rank, const int64_t *dims);
void permute_view(struct value *v, const uint32_t *order);
bool move_columns(struct value *v, int64_t n, int64_t wide, int64_t at);
bool same_dims(const struct value *a, const struct value *b);

/* --- shape.c --------------------------------------------------------------- */

int shape_resolve(struct net *net, const struct graph_node *from, uint32_t *in, uint32_t *out);
bool fold_node(struct net *net, struct node *node);
void net_release(struct net *net, uint32_t value);

/* --- late.c ---------------------------------------------------------------- */

uint32_t late_args(uint32_t op);
int late_resolve(struct net *net, struct node *node, const uint32_t *in);

/* --- passes ------------------------------------------------------------------------ */

int net_passes(struct net *net, const struct accel_compile_opts *opts);
int pass_dead(struct net *net);
int pass_cse(struct net *net);
int pass_epilogue(struct net *net);
int pass_qdq(struct net *net);
int pass_join(struct net *net);
int pass_scale(struct net *net);
int pass_layout(struct net *net);
int pass_idiom(struct net *net);
int pass_attention(struct net *net);
int pass_batchnorm(struct net *net);
int pass_transposed(struct net *net);
int pass_copy(struct net *net);
int pass_concat(struct net *net);
bool concat_in_place(const struct net *net, const struct node *node);
int pass_precision(struct net *net);
int pass_widen(struct net *net);
const struct node *value_maker(const struct net *net, uint32_t value, uint32_t op);
uint32_t value_node(const struct net *net, uint32_t value);
void net_count_uses(struct net *net);
bool net_can_run(struct net *net, const struct node *node);
uint32_t value_uses(const struct net *net, uint32_t value, uint32_t *user);

/* --- lower.c, arena.c -------------------------------------------------------------- */

int net_order(struct net *net);
int net_lower(struct net *net, const struct accel_compile_opts *opts);
int net_arena(struct net *net, bool in_place);
bool node_full_desc(struct net *net, const struct node *node, union any_desc *desc);
bool node_packs(const struct net *net, const struct node *node, union any_desc *desc);

/* --- program.c --------------------------------------------------------------------- */

struct accel_program {
	atomic_uint refs;
	struct accel_ctx *ctx;
	struct accel_graph *graph;
	struct accel_compile_opts opts;
	pthread_mutex_t lock;
	struct net **nets;
	uint32_t net_count;
	uint64_t clock;
	struct constant *constants;
	uint32_t constant_count;
	uint32_t constant_cap;
	/* programs of the graphs that nodes run */
	struct accel_program **bodies;
	uint32_t body_count;
	/* most nets that a run asked for: so many are kept for each set of sizes */
	uint32_t asked;
	/* packed weights of all nets */
	struct accel_weights *weights;
	/* that it was loaded from, or NULL; and it has no graph: there are no other nets */
	struct program_file *file;
	bool sealed;
	/* products that stay in fp32 */
	struct kept *kept;
	uint32_t kept_count;
};

int program_create(struct accel_ctx *ctx, struct accel_graph *graph,
		   const struct accel_compile_opts *opts, struct accel_program **program);
int program_finish(struct accel_program *program, struct net *net);
bool program_keeps(struct accel_program *program, struct net *net);

int program_net(struct accel_program *program, const struct net_key *key, uint32_t asked,
		struct net **net);
int program_body(struct accel_program *program, struct accel_graph *body,
		 struct accel_program **out);
int program_constant(struct accel_program *program, struct blob *blob, struct constant *out);
void program_keep(struct accel_program *program, const struct blob *blob);
void program_packed(struct accel_program *program, struct blob *blob);

/* --- file.c ------------------------------------------------------------------------ */

bool node_holds(const struct node *node, uint32_t arg);
int file_check(struct accel_program *program);
void file_free(struct program_file *file);

/* --- state.c ----------------------------------------------------------------------- */

struct state_input {
	bool set;
	bool changed;
	uint32_t rank;
	int64_t dims[MAX_RANK];
	struct accel_bo *bo;
	uint64_t offset;
	/* the state's own, if it has one */
	struct accel_bo *own;
};

/**
 * struct step - nodes that run without the CPU in between, or one on the CPU
 * @job: job, NULL: the CPU
 * @first: first node in the net's order
 * @count: nodes, without those that are idle
 */
struct step {
	struct accel_job *job;
	uint32_t first;
	uint32_t count;
};

struct flow;

/**
 * struct stage - a net of a state
 * @net: net
 * @arena: its memory
 * @steps: what is done
 * @step_count: number of @steps
 * @epoch: of the state, when they were made
 * @flow: what the node needs that the net stops at, or NULL
 */
struct stage {
	struct net *net;
	struct accel_bo *arena;
	struct step *steps;
	uint32_t step_count;
	uint64_t epoch;
	struct flow *flow;
};

/**
 * struct given - where a value is that a stage before made
 * @bo: buffer, borrowed
 * @offset: of its first byte
 */
struct given {
	struct accel_bo *bo;
	uint64_t offset;
};

/**
 * struct accel_state - the memory of a run
 * @stages: the first is there always; others as they were needed last
 * @stage_count: number of @stages
 * @looks: shapes depend on what inputs say
 * @given: by value of the graph, NULL: one stage is all
 * @facts: what this run knows
 * @asked: nets that it asked for
 * @epoch: counts changes of places
 * @outer: state whose node runs this one, or NULL
 * @iterations: of loops in this run, those in graphs of nodes too; counted where @outer is NULL
 */
struct accel_state {
	struct accel_program *program;
	struct state_input *inputs;
	bool stale;
	bool ran;
	struct accel_queue *queue;
	struct stage *stages;
	uint32_t stage_count;
	bool looks;
	struct given *given;
	struct facts facts;
	uint32_t asked;
	uint64_t epoch;
	struct accel_state *outer;
	uint32_t iterations;
};

void stage_drop(struct stage *stage);
int state_ready(struct accel_state *state);
int state_locate(struct accel_state *state, const struct stage *stage, const struct value *v,
		 struct accel_bo **bo, uint64_t *offset);
int state_bindings(struct accel_state *state, const struct stage *stage, const struct node *node,
		   struct accel_binding *bindings, uint32_t *count);
int state_run_host(struct accel_state *state, const struct stage *stage, const struct node *node);
int state_next(struct accel_state *state, uint32_t index, bool *more);
int state_result(struct accel_state *state, uint32_t index, struct accel_bo **bo,
		 uint64_t *offset, struct accel_value *value);
int state_give(struct accel_state *state, uint32_t value, struct accel_bo *bo, uint64_t offset);
int state_submit(struct accel_state *state, struct accel_job *job);

/* --- flow.c ------------------------------------------------------------------------ */

int flow_run(struct accel_state *state, struct stage *stage, struct facts *facts);
void flow_free(struct flow *flow);
const struct accel_state *flow_state(const struct flow *flow, uint32_t index);

#endif /* LIBACCEL_GRAPH_H */
