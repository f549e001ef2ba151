/* ops_regex.c - RegexFullMatch; see lumen_calls.h.
 *
 * A pattern becomes a program of few kinds of instructions, and all its states walk
 * along the text together: the time is the text's length times the program's size,
 * whatever the pattern. Characters are those of UTF-8. */
#include "call.h"

#include <string.h>

/* ---- Programs ----------------------------------------------------------- */

typedef enum op_kind {
  op_set,    /* a character in ranges [a, b) of the program's, or out of them */
  op_split,  /* to a and to b */
  op_assert, /* a: what holds here; then on */
  op_match
} op_kind;

typedef struct instruction {
  uint32_t kind, a, b;
  uint32_t negated;
} instruction;

typedef struct range {
  uint32_t first, last;
} range;

typedef enum assertion {
  at_text_begin,
  at_text_end,
  at_line_begin,
  at_line_end,
  at_word_edge,
  inside_word
} assertion;

typedef enum node_kind {
  node_empty,
  node_set,    /* ranges [a, b) */
  node_assert, /* a */
  node_join,   /* node a, then b */
  node_either, /* node a or b */
  node_repeat  /* node a, from `least` times to `most`; most -1: any number */
} node_kind;

typedef struct node {
  uint32_t kind, a, b;
  uint32_t negated;
  int32_t least, most;
} node;

enum { max_nodes = 10000, max_ranges = 20000, max_instructions = 100000, max_depth = 200 };
enum { max_repeats = 1000 }; /* as in RE2 */

typedef struct parser {
  frame *frame;
  lumen_string pattern;
  uint64_t at;
  node *nodes;
  range *ranges;
  instruction *program;
  uint32_t num_nodes, num_ranges, num_instructions, depth;
  bool ignores_case, dot_is_all, has_lines;
  const char *error;
} parser;

static uint32_t fail(parser *parser, const char *error) {
  if (!parser->error)
    parser->error = error;
  return 0;
}

static uint32_t add_node(parser *parser, node node) {
  if (parser->num_nodes == max_nodes)
    return fail(parser, "is too long");
  parser->nodes[parser->num_nodes] = node;
  return parser->num_nodes++;
}

static void add_range(parser *parser, uint32_t first, uint32_t last) {
  if (parser->num_ranges + 2 >= max_ranges) {
    fail(parser, "is too long");
    return;
  }
  parser->ranges[parser->num_ranges++] = (range){first, last};
}

/* The range and, where case does not count, its letters of the other case. */
static void add_folded(parser *parser, uint32_t first, uint32_t last) {
  add_range(parser, first, last);
  if (!parser->ignores_case)
    return;
  for (uint32_t base = 'A'; base <= 'a'; base += 'a' - 'A') {
    uint32_t low = first > base ? first : base, high = last < base + 25 ? last : base + 25;
    if (low <= high) {
      uint32_t other = base == 'A' ? 'a' - 'A' : (uint32_t)('A' - 'a');
      add_range(parser, low + other, high + other);
    }
  }
}

/* ---- Parsing ------------------------------------------------------------ */

/* Length of the UTF-8 character there; a byte that begins none is one. */
static uint64_t decode(lumen_string text, uint64_t at, uint32_t *point) {
  uint64_t length = lumen_decode(text, at, point);
  if (length)
    return length;
  *point = 0xfffd;
  return 1;
}

