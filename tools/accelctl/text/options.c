// SPDX-License-Identifier: MIT
/*
 * Options of the commands of text, for the command table.
 */
#include <accel/speech.h>
#include <math.h>

#include "text.h"

#define OPT(member)	offsetof(struct text_opts, member)

const char *const kv_names[] = { "fp32", "fp16", "bf16", "int8", NULL };

/* As of &enum accel_precision */
static const char *const precisions[] = { "fp32", "bf16", "fp16", NULL };

#define DTYPE \
	{ "dtype", 't', CTL_CHOICE, 0, OPT(dtype), .choices = precisions, \
	  .help = "type of fp32 products (sums are fp32) and of weights in memory (fp32)" }

const struct ctl_opt text_table[] = {
	{ "model", 'm', CTL_STRING, CTL_COMPLETE_FILE, OPT(model), .arg = "FILE|FOLDER",
	  .help = "GGUF file, or directory with config.json and safetensors" },
	{ "tokenizer", 0, CTL_STRING, CTL_COMPLETE_FILE, OPT(tokenizer), .arg = "FILE|FOLDER",
	  .help = "tokenizer.json, or a directory with it; the default is the model's directory" },
	{ "lora", 0, CTL_STRINGS, CTL_COMPLETE_DIR, OPT(loras), .arg = "FOLDER[:SCALE]",
	  .help = "LoRA adapter in PEFT's format, multiplied by SCALE (1); can be repeated" },
	{ "prompt", 'p', CTL_STRING, 0, OPT(prompt), .arg = "TEXT", .help = "text" },
	{ "file", 'f', CTL_STRING, CTL_COMPLETE_FILE, OPT(file), .arg = "FILE",
	  .help = "read the text from a file; - for the standard input" },
	{ "input-ids", 0, CTL_STRING, 0, OPT(ids), .arg = "A,B,...",
	  .help = "token numbers instead of a text" },
	{ "context", 'c', CTL_UINT, 0, OPT(context), 2, 1 << 24, .arg = "TOKENS",
	  .help = "maximum length of a sequence, in whole pages (that of the model, at most 4096)",
	},
	DTYPE,
	{ "kv-type", 0, CTL_CHOICE, 0, OPT(kv_type), .choices = kv_names,
	  .help = "type of the cache of keys and values; int8 has a scale for each head (fp32)" },
	{ "no-repack", 0, CTL_FLAG, 0, OPT(no_repack),
	  .help = "use weights as stored in the file, without faster packed copies" },
	{ "chunk", 0, CTL_UINT, 0, OPT(chunk), 1, 65536, .arg = "TOKENS",
	  .help = "maximum number of tokens in a step (256)" },
	{ "reproducible", 0, CTL_FLAG, 0, OPT(reproducible),
	  .help = "results do not depend on how tokens are divided into steps" },
	{ "threads", 0, CTL_UINT, 0, OPT(threads), 1, 4096, .arg = "COUNT",
	  .help = "in-process device: number of threads; the default is one per core" },
	{ "no-cache", 0, CTL_FLAG, 0, OPT(no_cache),
	  .help = "do not use the cache of packed weights, accel/weights in XDG_CACHE_HOME",
	},
	{ NULL }
};

static const char *const stoppings[] = { "likely", "first", "never", NULL };

