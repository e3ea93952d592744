// SPDX-License-Identifier: MIT
// node chat.js [NAME=TOKENIZER_CONFIG.JSON...] >testdata/chat.json
//
// What the reference of Jinja for node ("npm install @huggingface/jinja") makes of templates of conversations: of
// the forms that models have, and of each part of the language.
'use strict';

const fs = require('fs');
const { Template } = require('@huggingface/jinja');

const chatml = "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}" +
	"{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";
const templates = {
	chatml,
	mistral: "{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}" +
		"{{ raise_exception('roles must alternate') }}{% endif %}{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + " +
		"' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token}}{% endif %}{% endfor %}",
	phi3: "{% for message in messages %}{{'<|' + message['role'] + '|>' + '\n' + message['content'] + '<|end|>\n'}}{% endfor %}" +
		"{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}",
	llama3: "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + " +
		"message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}" +
		"{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}" +
		"{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}",
	gemma: "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set first = messages[0]['content'] + '\n\n' %}" +
		"{% set rest = messages[1:] %}{% else %}{% set first = '' %}{% set rest = messages %}{% endif %}" +
		"{% for m in rest %}{% set role = 'model' if m.role == 'assistant' else m.role %}<start_of_turn>{{ role }}\n" +
		"{{ (first if loop.first else '') + (m.content | trim) }}<end_of_turn>\n{% endfor %}{%- if add_generation_prompt -%}<start_of_turn>model\n{%- endif %}",
	zephyr: "{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\n' + message['content'] + eos_token }}\n" +
		"{% elif message['role'] == 'system' %}\n{{ '<|system|>\n' + message['content'] + eos_token }}\n{% else %}\n{{ message.content }}\n" +
		"{% endif %}\n{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}\n",
	tools: "{%- if tools %}\n    {{- 'Tools:\\n' }}\n    {%- for tool in tools %}\n        {{- tool | tojson }}\n        {{- '\\n' }}\n" +
		"    {%- endfor %}\n{{ tools | tojson(indent=4) }}\n{%- endif %}\n{%- for m in messages %}{{ m.role }}: {{ m.content | default('') }}\n{% endfor %}",
	namespace: "{% set ns = namespace(found=false, n=0) %}{% for m in messages %}{% if m.role == 'user' %}{% set ns.found = true %}" +
		"{% set ns.n = ns.n + 1 %}{% endif %}{% endfor %}{{ ns.n }} {{ 'yes' if ns.found else 'no' }}",
	macros: "{% macro say(who, what='nothing') %}[{{ who }}: {{ what }}]{% endmacro %}{{ say('a') }}{{ say('b', 'c') }}{{ say('d', what='e') }}",
	slices: "{{ messages[::-1] | map(attribute='role') | join(',') }} {{ messages[-1].content[:3] }} {{ messages[:2] | length }} {{ 'abcdef'[1:-1] }}",
	strings: "{{ ' a b '.strip() }}|{{ 'a,b,c'.split(',')[1] }}|{{ 'xaxbx'.replace('x', 'y') }}|{{ 'Ab'.upper() }}{{ 'Ab'.lower() }}|" +
		"{{ ('ab'.startswith('a')) | tojson }}|{{ ('ab'.endswith('a')) | tojson }}|{{ 'a b c'.title() }}|{{ 'a</think>b'.split('</think>')[-1].lstrip('\\n') }}",
	filters: "{{ [3, 1, 2] | sort | join('-') }} {{ messages | selectattr('role', 'equalto', 'user') | list | length }} " +
		"{{ messages | rejectattr('role', 'equalto', 'user') | map(attribute='content') | join('') }} {{ 'a\nb' | indent(2) }} {{ [1, 2] | length }} {{ -3 | abs }}",
	logic: "{{ 1 + 2 * 3 }} {{ 7 // 2 }} {{ 7 % 4 }} {{ (1 < 2 and not 2 < 1) | tojson }} {{ ('a' in 'cat') | tojson }} {{ (3 not in [1, 2]) | tojson }} {{ (none is none) | tojson }} {{ (x is defined) | tojson }} " +
		"{{ 'a' ~ 1 ~ 'b' }} {{ 2 if false else 3 }} {{ (messages is iterable) | tojson }} {{ ('a' is string) | tojson }} {{ ({'a': 1} is mapping) | tojson }}",
	spaces: "a\n  {% if true %}\n  b\n  {%- endif %}\n  c {#- note -#}  d\n{# line #}\ne {{- ' f ' -}} g\n",
	loops: "{% for i in range(5) %}{% if i == 3 %}{% break %}{% endif %}{% if i == 1 %}{% continue %}{% endif %}{{ i }}{{ ',' if not loop.last }}{% endfor %}" +
		"{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }};{% endfor %}{% for z in [] %}x{% else %}empty{% endfor %}{% for q in [1, 2, 3] if q > 1 %}{{ loop.index }}{{ q }}{% endfor %}",
	blocks: "{% set x %}a{{ 1 }}{% endset %}{{ x }}{% filter upper %}b{{ x }}{% endfilter %}{% macro w() %}<{{ caller() }}>{% endmacro %}{% call w() %}in{% endcall %}",
	undefined_: "{{ nothing }}|{{ messages[0].nothing }}|{{ (messages[9] is defined) | tojson }}|{{ nothing | default('d') }}",
};
for (const arg of process.argv.slice(2)) {
	const at = arg.indexOf('=');

	templates[arg.slice(0, at)] = JSON.parse(fs.readFileSync(arg.slice(at + 1), 'utf8')).chat_template;
}
const user = { role: 'user', content: 'Hello, who are you?' }, system = { role: 'system', content: ' You are "kind". ' };
const bot = { role: 'assistant', content: 'I am é 👍 \\ a\nmodel.' };
const tools = [{ type: 'function', function: { name: 'add', description: 'Adds.', parameters: { type: 'object',
	properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a'] } } }];
const talks = [
	{ messages: [user] }, { messages: [user, bot, user], add_generation_prompt: true },
	{ messages: [system, user], add_generation_prompt: true }, { messages: [system, user, bot, user], tools, add_generation_prompt: true },
	{ messages: [user, { role: 'assistant', content: '<think>\nhm\n</think>\n\nYes.' }, user] },
];

const out = [];
for (const [name, text] of Object.entries(templates)) {
	const t = new Template(text);
	const entry = { name, text, answers: [] };

	for (const talk of talks) {
		let answer = null;

		try {
			answer = t.render({ bos_token: '<s>', eos_token: '</s>', tools: null, add_generation_prompt: false, ...talk });
		} catch (e) {
			answer = null;
		}
		entry.answers.push(answer);
	}
	out.push(entry);
}
process.stdout.write(JSON.stringify({ talks, templates: out }, null, 1) + '\n');