static bool is_word(lumen_string text, uint64_t at) {
  if (at >= text.length)
    return false;
  unsigned char c = (unsigned char)text.data[at];
  return (c >= '0' && c <= '9') || c == '_' || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static bool at_end(const parser *parser) { return parser->at >= parser->pattern.length; }

static bool looking_at(const parser *parser, const char *text) {
  uint64_t length = strlen(text);
  return parser->at + length <= parser->pattern.length &&
         !memcmp(parser->pattern.data + parser->at, text, length);
}

static bool accept(parser *parser, const char *text) {
  bool found = looking_at(parser, text);
  if (found)
    parser->at += strlen(text);
  return found;
}

static uint32_t next_character(parser *parser) {
  uint32_t point;
  parser->at += decode(parser->pattern, parser->at, &point);
  return point;
}

static const struct {
  const char *name;
  range ranges[4];
  uint32_t count;
} classes[] = {{"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}, 3},
               {"alpha", {{'A', 'Z'}, {'a', 'z'}}, 2},
               {"ascii", {{0, 127}}, 1},
               {"blank", {{'\t', '\t'}, {' ', ' '}}, 2},
               {"cntrl", {{0, 31}, {127, 127}}, 2},
               {"digit", {{'0', '9'}}, 1},
               {"graph", {{'!', '~'}}, 1},
               {"lower", {{'a', 'z'}}, 1},
               {"print", {{' ', '~'}}, 1},
               {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}, 4},
               {"space", {{'\t', '\r'}, {' ', ' '}}, 2},
               {"upper", {{'A', 'Z'}}, 1},
               {"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}, 4},
               {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}, 3},
               {"perl space", {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}}, 3}};

/* Ranges of a class that is named, or all but them. */
static bool add_class(parser *parser, const char *name, uint64_t length, bool negated) {
  for (uint32_t i = 0; i < sizeof(classes) / sizeof(classes[0]); ++i) {
    if (strlen(classes[i].name) != length || memcmp(classes[i].name, name, length))
      continue;
    uint32_t from = 0;
    for (uint32_t r = 0; r < classes[i].count; ++r) {
      range found = classes[i].ranges[r];
      if (!negated)
        add_folded(parser, found.first, found.last);
      else if (found.first > from)
        add_range(parser, from, found.first - 1);
      from = found.last + 1;
    }
    if (negated)
      add_range(parser, from, 0x10ffff);
    return true;
  }
  return false;
}

/* \d and its like; the letter is behind the parser. */
static bool add_perl_class(parser *parser, uint32_t letter) {
  switch (letter) {
  case 'd':
  case 'D':
    return add_class(parser, "digit", 5, letter == 'D');
  case 's':
  case 'S':
    return add_class(parser, "perl space", 10, letter == 'S');
  case 'w':
  case 'W':
    return add_class(parser, "word", 4, letter == 'W');
  default:
    return false;
  }
}

static int32_t hex_digit(uint32_t c) {
  if (c >= '0' && c <= '9')
    return (int32_t)(c - '0');
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? (int32_t)(c - 'a' + 10) : -1;
}

/* A character that `letter` behind a backslash stands for. */
static uint32_t parse_escape(parser *parser, uint32_t letter) {
  static const char from[] = "afnrtv", to[] = "\a\f\n\r\t\v";
  const char *known = letter && letter < 128 ? strchr(from, (int)letter) : NULL;
  if (known)
    return (uint32_t)(unsigned char)to[known - from];
  if (letter == 'x') {
    bool is_braced = accept(parser, "{");
    uint32_t value = 0, digits = 0;
    while (!at_end(parser) && (is_braced || digits < 2)) {
      int32_t digit = hex_digit((unsigned char)parser->pattern.data[parser->at]);
      if (digit < 0 || value > 0x10ffff)
        break;
      value = value * 16 + (uint32_t)digit;
      ++digits, ++parser->at;
    }
    if ((is_braced && (!accept(parser, "}") || !digits)) || (!is_braced && digits != 2) ||
        value > 0x10ffff)
      return fail(parser, "has a wrong \\x");
    return value;
  }
  if (letter >= '0' && letter <= '7') {
    /* \1 to \9 would be what a group has matched, which RE2 does not know either. */
    if (letter != '0')
      return fail(parser, "refers back to a group, which is not supported");
    uint32_t value = 0;
    for (int i = 0; i < 2 && !at_end(parser); ++i, ++parser->at) {
      uint32_t c = (unsigned char)parser->pattern.data[parser->at];
      if (c < '0' || c > '7')
        break;
      value = value * 8 + (c - '0');
    }
    return value;
  }
  bool is_letter = letter < 128 && ((letter | 0x20) >= 'a' && (letter | 0x20) <= 'z');
  if (is_letter || letter == '8' || letter == '9')
    return fail(parser, letter == 'p' || letter == 'P' ? "has a \\p, which is not supported"
                                                       : "has a \\ before a letter without a "
                                                         "meaning here");
  return letter;
}