const struct ctl_opt generate_table[] = {
	{ "max-new-tokens", 'n', CTL_UINT, 0, OPT(most), 1, INT32_MAX, .arg = "COUNT",
	  .help = "maximum length of the answer; the default is the remaining context" },
	{ "greedy", 0, CTL_FLAG, 0, OPT(greedy),
	  .help = "always use the most probable token; overrides other options" },
	{ "temperature", 0, CTL_REAL, 0, OPT(temperature), .arg = "NUMBER",
	  .help = "divisor of the logits; 0: use the most probable token (0.8)" },
	{ "top-k", 0, CTL_UINT, 0, OPT(top_k), 0, INT32_MAX, .arg = "COUNT",
	  .help = "sample from this number of the most probable tokens, 0: from all (40)" },
	{ "top-p", 0, CTL_REAL, 0, OPT(top_p), .arg = "SHARE",
	  .help = "sample from the smallest set with this total probability (0.95)" },
	{ "min-p", 0, CTL_REAL, 0, OPT(min_p), .arg = "SHARE",
	  .help = "sample from tokens with this probability relative to the most probable one (0.05)",
	},
	{ "repeat-penalty", 0, CTL_REAL, 0, OPT(repeat_penalty), .arg = "NUMBER",
	  .help = "divisor of the logits of the last 64 tokens, or factor for those below 0 (1)" },
	{ "presence-penalty", 0, CTL_REAL, 0, OPT(presence_penalty), .arg = "NUMBER",
	  .help = "value subtracted from the logits of the last 64 tokens, once for each token (0)",
	},
	{ "frequency-penalty", 0, CTL_REAL, 0, OPT(frequency_penalty), .arg = "NUMBER",
	  .help = "value subtracted from these, once for each occurrence (0)" },
	{ "logit-bias", 0, CTL_STRINGS, 0, OPT(biases), .arg = "TOKEN=NUMBER",
	  .help = "value added to the logit of a token, given by its number; -inf: never; can be repeated",
	},
	{ "json-schema", 0, CTL_STRING, CTL_COMPLETE_FILE, OPT(schema), .arg = "FILE",
	  .help = "generate JSON that matches the schema in the file" },
	{ "seed", 0, CTL_UINT, 0, OPT(seed), 0, UINT32_MAX, .arg = "NUMBER",
	  .help = "seed of the sampling (1)" },
	{ "stop", 0, CTL_STRINGS, 0, OPT(stops), .arg = "TEXT",
	  .help = "text that ends the answer and is not part of it; can be repeated" },
	{ "ignore-eos", 0, CTL_FLAG, 0, OPT(ignore_eos),
	  .help = "continue after tokens that end a text" },
	{ "lookup", 0, CTL_UINT, 0, OPT(lookup), 0, 64, .arg = "TOKENS",
	  .help = "maximum number of draft tokens, copied from earlier text (0)" },
	{ "draft", 0, CTL_STRING, CTL_COMPLETE_FILE, OPT(draft), .arg = "FILE|FOLDER",
	  .help = "smaller model with the same tokens, which generates draft tokens" },
	{ "beams", 0, CTL_UINT, 0, OPT(beams), 1, ACCEL_SEARCH_BEAMS_MAX, .arg = "COUNT",
	  .help = "beam search with this number of beams, without sampling" },
	{ "length-penalty", 0, CTL_REAL, 0, OPT(length_penalty), .arg = "NUMBER",
	  .help = "with --beams: exponent of the length by which log probabilities are divided (1)",
	},
	{ "early-stopping", 0, CTL_CHOICE, 0, OPT(stopping), .choices = stoppings,
	  .help = "with --beams, end if a better result is improbable, at once, or if it is impossible",
	},
	{ "interactive", 'i', CTL_FLAG, 0, OPT(chat),
	  .help = "chat: answer each line of the input until it ends" },
	{ "system", 0, CTL_STRING, 0, OPT(system), .arg = "TEXT",
	  .help = "with -i: system message at the beginning of the conversation" },
	{ "chat-template", 0, CTL_STRING, CTL_COMPLETE_FILE, OPT(template), .arg = "FILE",
	  .help = "with -i: chat template, in Jinja; the default is the model's" },
	{ "logprobs", 0, CTL_FLAG, 0, OPT(logprobs),
	  .help = "with --json: print the log probabilities of the tokens" },
	{ "json-events", 0, CTL_FLAG, 0, OPT(events),
	  .help = "print JSON during generation: a line for each token, then that of --json as a line",
	},
	{ NULL }
};

const struct ctl_opt perplexity_table[] = {
	{ "limit", 0, CTL_UINT, 0, OPT(most), 2, INT32_MAX, .arg = "TOKENS",
	  .help = "use only the first tokens of the text" },
	{ NULL }
};

