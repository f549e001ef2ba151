/* packing.h - place live ranges in one arena, when a shape is planned.
 *
 * Offset calculation as in "Efficient Memory Management for Deep Neural Net
 * Inference" (Pisarchyk and Lee, 2020), like the compiler's own for static shapes:
 * ranges are taken in some order and each goes to the smallest gap, among those
 * that overlap it in time, that holds it. Several orders are tried. */
#ifndef LUMEN_PACKING_H
#define LUMEN_PACKING_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lumen_range {
  uint32_t first, last; /* steps, both included */
  uint64_t size;        /* bytes, a multiple of LUMEN_ALIGNMENT */
  uint64_t offset;      /* the result; given where `fixed` */
  uint32_t fixed;       /* 1: placed already */
  uint32_t reserved;
} lumen_range;

typedef struct lumen_packing lumen_packing;

/* Memory for packing `count` ranges, whose lives, not sizes, are those of `ranges`.
 * NULL: out of memory. */
lumen_packing *lumen_packing_create(const lumen_range *ranges, uint32_t count);
void lumen_packing_free(lumen_packing *packing);

/* Writes the offsets, allocates nothing, and gives the bytes of the arena and the
 * peak of live bytes, which no packing can beat. The sizes' sum must fit int64. */
void lumen_pack(lumen_packing *packing, lumen_range *ranges, uint64_t *size, uint64_t *lower_bound);

#ifdef __cplusplus
}
#endif
#endif