static uint32_t finish_set(parser *parser, uint32_t begin, bool negated) {
  return add_node(
      parser, (node){.kind = node_set, .a = begin, .b = parser->num_ranges, .negated = negated});
}

/* One end of a range in brackets. */
static uint32_t parse_set_character(parser *parser) {
  if (at_end(parser))
    return fail(parser, "has a [ without ]");
  if (!accept(parser, "\\"))
    return next_character(parser);
  if (at_end(parser))
    return fail(parser, "ends in a \\");
  return parse_escape(parser, next_character(parser));
}

/* Behind the [. */
static uint32_t parse_set(parser *parser) {
  uint32_t begin = parser->num_ranges;
  bool negated = accept(parser, "^"), first = true;
  for (; !parser->error; first = false) {
    if (at_end(parser))
      return fail(parser, "has a [ without ]");
    if (!first && accept(parser, "]"))
      break;
    if (accept(parser, "[:")) {
      bool is_other = accept(parser, "^");
      uint64_t name = parser->at;
      while (!at_end(parser) && !looking_at(parser, ":]"))
        ++parser->at;
      if (at_end(parser) ||
          !add_class(parser, parser->pattern.data + name, parser->at - name, is_other))
        return fail(parser, "has a class of an unknown name");
      parser->at += 2;
      continue;
    }
    if (looking_at(parser, "\\") && parser->at + 1 < parser->pattern.length &&
        add_perl_class(parser, (unsigned char)parser->pattern.data[parser->at + 1])) {
      parser->at += 2;
      continue;
    }
    uint32_t low = parse_set_character(parser), high = low;
    bool is_range = looking_at(parser, "-") && parser->at + 1 < parser->pattern.length &&
                    parser->pattern.data[parser->at + 1] != ']';
    if (is_range) {
      ++parser->at;
      high = parse_set_character(parser);
    }
    if (high < low)
      return fail(parser, "has a range that ends before it begins");
    add_folded(parser, low, high);
  }
  return finish_set(parser, begin, negated);
}

static uint32_t parse_either(parser *parser);

/* Behind a "(?": flags, or the head of a group. Returns false for "(?flags)". */
static bool parse_group_head(parser *parser) {
  if (accept(parser, "P<") || accept(parser, "<")) {
    uint64_t name = parser->at;
    while (is_word(parser->pattern, parser->at))
      ++parser->at;
    if (parser->at == name || !accept(parser, ">"))
      fail(parser, "has a group with a wrong name, or looks around, which is not supported");
    return true;
  }
  bool value = true;
  while (!at_end(parser) && !parser->error) {
    uint32_t flag = next_character(parser);
    if (flag == ':')
      return true;
    if (flag == ')')
      return false;
    if (flag == '-')
      value = false;
    else if (flag == 'i')
      parser->ignores_case = value;
    else if (flag == 's')
      parser->dot_is_all = value;
    else if (flag == 'm')
      parser->has_lines = value;
    else if (flag != 'U')
      fail(parser, "has a (? with an unknown flag, or looks around, which is not supported");
  }
  fail(parser, "has a ( without )");
  return true;
}

/* Behind the (. */
static uint32_t parse_group(parser *parser) {
  bool ignores_case = parser->ignores_case, dot_is_all = parser->dot_is_all,
       has_lines = parser->has_lines;
  if (accept(parser, "?") && !parse_group_head(parser))
    return add_node(parser, (node){.kind = node_empty}); /* the flags stay */
  if (++parser->depth > max_depth)
    return fail(parser, "has groups too deep");
  uint32_t inside = parser->error ? 0 : parse_either(parser);
  --parser->depth;
  if (!accept(parser, ")"))
    return fail(parser, "has a ( without )");
  parser->ignores_case = ignores_case;
  parser->dot_is_all = dot_is_all;
  parser->has_lines = has_lines;
  return inside;
}