const struct ctl_opt tokenize_table[] = {
	{ "tokenizer", 'm', CTL_STRING, CTL_COMPLETE_FILE, OPT(tokenizer), .arg = "FILE|FOLDER",
	  .help = "tokenizer.json, vocab.txt, or a directory with one of them" },
	{ "prompt", 'p', CTL_STRING, 0, OPT(prompt), .arg = "TEXT", .help = "text" },
	{ "file", 'f', CTL_STRING, CTL_COMPLETE_FILE, OPT(file), .arg = "FILE",
	  .help = "read the text from a file; - for the standard input" },
	{ "decode", 0, CTL_STRING, 0, OPT(ids), .arg = "A,B,...",
	  .help = "convert tokens to text" },
	{ "special", 0, CTL_FLAG, 0, OPT(special),
	  .help = "recognise special tokens in the text" },
	{ "plain", 0, CTL_FLAG, 0, OPT(plain),
	  .help = "do not add the special tokens that begin and end texts" },
	{ NULL }
};

const char *const pooling_names[] = { "model", "mean", "cls", "last", "max", NULL };

const struct ctl_opt embed_table[] = {
	{ "model", 'm', CTL_STRING, CTL_COMPLETE_FILE, OPT(model), .arg = "FILE|FOLDER",
	  .help = "GGUF file, or directory with config.json and safetensors" },
	{ "tokenizer", 0, CTL_STRING, CTL_COMPLETE_FILE, OPT(tokenizer), .arg = "FILE|FOLDER",
	  .help = "tokenizer.json or vocab.txt, or a directory with it; the default is the model's",
	},
	{ "lora", 0, CTL_STRINGS, CTL_COMPLETE_DIR, OPT(loras), .arg = "FOLDER[:SCALE]",
	  .help = "LoRA adapter in PEFT's format, multiplied by SCALE (1); can be repeated" },
	{ "prompt", 'p', CTL_STRINGS, 0, OPT(texts), .arg = "TEXT",
	  .help = "text; can be repeated" },
	{ "file", 'f', CTL_STRING, CTL_COMPLETE_FILE, OPT(file), .arg = "FILE",
	  .help = "read the texts from a file, one per line; - for the standard input" },
	{ "input-ids", 0, CTL_STRING, 0, OPT(ids), .arg = "A,B,...",
	  .help = "token numbers instead of a text" },
	{ "pooling", 0, CTL_CHOICE, 0, OPT(pooling), .choices = pooling_names,
	  .help = "how hidden states are combined; model: as its files say (model)" },
	{ "normalize", 0, CTL_FLAG, 0, OPT(normalise), .help = "normalise vectors to length 1" },
	{ "similarity", 0, CTL_FLAG, 0, OPT(similarity),
	  .help = "print the cosines of all pairs of texts instead of the vectors" },
	{ "out", 'o', CTL_STRING, CTL_COMPLETE_FILE, OPT(out), .arg = "FILE",
	  .help = "write the vectors to a .npy file: fp32, a row for each text" },
	{ "context", 'c', CTL_UINT, 0, OPT(context), 1, 1 << 24, .arg = "TOKENS",
	  .help = "maximum length of a text (that of the model, at most 4096)" },
	{ "batch", 0, CTL_UINT, 0, OPT(batch), 1, 4096, .arg = "COUNT",
	  .help = "maximum number of texts in a run (32)" },
	DTYPE,
	{ "no-repack", 0, CTL_FLAG, 0, OPT(no_repack),
	  .help = "use weights as stored in the file, without faster packed copies" },
	{ "reproducible", 0, CTL_FLAG, 0, OPT(reproducible),
	  .help = "a vector does not depend on the other texts" },
	{ "threads", 0, CTL_UINT, 0, OPT(threads), 1, 4096, .arg = "COUNT",
	  .help = "in-process device: number of threads; the default is one per core" },
	{ "no-cache", 0, CTL_FLAG, 0, OPT(no_cache),
	  .help = "do not use the cache of packed weights, accel/weights in XDG_CACHE_HOME",
	},
	{ NULL }
};

static const char *const speech_dtypes[] = { "fp32", "int8", NULL };
static const char *const formats[] = { "text", "srt", "vtt", "json", NULL };

