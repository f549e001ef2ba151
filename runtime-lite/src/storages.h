/* storages.h - where each storage of a model lies during a run, and the steps that
 * move it. Addresses are the host's; memory of a device has some too. */
#ifndef LUMEN_STORAGES_H
#define LUMEN_STORAGES_H

#include "heap.h"
#include "internal.h"

/* By storage. */
typedef struct lumen_storages {
  const lumen_abi_model *abi;
  const struct plan *plan; /* in force; NULL: none */
  char **bases;    /* NULL: not there (yet) */
  uint64_t *space; /* bytes at the base; UINT64_MAX where nobody counts */
  uint64_t *used;  /* of a HEAP storage: bytes appended since its ALLOC */
  bool *moves;     /* its base may change within a run */
  /* Those whose base each run finds anew: they move, or are inputs, outputs or in the heap. */
  uint32_t *renewed;
  uint32_t num_renewed;
  bool has_random;
  uint64_t random; /* goes on from run to run; see ops_random.c */
  lumen_heap heap;
  /* Copies bytes that a device has, in the order of its work; NULL: the host has them. */
  int (*copy)(void *self, void *to, const void *from, uint64_t size, lumen_status *status);
  void *self; /* for `copy` */
} lumen_storages;

/* For one that is zeroed. False: out of memory; closing is due all the same. */
bool lumen_storages_open(lumen_storages *storages, const lumen_abi_model *abi);
void lumen_storages_close(lumen_storages *storages);

/* Forgets what the last run had in the heap. */
void lumen_storages_reset(lumen_storages *storages);

/* The steps of lumen_abi.h. They fail where memory is out, or a copy does. */
int lumen_storage_alloc(lumen_storages *storages, uint32_t index, uint64_t size,
                        lumen_status *status);
void lumen_storage_free(lumen_storages *storages, uint32_t index);
void lumen_storage_swap(lumen_storages *storages, uint32_t a, uint32_t b);
void lumen_storage_move(lumen_storages *storages, uint32_t to, uint32_t from);
/* Bytes of the same or of several storages, that do not overlap. */
int lumen_storage_copy(const lumen_storages *storages, void *to, const void *from, uint64_t size,
                       lumen_status *status);
int lumen_storage_append(lumen_storages *storages, uint32_t to, const void *bytes, uint64_t size,
                         lumen_status *status);

#endif