static uint32_t add_assertion(parser *parser, assertion what) {
  return add_node(parser, (node){.kind = node_assert, .a = what});
}

static uint32_t parse_atom(parser *parser) {
  uint32_t begin = parser->num_ranges, c = next_character(parser);
  switch (c) {
  case '(':
    return parse_group(parser);
  case '[':
    return parse_set(parser);
  case '.':
    if (parser->dot_is_all) {
      add_range(parser, 0, 0x10ffff);
    } else {
      add_range(parser, 0, '\n' - 1);
      add_range(parser, '\n' + 1, 0x10ffff);
    }
    return finish_set(parser, begin, false);
  case '^':
    return add_assertion(parser, parser->has_lines ? at_line_begin : at_text_begin);
  case '$':
    return add_assertion(parser, parser->has_lines ? at_line_end : at_text_end);
  case '*':
  case '+':
  case '?':
    return fail(parser, "has nothing to repeat before a *, + or ?");
  case '\\':
    if (at_end(parser))
      return fail(parser, "ends in a \\");
    c = next_character(parser);
    if (c == 'A')
      return add_assertion(parser, at_text_begin);
    if (c == 'z')
      return add_assertion(parser, at_text_end);
    if (c == 'b')
      return add_assertion(parser, at_word_edge);
    if (c == 'B')
      return add_assertion(parser, inside_word);
    if (add_perl_class(parser, c))
      return finish_set(parser, begin, false);
    c = parse_escape(parser, c);
    break;
  default:
    break;
  }
  add_folded(parser, c, c);
  return finish_set(parser, begin, false);
}

static int32_t parse_number(parser *parser) {
  int32_t value = -1;
  while (!at_end(parser) && parser->pattern.data[parser->at] >= '0' &&
         parser->pattern.data[parser->at] <= '9' && value < 100000)
    value = (value < 0 ? 0 : value) * 10 + (parser->pattern.data[parser->at++] - '0');
  return value;
}

/* "{2,5}" where the parser is; false, and nothing taken: a brace like any character. */
static bool parse_counts(parser *parser, int32_t *least, int32_t *most) {
  uint64_t before = parser->at;
  if (!accept(parser, "{"))
    return false;
  *least = *most = parse_number(parser);
  if (*least >= 0 && accept(parser, ","))
    *most = parse_number(parser);
  if (*least >= 0 && accept(parser, "}"))
    return true;
  parser->at = before;
  return false;
}

static uint32_t parse_repeated(parser *parser) {
  uint32_t inside = parse_atom(parser);
  for (uint32_t in_a_row = 0; !parser->error; ++in_a_row) {
    int32_t least, most;
    if (accept(parser, "*"))
      least = 0, most = -1;
    else if (accept(parser, "+"))
      least = 1, most = -1;
    else if (accept(parser, "?"))
      least = 0, most = 1;
    else if (!parse_counts(parser, &least, &most))
      break;
    (void)accept(parser, "?"); /* which match is found does not matter here */
    if (in_a_row > max_depth || least > max_repeats || most > max_repeats ||
        (most >= 0 && most < least))
      return fail(parser, "has a wrong number of repetitions");
    inside =
        add_node(parser, (node){.kind = node_repeat, .a = inside, .least = least, .most = most});
  }
  return inside;
}

/* A chain: each link holds a part and leads to the next. */
static uint32_t parse_joined(parser *parser) {
  uint32_t end = add_node(parser, (node){.kind = node_empty}), all = end, last = end;
  while (!parser->error && !at_end(parser) && !looking_at(parser, "|") &&
         !looking_at(parser, ")")) {
    uint32_t part = parse_repeated(parser);
    uint32_t link = add_node(parser, (node){.kind = node_join, .a = part, .b = end});
    if (all == end)
      all = link;
    else
      parser->nodes[last].b = link;
    last = link;
  }
  return all;
}

