// SPDX-License-Identifier: MIT
/*
 * llama.cpp: libllama is loaded on demand, by the name in ACCELBENCH_LLAMA or else
 * libllama.so.0. Only the first four words of its parameter structures are known here, which
 * have been stable for years; the resulting values are checked before any measurement. The
 * structures are passed by value, in memory with room for those of any version.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "accelbench.h"
#include "llama.h"

/* Parameters: places of the context's */
struct params {
	uint32_t words[256];
};

enum { N_CTX, N_BATCH, N_UBATCH, N_SEQ_MAX };

/* Those of threads have a byte for each of 512 processors. */
struct pool_params {
	uint64_t words[512];
};

/* Arguments of a call; members that versions have added are 0 */
struct batch {
	int32_t count;
	int32_t *tokens;
	float *vectors;
	int32_t *places;
	int32_t *sequence_counts;
	int32_t **sequences;
	int8_t *logits;
	uint64_t rest[8];
};

static struct {
	void (*backend_init)(void);
	void (*log_set)(void (*fn)(int level, const char *text, void *user), void *user);
	struct params (*model_default_params)(void);
	struct params (*context_default_params)(void);
	void *(*model_load_from_file)(const char *path, struct params params);
	void (*model_free)(void *model);
	void *(*init_from_model)(void *model, struct params params);
	void (*free)(void *context);
	const void *(*model_get_vocab)(const void *model);
	int32_t (*vocab_n_tokens)(const void *vocab);
	uint32_t (*n_ctx)(const void *context);
	uint32_t (*n_batch)(const void *context);
	uint32_t (*n_ubatch)(const void *context);
	uint32_t (*n_seq_max)(const void *context);
	void (*set_n_threads)(void *context, int32_t threads, int32_t batch_threads);
	void (*attach_threadpool)(void *context, void *pool, void *batch_pool);
	void *(*get_memory)(void *context);
	bool (*memory_seq_rm)(void *memory, int32_t sequence, int32_t from, int32_t to);
	int32_t (*decode)(void *context, struct batch batch);
	float *(*get_logits_ith)(void *context, int32_t index);
} api;

#define ENTRY(name)	{ "llama_" #name, (void **)(void *)&api.name }

static const struct {
	const char *name;
	void **to;
} entries[] = {
	ENTRY(backend_init), ENTRY(log_set), ENTRY(model_default_params),
	ENTRY(context_default_params), ENTRY(model_load_from_file), ENTRY(model_free),
	ENTRY(init_from_model), ENTRY(free), ENTRY(model_get_vocab), ENTRY(vocab_n_tokens),
	ENTRY(n_ctx), ENTRY(n_batch), ENTRY(n_ubatch), ENTRY(n_seq_max), ENTRY(set_n_threads),
	ENTRY(attach_threadpool), ENTRY(get_memory), ENTRY(memory_seq_rm), ENTRY(decode),
	ENTRY(get_logits_ith)
};

static void *lib;

static void quiet(int level, const char *text, void *user)
{
	(void)level;
	(void)text;
	(void)user;
}

/* Kernels are separate libraries, in the same directory or in that of the distribution. */
static void load_kernels(const char *name)
{
	const char *slash = name ? strrchr(name, '/') : NULL;
	void (*load_from)(const char *folder);
	char folder[4096];
	void (*load)(void);

	*(void **)&load = dlsym(lib, "ggml_backend_load_all");
	*(void **)&load_from = dlsym(lib, "ggml_backend_load_all_from_path");
	if (slash && load_from && (size_t)(slash - name) < sizeof(folder)) {
		memcpy(folder, name, (size_t)(slash - name));
		folder[slash - name] = 0;
		load_from(folder);
	} else if (load) {
		load();
	}
}

bool llama_here(void)
{
	const char *name = getenv("ACCELBENCH_LLAMA");
	static bool looked, here;
	size_t i;

	if (looked)
		return here;
	looked = true;
	name = name && *name ? name : NULL;
	lib = dlopen(name ? name : "libllama.so.0", RTLD_NOW | RTLD_LOCAL);
	here = lib;
	for (i = 0; here && i < sizeof(entries) / sizeof(entries[0]); i++) {
		*entries[i].to = dlsym(lib, entries[i].name);
		here = *entries[i].to;
	}
	if (!here && (name || lib))
		bench_fail(0, "%s is not libllama, or one without %s", name ? name : "libllama.so.0",
			   lib ? entries[i - 1].name : "what it needs itself");
	if (here) {
		api.log_set(quiet, NULL);
		load_kernels(name);
		api.backend_init();
	}
	return here;
}

/*
 * A persistent thread pool, as its own programs use; otherwise it starts new threads for each
 * call. The constructor is in the library of the kernels, and only found through its registry.
 */
static void *new_pool(uint32_t threads)
{
	void *(*by_name)(const char *name), *(*find)(void *reg, const char *name);
	void *(*create)(struct pool_params *params) = NULL;
	void (*init)(struct pool_params *params, int threads);
	struct pool_params params = { 0 };
	void *reg = NULL;

	*(void **)&by_name = dlsym(lib, "ggml_backend_reg_by_name");
	*(void **)&find = dlsym(lib, "ggml_backend_reg_get_proc_address");
	*(void **)&init = dlsym(lib, "ggml_threadpool_params_init");
	if (by_name && find && init)
		reg = by_name("CPU");
	if (reg)
		*(void **)&create = find(reg, "ggml_threadpool_new");
	if (!create)
		return NULL;
	init(&params, (int)threads);
	return create(&params);
}

