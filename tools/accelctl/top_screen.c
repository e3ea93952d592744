// SPDX-License-Identifier: MIT
/*
 * top on a terminal.
 */
#include <errno.h>
#include <locale.h>
#include <ncurses.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "accelctl.h"
#include "interrupt.h"
#include "top.h"

#define BAR	20
/* Fewer columns have no room for anything */
#define LEAST	20
/* The most lines and columns: curses has memory for every cell */
#define MOST	1000

static const char *const help_lines[] = {
	"q      quit",
	"s      sort by the next column: share, memory, pid, user, comm",
	"r      the other way round",
	"+ -    longer or shorter interval",
	"space  now",
	"h ?    this help, and back",
	NULL
};

struct screen {
	struct ctl *ctl;
	struct top_opts *opts;
	const struct sys_nodes *nodes;
	bool help;
	int row;
};

/* A line of text, cut at the edge */
static void put_line(struct screen *s, int attr, const char *text)
{
	if (s->row >= LINES)
		return;
	attron(attr);
	mvaddnstr(s->row++, 0, text, COLS);
	attroff(attr);
}

static void put_engines(struct screen *s, const struct sys_node *node, const struct top_node *now)
{
	char line[96], bar[BAR + 1];
	int per_row = COLS / 46 > 1 ? COLS / 46 : 1;
	unsigned int i;

	for (i = 0; i < node->engine_count && s->row < LINES; i++) {
		double percent = now->engines[i].percent;
		int full = (int)(percent / 100 * BAR + 0.5);

		full = full < 0 ? 0 : full > BAR ? BAR : full;
		memset(bar, '|', (size_t)full);
		memset(bar + full, ' ', (size_t)(BAR - full));
		bar[BAR] = 0;
		if (percent < 0)
			snprintf(line, sizeof(line), "%10.10s [%s]      -", node->engines[i].name,
				 bar);
		else
			snprintf(line, sizeof(line), "%10.10s [%s] %5.1f%%", node->engines[i].name,
				 bar, percent);
		mvaddnstr(s->row, (int)i % per_row * 46, line, COLS - (int)i % per_row * 46);
		if ((int)i % per_row == per_row - 1 || i + 1 == node->engine_count)
			s->row++;
	}
}

static void draw(struct screen *s, const struct top_sample *sample)
{
	struct ctl_grid table = { 0 };
	char line[512];
	unsigned int n, r, c;

	erase();
	s->row = 0;
	if (COLS < LEAST) {
		mvprintw(0, 0, "top needs %d columns", LEAST);
		refresh();
		return;
	}
	snprintf(line, sizeof(line), "accelctl top - %u client%s, every %.2g s, by %s%s   h: help",
		 sample->clients.count, sample->clients.count == 1 ? "" : "s", s->opts->interval,
		 top_sort_names[s->opts->sort], s->opts->reverse & 1 ? ", reversed" : "");
	put_line(s, A_BOLD, line);
	if (s->help) {
		for (n = 0; help_lines[n]; n++)
			put_line(s, A_NORMAL, help_lines[n]);
		refresh();
		return;
	}
	for (n = 0; n < s->nodes->count; n++) {
		top_node_line(&s->nodes->list[n], &sample->nodes[n], line, sizeof(line));
		put_line(s, A_NORMAL, line);
		put_engines(s, &s->nodes->list[n], &sample->nodes[n]);
	}
	s->row++;
	top_grid(s->nodes, sample, &table);
	for (r = 0; r < table.rows && s->row < LINES; r++) {
		size_t len = 0;

		for (c = 0; c < table.cols && len < sizeof(line); c++) {
			static const int widths[] = { 8, 10, 8, 8, 7, 8, 10, 7, 0 };
			const char *cell = table.cells[r * table.cols + c];
			int width = widths[c < 8 ? c : 8];

			len += (size_t)snprintf(line + len, sizeof(line) - len, "%*s ",
						table.right & 1u << c ? width : -width, cell);
		}
		put_line(s, r ? A_NORMAL : A_REVERSE, line);
	}
	ctl_grid_clear(&table);
	refresh();
}

/* Handle a key; returns false to stop */
static bool key(struct screen *s, int c, bool *take, struct top_sample *sample)
{
	switch (c) {
	case 'q':
	case 'Q':
	case 27:
		return false;
	case 'h':
	case '?':
		s->help = !s->help;
		break;
	case 's':
		s->opts->sort = (s->opts->sort + 1) % TOP_SORT_COUNT;
		top_sort(s->opts, sample);
		break;
	case 'r':
		s->opts->reverse ^= 1;
		top_sort(s->opts, sample);
		break;
	case '+':
		s->opts->interval = s->opts->interval < 43200 ? s->opts->interval * 2 : 86400;
		break;
	case '-':
		s->opts->interval = s->opts->interval > 0.2 ? s->opts->interval / 2 : 0.1;
		break;
	case ' ':
		*take = true;
		break;
	default:
		break;
	}
	return true;
}

static int watch(struct screen *s)
{
	struct top_sample now, next;
	bool take, go_on = true;
	uint64_t due;
	int ret, c;

	ret = top_take(s->opts, s->nodes, &now);
	if (ret)
		return ret;
	/* A first picture soon, with rates */
	due = now.ns + 200000000;
	while (go_on && !ctl_interrupted()) {
		uint64_t left = sys_now();

		take = left >= due;
		draw(s, &now);
		if (!take) {
			left = (due - left) / 1000000 + 1;
			timeout(left > 3600000 ? 3600000 : (int)left);
			c = getch();
			if (c != ERR)
				go_on = key(s, c, &take, &now);
		}
		if (!take || !go_on)
			continue;
		ret = top_take(s->opts, s->nodes, &next);
		if (ret)
			break;
		top_compare(s->opts, s->nodes, &now, &next);
		top_free(&now);
		now = next;
		due = now.ns + (uint64_t)(s->opts->interval * 1e9);
	}
	top_free(&now);
	return ret;
}

/* Set the variables that curses uses before it asks the terminal */
static void limit_size(const char *name, unsigned short size)
{
	const char *text = getenv(name);
	char most[16];

	if (size <= MOST && (!text || atol(text) <= MOST))
		return;
	snprintf(most, sizeof(most), "%d", MOST);
	setenv(name, most, 1);
}

int top_screen(struct ctl *ctl, struct top_opts *opts, const struct sys_nodes *nodes)
{
	struct screen s = { .ctl = ctl, .opts = opts, .nodes = nodes };
	struct winsize size = { 0 };
	SCREEN *term;
	int ret;

	setlocale(LC_CTYPE, "");
	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	limit_size("LINES", size.ws_row);
	limit_size("COLUMNS", size.ws_col);
	term = newterm(NULL, stdout, stdin);
	if (!term)
		return -ENOTTY;
	cbreak();
	noecho();
	curs_set(0);
	keypad(stdscr, TRUE);
	set_escdelay(50);
	/* curses took SIGINT to clean up; to us it is the same as q */
	ctl_catch_interrupt();
	ret = watch(&s);
	endwin();
	delscreen(term);
	if (ret)
		return ctl_fail(ctl, ctl_status(ret), ret, "/proc", "cannot be read");
	return CTL_OK;
}