static uint32_t parse_either(parser *parser) {
  uint32_t all = parse_joined(parser);
  while (!parser->error && accept(parser, "|")) {
    uint32_t next = parse_joined(parser);
    all = add_node(parser, (node){.kind = node_either, .a = all, .b = next});
  }
  return all;
}

/* ---- Translation -------------------------------------------------------- */

static uint32_t add(parser *parser, uint32_t kind, uint32_t a, uint32_t b, uint32_t negated) {
  if (parser->num_instructions == max_instructions)
    return fail(parser, "is too long");
  parser->program[parser->num_instructions] = (instruction){kind, a, b, negated};
  return parser->num_instructions++;
}

static void translate(parser *parser, uint32_t index);

/* Instructions for `a` as often as may be, or not at all. */
static void translate_any(parser *parser, uint32_t index) {
  uint32_t split = add(parser, op_split, parser->num_instructions + 1, 0, 0);
  translate(parser, index);
  add(parser, op_split, split, split, 0);
  parser->program[split].b = parser->num_instructions;
}

static void translate(parser *parser, uint32_t index) {
  for (; parser->nodes[index].kind == node_join && !parser->error; index = parser->nodes[index].b)
    translate(parser, parser->nodes[index].a);
  const node *node = &parser->nodes[index];
  if (parser->error)
    return;
  uint32_t split, jump, before = parser->num_instructions;
  switch ((node_kind)node->kind) {
  case node_empty:
    break;
  case node_set:
    add(parser, op_set, node->a, node->b, node->negated);
    break;
  case node_assert:
    add(parser, op_assert, node->a, 0, 0);
    break;
  case node_join: /* above */
    break;
  case node_either:
    split = add(parser, op_split, parser->num_instructions + 1, 0, 0);
    translate(parser, node->a);
    jump = add(parser, op_split, 0, 0, 0);
    parser->program[split].b = parser->num_instructions;
    translate(parser, node->b);
    parser->program[jump].a = parser->program[jump].b = parser->num_instructions;
    break;
  case node_repeat:
    for (int32_t i = 0; i < node->least && !parser->error; ++i) {
      translate(parser, node->a);
      if (parser->num_instructions == before)
        return; /* nothing, however often */
    }
    if (node->most < 0)
      translate_any(parser, node->a);
    for (int32_t i = node->least; i < node->most && !parser->error; ++i) {
      split = add(parser, op_split, parser->num_instructions + 1, 0, 0);
      translate(parser, node->a);
      parser->program[split].b = parser->num_instructions;
    }
    break;
  }
}

/* ---- Matching ----------------------------------------------------------- */

typedef struct states {
  uint32_t *list;
  uint32_t count;
} states;

typedef struct matcher {
  const parser *parser;
  uint32_t *seen; /* by instruction: the last step that has it; steps begin at 1 */
  uint32_t *pending;
  uint32_t step;
} matcher;

static bool holds(uint32_t what, lumen_string text, uint64_t at) {
  switch ((assertion)what) {
  case at_text_begin:
    return at == 0;
  case at_text_end:
    return at == text.length;
  case at_line_begin:
    return at == 0 || text.data[at - 1] == '\n';
  case at_line_end:
    return at == text.length || text.data[at] == '\n';
  default:
    return (is_word(text, at) != (at > 0 && is_word(text, at - 1))) == (what == at_word_edge);
  }
}

