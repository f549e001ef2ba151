/* lumen_calls.h - the operations on strings, sequences and optionals that the
 * runtime brings: what a lumen_abi_call may name. Seen by lumenc and the runtime.
 *
 * Each is an archive member of its own family, linked in where a model calls it.
 *
 * Arguments: T is a TENSOR (elements in memory), V a VALUE (a runtime object), "T|V"
 * either; `?` may be left out (LUMEN_ABI_NONE), `...` any number. An output whose
 * extents only the run knows may be followed by EXTENTS.
 *
 * Attributes (`data`): fields of 8 bytes in the order given. An integer is an int64,
 * a real number a double; a string is its length and its bytes, padded with zeros to
 * 8; a list is the number of its items and the items. NULL where there are none.
 *
 * Errors name the node; wrong positions and shapes are LUMEN_ERROR_INVALID_ARGUMENT.
 */
#ifndef LUMEN_CALLS_H
#define LUMEN_CALLS_H

#include "lumen_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lumen_abi_call_frame lumen_abi_call_frame;

/* ---- Values (ops_sequence.c) --------------------------------------------- */

/* (V) -> V: a copy, for a value that two names need. MOVE does without one. */
int lumen_call_identity(lumen_abi_call_frame *);
/* (T|V...) -> V: a sequence of all. None: SequenceEmpty. */
int lumen_call_sequence_construct(lumen_abi_call_frame *);
/* (V sequence, T position: i32 or i64) -> T|V, EXTENTS? */
int lumen_call_sequence_at(lumen_abi_call_frame *);
/* (V sequence, T|V value, T? position) -> V. In place, at a cost that does not grow
 * with the sequence, where input and output are one storage. */
int lumen_call_sequence_insert(lumen_abi_call_frame *);
/* (V sequence, T? position) -> V. In place likewise. */
int lumen_call_sequence_erase(lumen_abi_call_frame *);
/* (V sequence) -> T: i64 scalar. */
int lumen_call_sequence_length(lumen_abi_call_frame *);
/* (T|V tensor, T? split: i32 or i64, scalar or vector) -> V.
 * Attributes: axis, keepdims (without split). */
int lumen_call_split_to_sequence(lumen_abi_call_frame *);
/* (V sequence) -> T|V, EXTENTS?. Attributes: axis, new_axis, list of the extents of what
 * comes of no items, which is a tensor of strings, or of a TENSOR's type; empty: an error. */
int lumen_call_concat_from_sequence(lumen_abi_call_frame *);
/* (T|V? value) -> V: an optional that holds it, or nothing. */
int lumen_call_optional(lumen_abi_call_frame *);
/* (T|V? optional) -> T: bool scalar. A value that is no optional counts as one. */
int lumen_call_optional_has_element(lumen_abi_call_frame *);
/* (T|V optional) -> T|V, EXTENTS?. */
int lumen_call_optional_get_element(lumen_abi_call_frame *);

/* ---- Strings (ops_string.c) ---------------------------------------------- */

/* () -> V. Attributes: list of extents, list of strings. */
int lumen_call_string_constant(lumen_abi_call_frame *);
/* (T indices: i64, V strings...) -> V of the indices' shape: the strings at these
 * positions of all inputs side by side. Movement of strings (Gather, Reshape,
 * Transpose, Slice, Concat, Expand, ...) is that of their positions. */
int lumen_call_string_take(lumen_abi_call_frame *);
/* (V a, V b) -> V: a and b joined, broadcast. */
int lumen_call_string_concat(lumen_abi_call_frame *);
/* (V a, V b) -> T: bool, broadcast. */
int lumen_call_string_equal(lumen_abi_call_frame *);
/* (V x) -> V pieces, EXTENTS?, T counts: i64.
 * Attributes: delimiter ("": white space), maxsplit (-1: none). */
int lumen_call_string_split(lumen_abi_call_frame *);
/* (V x: [C] or [1, C]) -> V, EXTENTS?.
 * Attributes: case change (0 none, 1 lower, 2 upper), is_case_sensitive, list of stop
 * words. Letters are those of Latin, Greek and Cyrillic alphabets. */
int lumen_call_string_normalizer(lumen_abi_call_frame *);

/* ---- Numbers as others (ops_number.c) ------------------------------------- */

/* (T x) -> T of its shape: the same bytes as elements of another type, equally wide. */
int lumen_call_bit_cast(lumen_abi_call_frame *);

/* ---- Numbers as texts (ops_number.c) -------------------------------------- */

/* (T x: i64, u64 or f64) -> V of its shape: "-3", "0.33333333", "1e+20", "NaN", "-INF". */
int lumen_call_string_format(lumen_abi_call_frame *);
/* (V x) -> T: i64, u64 or f64, the number that each text begins with, behind white space.
 * Attributes: type of numbers, a lumen_abi_dtype. A text that begins with none is an
 * error. */
int lumen_call_string_parse(lumen_abi_call_frame *);

/* ---- Random numbers (ops_random.c) ---------------------------------------- */

/* () -> T: i64 scalar, another key with every call. The context's keys follow each other
 * from a first one that is random, or that the variable LUMEN_SEED, a number, decides.
 * Attributes: an integer, of which each place in the model has another one. */
int lumen_call_random_key(lumen_abi_call_frame *);

/* ---- Patterns (ops_regex.c) ---------------------------------------------- */

/* (V x) -> T: bool. Attributes: pattern, in the syntax of RE2 without \p, \C, \Q. */
int lumen_call_regex_full_match(lumen_abi_call_frame *);

/* ---- Look-up (ops_lookup.c) ---------------------------------------------- */

/* (T|V x) -> T|V of its shape. Attributes: type of keys, type of values, both a
 * lumen_abi_dtype of string, i64, i32, i16, f32 or f64; list of keys, list of values,
 * default value. Integers are integers here and floats are real numbers, whatever
 * their width. */
int lumen_call_label_encoder(lumen_abi_call_frame *);
/* (T|V x: [C] or [N, C], i32, i64 or strings) -> T: f32.
 * Attributes: mode (0 TF, 1 IDF, 2 TFIDF), min_gram_length, max_gram_length,
 * max_skip_count, list of ngram_counts, list of ngram_indexes, list of weights (empty:
 * 1), pool (list of integers, or of strings where x is one of strings). */
int lumen_call_tfidf_vectorizer(lumen_abi_call_frame *);

#ifdef __cplusplus
}
#endif
#endif