static bool bad(const char *path, const char *what)
{
	bench_fail(0, "llama.cpp: %s: %s", path, what);
	return false;
}

bool llama_open(struct llama *l, const char *path, const struct llama *other, uint32_t threads,
		uint32_t sequences, uint32_t tokens)
{
	struct params params;

	if (other) {
		*l = *other;
		l->shared = true;
		l->context = NULL;
		l->kept = NULL;
	} else {
		l->model = api.model_load_from_file(path, api.model_default_params());
		if (!l->model)
			return bad(path, "it is not read");
		l->pool = new_pool(threads);
	}
	params = api.context_default_params();
	params.words[N_CTX] = sequences * tokens;
	params.words[N_BATCH] = LLAMA_BATCH;
	params.words[N_UBATCH] = LLAMA_BATCH;
	params.words[N_SEQ_MAX] = sequences;
	l->context = api.init_from_model(l->model, params);
	if (!l->context)
		return bad(path, "there is no context");
	/* Else this is a version whose parameters are others. */
	if (api.n_ctx(l->context) < sequences * tokens || api.n_batch(l->context) != LLAMA_BATCH ||
	    api.n_ubatch(l->context) != LLAMA_BATCH || api.n_seq_max(l->context) != sequences)
		return bad(path, "the context is not the one that was asked for");
	api.set_n_threads(l->context, (int32_t)threads, (int32_t)threads);
	if (l->pool)
		api.attach_threadpool(l->context, l->pool, l->pool);
	l->vocabulary = (uint32_t)api.vocab_n_tokens(api.model_get_vocab(l->model));
	return true;
}

/* The threads remain: the measuring process exits soon. */
void llama_close(struct llama *l)
{
	if (l->context)
		api.free(l->context);
	if (l->model && !l->shared)
		api.model_free(l->model);
	*l = (struct llama) { 0 };
}

void llama_back(struct llama *l, uint32_t sequence, uint32_t place)
{
	api.memory_seq_rm(api.get_memory(l->context), (int32_t)sequence, (int32_t)place, -1);
}

/* A call of it, on a thread of its own */
struct call {
	void *context;
	struct batch batch;
	bool done;
};

/* Results are computed when they are requested. */
static void *run_call(void *arg)
{
	struct call *c = arg;

	c->done = !api.decode(c->context, c->batch) &&
		  api.get_logits_ith(c->context, c->batch.count - 1);
	return NULL;
}

/* Tokens at consecutive positions of one sequence, or of several sequences at one position */
static bool decode(struct llama *l, uint32_t sequence, uint32_t place, const int32_t *tokens,
		   uint32_t count, bool all, bool each)
{
	static int32_t ids[LLAMA_BATCH], numbers[LLAMA_BATCH], places[LLAMA_BATCH];
	static int32_t counts[LLAMA_BATCH], *sequences[LLAMA_BATCH];
	static int8_t wanted[LLAMA_BATCH];
	struct call call = {
		.context = l->context,
		.batch = {
			.count = (int32_t)count, .tokens = ids, .places = places,
			.sequence_counts = counts, .sequences = sequences, .logits = wanted,
		},
	};
	pthread_t thread;
	uint32_t i;

	for (i = 0; i < count; i++) {
		ids[i] = tokens[i];
		numbers[i] = (int32_t)(each ? i : sequence);
		places[i] = (int32_t)(each ? place : place + i);
		counts[i] = 1;
		sequences[i] = &numbers[i];
		wanted[i] = all || each || i + 1 == count;
	}
	/*
	 * It configures the tiles of AMX once on each thread, and whatever else runs there may
	 * change them, by the ABI, as this library does. The time of a thread is too short to be
	 * seen beside that of a call.
	 */
	if (pthread_create(&thread, NULL, run_call, &call))
		return bad("tokens", "no thread");
	pthread_join(thread, NULL);
	return call.done || bad("tokens", "they are not decoded");
}

bool llama_prompt(struct llama *l, uint32_t sequence, uint32_t place, const int32_t *tokens,
		  uint32_t count, bool all)
{
	return decode(l, sequence, place, tokens, count, all, false);
}

bool llama_step(struct llama *l, uint32_t place, const int32_t *tokens, uint32_t count)
{
	return decode(l, 0, place, tokens, count, false, true);
}

const float *llama_logits(struct llama *l, uint32_t index)
{
	return api.get_logits_ith(l->context, (int32_t)index);
}

int32_t llama_best(struct llama *l, uint32_t index)
{
	const float *x = llama_logits(l, index);
	float most[16];
	uint32_t i, k, whole = l->vocabulary / 16 * 16;

	/* Sixteen at once, as compilers see it; then where that one is */
	for (k = 0; k < 16; k++)
		most[k] = x[0];
	for (i = 0; i < whole; i += 16)
		for (k = 0; k < 16; k++)
			most[k] = x[i + k] > most[k] ? x[i + k] : most[k];
	for (k = 1; k < 16; k++)
		most[0] = most[k] > most[0] ? most[k] : most[0];
	for (i = whole; i < l->vocabulary; i++)
		most[0] = x[i] > most[0] ? x[i] : most[0];
	for (i = 0; i + 1 < l->vocabulary && x[i] != most[0]; i++)
		;
	return (int32_t)i;
}