/* Adds all that an instruction leads to without a character. */
static void follow(matcher *matcher, states *states, uint32_t start, lumen_string text,
                   uint64_t at) {
  uint32_t num_pending = 0;
  matcher->pending[num_pending++] = start;
  while (num_pending) {
    uint32_t index = matcher->pending[--num_pending];
    if (matcher->seen[index] == matcher->step)
      continue;
    matcher->seen[index] = matcher->step;
    const instruction *instruction = &matcher->parser->program[index];
    if (instruction->kind == op_split) {
      matcher->pending[num_pending++] = instruction->b;
      matcher->pending[num_pending++] = instruction->a;
    } else if (instruction->kind != op_assert) {
      states->list[states->count++] = index;
    } else if (holds(instruction->a, text, at)) {
      matcher->pending[num_pending++] = index + 1;
    }
  }
}

static bool is_in(const parser *parser, const instruction *set, uint32_t point) {
  bool found = false;
  for (uint32_t i = set->a; i < set->b && !found; ++i)
    found = parser->ranges[i].first <= point && point <= parser->ranges[i].last;
  return found != (set->negated != 0);
}

static bool matches(matcher *matcher, states *now, states *next, lumen_string text) {
  const parser *parser = matcher->parser;
  memset(matcher->seen, 0, parser->num_instructions * sizeof(uint32_t));
  matcher->step = 1;
  now->count = 0;
  follow(matcher, now, 0, text, 0);
  for (uint64_t at = 0; at < text.length && now->count;) {
    uint32_t point;
    at += decode(text, at, &point);
    /* The counter has gone round: forget what it marked. */
    if (++matcher->step == 0) {
      memset(matcher->seen, 0, parser->num_instructions * sizeof(uint32_t));
      matcher->step = 1;
    }
    next->count = 0;
    for (uint32_t i = 0; i < now->count; ++i) {
      const instruction *instruction = &parser->program[now->list[i]];
      if (instruction->kind == op_set && is_in(parser, instruction, point))
        follow(matcher, next, now->list[i] + 1, text, at);
    }
    states swapped = *now;
    *now = *next;
    *next = swapped;
  }
  for (uint32_t i = 0; i < now->count; ++i)
    if (parser->program[now->list[i]].kind == op_match)
      return true;
  return false;
}

int lumen_call_regex_full_match(frame *frame) {
  lumen_reader attributes = lumen_attributes(frame);
  parser parser = {.frame = frame, .pattern = lumen_read_string(&attributes)};
  const lumen_strings *x = &frame->inputs[0]->u.strings;
  void *memory;
  int code = lumen_return_memory(frame, 0, x->ndim, x->shape, &memory);
  if (code)
    return code;
  parser.nodes = lumen_call_memory(frame, max_nodes * sizeof(node));
  parser.ranges = lumen_call_memory(frame, max_ranges * sizeof(range));
  parser.program = lumen_call_memory(frame, max_instructions * sizeof(instruction));
  if (!parser.nodes || !parser.ranges || !parser.program)
    return lumen_call_fail_memory(frame);
  uint32_t all = parse_either(&parser);
  if (!parser.error && !at_end(&parser))
    fail(&parser, "has a ) without (");
  if (!parser.error)
    translate(&parser, all);
  add(&parser, op_match, 0, 0, 0);
  if (parser.error)
    return lumen_call_fail(frame, LUMEN_ERROR_MODEL, "the pattern '%.*s' %s",
                           (int)(parser.pattern.length < 200 ? parser.pattern.length : 200),
                           parser.pattern.data, parser.error);

  uint64_t size = parser.num_instructions;
  uint32_t *lists = lumen_call_memory(frame, size * 5 * sizeof(uint32_t) + sizeof(uint32_t));
  if (!lists)
    return lumen_call_fail_memory(frame);
  states now = {lists, 0}, next = {lists + size, 0};
  matcher matcher = {&parser, lists + 2 * size, lists + 3 * size, 0};
  uint64_t count = lumen_count(x->ndim, x->shape);
  for (uint64_t i = 0; i < count; ++i)
    ((uint8_t *)memory)[i] = matches(&matcher, &now, &next, x->data[i]);
  lumen_call_release(frame, lists);
  lumen_call_release(frame, parser.program);
  lumen_call_release(frame, parser.ranges);
  lumen_call_release(frame, parser.nodes);
  return LUMEN_OK;
}
