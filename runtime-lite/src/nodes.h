/* nodes.h - which node of the model an error is about. For errors alone: they search. */
#ifndef LUMEN_NODES_H
#define LUMEN_NODES_H

#include "plan.h"

/* Bytes that hold any text below; a longer one is cut. */
enum { lumen_node_capacity = 200 };

/* "Reshape 'decoder/reshape': ", the first in the schedule that needs the value of an
 * expression whose cause (see plan.h) is not 0, or "output 'y': "; "" where none does. */
void lumen_node_of_cause(const lumen_abi_model *abi, const plan *plan, uint32_t cause, char *text);

/* The same for the first that has a storage, or a buffer, as an argument. */
void lumen_node_of_storage(const lumen_abi_model *abi, uint32_t storage, char *text);
void lumen_node_of_buffer(const lumen_abi_model *abi, uint32_t buffer, char *text);

/* The same for the first that one of the steps [first, last) is about; without the ": ". */
void lumen_node_of_steps(const lumen_abi_model *abi, uint32_t first, uint32_t last, char *text);

/* The storage of the arena with the most bytes, LUMEN_ABI_NONE where nobody counts. */
uint32_t lumen_largest_storage(const lumen_abi_model *abi, const plan *plan);

#endif