const struct ctl_opt transcribe_table[] = {
	{ "model", 'm', CTL_STRING, CTL_COMPLETE_DIR, OPT(model), .arg = "FOLDER",
	  .help = "directory of a Whisper model: config.json, safetensors and tokenizer.json" },
	{ "format", 0, CTL_CHOICE, 0, OPT(format), .choices = formats,
	  .help = "text: a line for each segment; srt, vtt: subtitles; json: a document at the end",
	},
	{ "dtype", 't', CTL_CHOICE, 0, OPT(dtype), .choices = speech_dtypes,
	  .help = "type of products; int8: weights and activations, with a scale for 32 elements (fp32)",
	},
	{ "language", 0, CTL_STRING, 0, OPT(language), .arg = "NAME",
	  .help = "spoken language, such as en; the default is to detect it" },
	{ "translate", 0, CTL_FLAG, 0, OPT(translate),
	  .help = "translate to English, if the model was trained for that" },
	{ "no-timestamps", 0, CTL_FLAG, 0, OPT(no_times),
	  .help = "one segment for each window, even if the model generates timestamps" },
	{ "beams", 0, CTL_UINT, 0, OPT(beams), 1, ACCEL_SPEECH_SEQUENCES_MAX, .arg = "COUNT",
	  .help = "number of beams at temperature 0 (1)" },
	{ "patience", 0, CTL_REAL, 0, OPT(patience), .arg = "NUMBER",
	  .help = "with --beams: end when this number times the beams have ended (1)" },
	{ "length-penalty", 0, CTL_REAL, 0, OPT(length_penalty), .arg = "NUMBER",
	  .help = "score: logprob / ((5 + tokens) / 6) ^ NUMBER; the default is the mean" },
	{ "best-of", 0, CTL_UINT, 0, OPT(best_of), 1, ACCEL_SPEECH_SEQUENCES_MAX, .arg = "COUNT",
	  .help = "number of sequences to sample above temperature 0; the best is used (1)" },
	{ "temperature", 0, CTL_REAL, 0, OPT(temperature), .arg = "NUMBER",
	  .help = "first temperature (0)" },
	{ "temperature-step", 0, CTL_REAL, 0, OPT(temperature_step), .arg = "NUMBER",
	  .help = "increment, if a text is repetitive or improbable; 0: none (0.2)" },
	{ "compression-ratio", 0, CTL_REAL, 0, OPT(compression), .arg = "NUMBER",
	  .help = "a text with a higher zlib compression ratio is repetitive (2.4)" },
	{ "logprob", 0, CTL_REAL, 0, OPT(logprob), .arg = "NUMBER",
	  .help = "a text with a lower mean log probability is improbable (-1)" },
	{ "no-speech", 0, CTL_REAL, 0, OPT(no_speech), .arg = "NUMBER",
	  .help = "a window with a higher probability of no speech is silent, if its text is improbable (0.6)",
	},
	{ "no-condition", 0, CTL_FLAG, 0, OPT(no_condition),
	  .help = "do not use the previous text as the prompt of a window" },
	{ "vad", 0, CTL_FLAG, 0, OPT(vad),
	  .help = "skip parts without speech" },
	{ "seed", 0, CTL_UINT, 0, OPT(seed), 0, UINT32_MAX, .arg = "NUMBER",
	  .help = "seed of the sampling (0)" },
	{ "threads", 0, CTL_UINT, 0, OPT(threads), 1, 4096, .arg = "COUNT",
	  .help = "in-process device: number of threads; the default is one per core" },
	{ "no-cache", 0, CTL_FLAG, 0, OPT(no_cache),
	  .help = "do not use the cache of packed weights, accel/weights in XDG_CACHE_HOME",
	},
	{ NULL }
};

void generate_init(void *data)
{
	struct text_opts *o = data;

	o->temperature = 0.8;
	o->top_k = 40;
	o->top_p = 0.95;
	o->min_p = 0.05;
	o->repeat_penalty = 1;
	o->seed = 1;
	o->length_penalty = 1;
	o->chunk = 256;
}

void perplexity_init(void *data)
{
	struct text_opts *o = data;

	o->chunk = 256;
}

void transcribe_init(void *data)
{
	const struct accel_speech_opts d = ACCEL_SPEECH_OPTS_INIT;
	struct text_opts *o = data;

	o->patience = (double)d.patience;
	o->length_penalty = NAN;
	o->temperature_step = (double)d.temperature_step;
	o->compression = (double)d.compression;
	o->logprob = (double)d.logprob;
	o->no_speech = (double)d.no_speech;
}
