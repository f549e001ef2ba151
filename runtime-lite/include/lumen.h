/* lumen.h - run a model that lumenc has compiled.
 *
 *   lumen_status status;
 *   lumen_model *model;
 *   lumen_context *context;
 *   if (lumen_open("model.so", NULL, &model, &status) ||
 *       lumen_context_create(model, NULL, &context, &status))
 *     return fprintf(stderr, "%s\n", status.message), 1;
 *   int64_t shape[] = {1, 3, 224, 224};
 *   lumen_value in = lumen_tensor_value(pixels, LUMEN_F32, 4, shape), out = {0};
 *   if (lumen_run(context, &in, 1, &out, 1, &status))
 *     return fprintf(stderr, "%s\n", status.message), 1;
 *   const float *scores = (const float *)out.u.tensor.data; // valid until the next run
 *   lumen_context_free(context);
 *   lumen_model_free(model);
 *
 * The whole API is inline code over a table of functions inside the artifact:
 * there is no library to link and two artifacts never share a runtime.
 *
 * Errors: functions that can fail return LUMEN_OK (0) or a lumen_code and then
 * write code and text into `status`, which may be NULL; a success does not touch
 * it. Nothing is printed.
 * Threads: a module and a model may be used by any number of threads; a context
 * by one thread at a time. An executor may be used by all.
 * Ownership: who created a thing frees it; exceptions are noted.
 * Sizes are bytes; extents and strides are elements.
 * C11 and C++11 or newer, Linux. After fork() a child may go on using models
 * and contexts; it runs them on the calling thread alone.
 */
#ifndef LUMEN_H
#define LUMEN_H

#include <stddef.h>
#include <stdint.h>
#ifndef LUMEN_NO_DLOPEN
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when the table below changes in a way that is not an addition. */
#define LUMEN_API_VERSION 5u

/* ---- Status ------------------------------------------------------------- */

typedef enum lumen_code {
  LUMEN_OK = 0,
  /* The caller's mistake: a type, a shape, a name, or data that a node cannot take, such
   * as an index out of range. */
  LUMEN_ERROR_INVALID_ARGUMENT = 1,
  LUMEN_ERROR_NOT_FOUND = 2,   /* a file or a name that does not exist */
  LUMEN_ERROR_VERSION = 3,     /* artifact and header do not fit together */
  LUMEN_ERROR_UNSUPPORTED = 4, /* this runtime or device cannot do it */
  LUMEN_ERROR_OUT_OF_MEMORY = 5,
  LUMEN_ERROR_IO = 6,     /* a file could not be read */
  LUMEN_ERROR_DEVICE = 7, /* a device failed, or none fits */
  LUMEN_ERROR_MODEL = 8   /* the model itself gave up: a loop that does not end */
} lumen_code;

typedef struct lumen_status {
  int32_t code;      /* lumen_code */
  char message[512]; /* "input 'data': dimension 1 is 4, expected 3"; cut if longer */
} lumen_status;

/* ---- Types -------------------------------------------------------------- */

/* The values are those of ONNX TensorProto.DataType. */
typedef enum lumen_dtype {
  LUMEN_F32 = 1,
  LUMEN_U8 = 2,
  LUMEN_I8 = 3,
  LUMEN_U16 = 4,
  LUMEN_I16 = 5,
  LUMEN_I32 = 6,
  LUMEN_I64 = 7,
  LUMEN_STRING = 8,
  LUMEN_BOOL = 9,
  LUMEN_F16 = 10,
  LUMEN_F64 = 11,
  LUMEN_U32 = 12,
  LUMEN_U64 = 13,
  LUMEN_C64 = 14,
  LUMEN_C128 = 15,
  LUMEN_BF16 = 16,
  LUMEN_F8E4M3FN = 17,
  LUMEN_F8E4M3FNUZ = 18,
  LUMEN_F8E5M2 = 19,
  LUMEN_F8E5M2FNUZ = 20,
  LUMEN_U4 = 21,
  LUMEN_I4 = 22,
  LUMEN_F4E2M1 = 23,
  LUMEN_F8E8M0 = 24,
  LUMEN_U2 = 25,
  LUMEN_I2 = 26
} lumen_dtype;

/* DLDataType of DLPack. */
typedef struct lumen_dl_dtype {
  uint8_t code;   /* 0 int, 1 uint, 2 float, 4 bfloat, 5 complex, 6 bool, 10.. small floats */
  uint8_t bits;   /* of one element; elements of less than 8 bits are packed, low bits first */
  uint16_t lanes; /* 1 */
} lumen_dl_dtype;

/* DLDevice of DLPack. */
typedef struct lumen_dl_device {
  int32_t type; /* 1: CPU */
  int32_t id;
} lumen_dl_device;

/* DLTensor of DLPack, field by field: one can be cast to the other. */
typedef struct lumen_tensor {
  void *data;
  lumen_dl_device device;
  int32_t ndim;
  lumen_dl_dtype dtype;
  int64_t *shape;       /* `ndim` extents */
  int64_t *strides;     /* in elements; NULL: row-major without gaps */
  uint64_t byte_offset; /* from `data` to the first element */
} lumen_tensor;

/* An input of another kind than LUMEN_TENSOR is read during the run alone; an output
 * is always the context's, with all that it points to, until its next run. */
typedef enum lumen_kind {
  LUMEN_TENSOR = 0,
  LUMEN_SEQUENCE = 1,
  LUMEN_OPTIONAL = 2,
  LUMEN_STRINGS = 3 /* a tensor of strings */
} lumen_kind;

/* UTF-8, not terminated. */
typedef struct lumen_string {
  const char *data;
  uint64_t length;
} lumen_string;

typedef struct lumen_strings {
  lumen_string *data; /* row-major */
  int32_t ndim;
  int64_t *shape;
} lumen_strings;

struct lumen_value;

typedef struct lumen_sequence {
  struct lumen_value *items;
  uint64_t length;
} lumen_sequence;

typedef struct lumen_optional {
  struct lumen_value *value; /* NULL: nothing inside */
} lumen_optional;

/* Bits of lumen_value.flags. */
enum {
  /* An output that the context owns need not leave the device. Nobody may look at what it
   * points to, but it can be an input of the context's next run. */
  LUMEN_STAY = 1
};

/* What goes into a run and comes out of it. A zeroed value is an output that
 * the context shall own. */
typedef struct lumen_value {
  uint32_t kind;     /* lumen_kind */
  uint32_t flags;    /* of an output: LUMEN_STAY */
  uint64_t capacity; /* of an output in the caller's memory; not read for inputs */
  union {
    lumen_tensor tensor;
    lumen_strings strings;
    lumen_sequence sequence;
    lumen_optional optional;
  } u;
} lumen_value;

/* ---- What a model is ---------------------------------------------------- */

typedef struct lumen_api lumen_api;

/* What the one exported function of an artifact returns. Never freed. */
typedef struct lumen_module {
  const lumen_api *api;
  const void *model;
} lumen_module;

/* A module opened on a device: weights, chosen kernels. Immutable. */
typedef struct lumen_model {
  const lumen_api *api;
  const lumen_module *module;
  void *library; /* handle of dlopen, NULL for a linked module */
} lumen_model;

/* Memory for one run at a time. Keeps its model alive. */
typedef struct lumen_context {
  const lumen_api *api;
  lumen_model *model;
} lumen_context;

typedef struct lumen_dim {
  int64_t extent;     /* >= 0: fixed. -1: dynamic. */
  int64_t bound;      /* upper bound where one is known, else -1 */
  const char *symbol; /* shared by dimensions that must be equal, or NULL */
  uint32_t reserved[2];
} lumen_dim;

/* One input or output. Lives as long as the artifact is loaded. */
typedef struct lumen_value_info {
  const char *name;
  uint32_t kind;     /* lumen_kind; a tensor of strings has kind LUMEN_TENSOR and dtype STRING */
  uint32_t dtype;    /* lumen_dtype of the tensor, or of the tensors inside */
  int32_t rank;      /* -1: any */
  uint32_t optional; /* 1: this input may be left out (a tensor without data) */
  const lumen_dim *dims;
} lumen_value_info;

typedef struct lumen_model_info {
  const char *name, *producer, *source_hash;
  const char *device;  /* name of the device it runs on */
  const char *level;   /* most demanding kernel level in use, "" without kernels */
  uint32_t num_levels; /* kernel levels in the file, see lumen_level() */
  uint32_t num_kernels, num_launches;
  uint32_t num_workers;           /* of the model's executor */
  uint64_t arena_size;            /* per context; 0 where it depends on the inputs' shapes */
  uint64_t arena_lower_bound;     /* no plan can need less */
  uint64_t bytes_without_sharing; /* of all buffers of the arena, side by side */
  uint64_t scratch_size;          /* per worker and context */
  uint64_t weights_size;
  uint64_t init_size; /* derived from the weights at open */
} lumen_model_info;

typedef struct lumen_level_info {
  const char *name;
  const char *kind;      /* of the devices that it is for, "cpu"; "" where none is known */
  uint32_t available;    /* some device of this machine can run it */
  uint32_t num_kernels;  /* kernels of the open model that use it */
  uint32_t num_compiled; /* kernels that the file has code of this level for */
  uint32_t reserved;
  uint64_t code_size; /* bytes of that code where it is data; 0 for the CPU */
} lumen_level_info;

/* What a set of input shapes leads to. */
typedef struct lumen_shape {
  int32_t rank;
  uint32_t exact;      /* 0: dims are upper bounds; -1 where not even one is known */
  const int64_t *dims; /* the context's, until the next call with it */
} lumen_shape;

/* ---- Devices and memory ------------------------------------------------- */

typedef struct lumen_device_info {
  char kind[16]; /* "cpu" */
  char name[96]; /* "AMD EPYC 9654" */
  uint32_t index; /* among those of its kind */
  uint32_t reserved;
  uint64_t memory_total, memory_available;
  double score;     /* expected speed of this model there; 0: it cannot run there */
  char reason[128]; /* why it cannot, "" where it can */
} lumen_device_info;

/* How fast a device is, as lumen_benchmark() measures it. */
typedef struct lumen_device_rates {
  double gflops; /* 10^9 operations of f32 in a second, a multiply-add being two */
  double gbytes; /* 10^9 bytes in a second, read and written */
  double launch_us, run_us; /* of one more kernel in a run, and of a run by itself */
  uint32_t is_measured;
  uint32_t reserved;
  double copy_gbytes; /* 10^9 bytes in a second, between the host's memory and the device's */
} lumen_device_rates;

typedef struct lumen_memory_info {
  uint64_t total;     /* of the device */
  uint64_t available; /* to any process */
  uint64_t used;      /* by this model and its contexts, weights in the artifact included */
} lumen_memory_info;

/* Of one context. */
typedef struct lumen_context_memory_info {
  /* What the shapes of the last run, or of lumen_output_shapes(), need. */
  uint64_t arena_size;
  uint64_t arena_lower_bound; /* no plan for them can need less */
  uint64_t arena_capacity;    /* held, or brought by the caller: of the largest shapes so far */
  /* Values whose size only the run knows: at most so far, and held. */
  uint64_t heap_high_water, heap_capacity;
  uint64_t output_capacity; /* held for outputs that the caller does not bring */
  uint64_t scratch_size;    /* of all workers */
  uint64_t num_plans;       /* made so far: once per set of shapes while it is remembered */
} lumen_context_memory_info;

/* ---- Threads ------------------------------------------------------------ */

typedef void (*lumen_chunk_fn)(void *arg, uint32_t chunk, uint32_t worker);

/* Runs chunks in parallel. Fill one to run models on the application's own
 * threads, or let lumen_executor_create() make a pool. It may be shared by
 * models of different artifacts, and by contexts that run at the same time. */
typedef struct lumen_executor {
  void *self;
  /* Constant. At least 1. */
  uint32_t (*num_workers)(void *self);
  /* Calls fn(arg, chunk, worker) once for each chunk in [0, chunks) and returns
   * when all have returned. worker < num_workers(self), and calls that run at
   * the same time within one parallel_for have different workers. */
  void (*parallel_for)(void *self, uint32_t chunks, lumen_chunk_fn fn, void *arg);
  /* Called by lumen_executor_free(); NULL where there is nothing to do. */
  void (*free)(void *self);
} lumen_executor;

/* ---- Options: zeroed means the default ---------------------------------- */

/* Bits of lumen_model_options.flags. */
enum {
  /* Take the CPU where the device that was asked for is not there, is out of memory or is
   * lost; a run that ends so is done again. Without it such a failure is an error, unless
   * no device was asked for. */
  LUMEN_FALL_BACK = 1,
  /* Let the device share each run with the CPU, launch by launch, by what is faster where,
   * copies included; or let it run all that it has code for. With neither LUMEN_ROUTE=1 or 0
   * decides, else a device shares where nobody named it and the file was compiled for that,
   * by --target=auto. */
  LUMEN_ROUTE = 2,
  LUMEN_NO_ROUTE = 4
};

/* What runs are for, which decides what is the best: what one run takes, or how many there
 * are in a second where several contexts run at once, so that what a device does beside its
 * work, launches and waits, does not count, and its free memory does. LUMEN_GENERAL lies
 * between. */
typedef enum lumen_workload {
  LUMEN_GENERAL = 0,
  LUMEN_LATENCY = 1,
  LUMEN_THROUGHPUT = 2
} lumen_workload;

typedef struct lumen_model_options {
  /* "vulkan", "vulkan:1" (kind, and index among those of the kind), a part of the name in
   * any case, or "auto": the best score. NULL: what LUMEN_DEVICE says, else "auto". */
  const char *device;
  const char *cpu_level; /* use no higher one; NULL: LUMEN_CPU_LEVEL, else what the CPU has */
  uint32_t num_threads;  /* of the model's own pool; 0: see lumen_executor_create() */
  uint32_t flags;        /* LUMEN_FALL_BACK and so on */
  lumen_executor *executor; /* instead of an own pool; must outlive the model */
  uint32_t workload;        /* lumen_workload */
  uint32_t reserved;
  uint64_t reserved_more[3];
} lumen_model_options;

typedef struct lumen_context_options {
  void *arena; /* caller's memory, aligned to 64 bytes; must outlive the context */
  /* Of it: at least lumen_arena_size(model), or for each shape that will be run
   * lumen_arena_size_for(). */
  uint64_t arena_size;
  lumen_executor *executor; /* instead of the model's; must outlive the context */
  /* Of all loops of the model together, in one run; a run that needs more ends with
   * LUMEN_ERROR_MODEL, since a loop whose condition stays true never ends. 0: 100
   * million. */
  uint64_t max_iterations;
  uint64_t reserved_more[3];
} lumen_context_options;

/* ---- Profile ------------------------------------------------------------ */

/* One launch of the schedule, one operation on values that are no tensors, or, on a device
 * that is not the CPU, all copies one way between its memory and the host's, over all runs
 * since lumen_profile_enable(). In a loop it counts each time. */
typedef struct lumen_profile_entry {
  const char *kernel; /* name of the kernel; "call" for an operation, "copy" for copies */
  const char *nodes;  /* the ONNX nodes it computes, joined by " + " */
  const char *level;  /* of the variant that ran, the last time */
  uint64_t count, total_ns, min_ns;
  uint64_t total_flops, total_bytes; /* of all these launches; 0: not counted */
  /* How many of them the CPU ran: all where it is the model's device, else those that the
   * device has no code for or cannot take, or shares. */
  uint64_t host_count;
} lumen_profile_entry;

/* ---- The table ---------------------------------------------------------- */

/* Functions of the runtime inside an artifact. Only ever grows at its end
 * within one LUMEN_API_VERSION; `size` says how far it reaches. Call the inline
 * functions below instead. */
struct lumen_api {
  uint32_t version, size;
  const lumen_value_info *(*values)(const lumen_module *, int outputs, uint32_t *count);
  uint32_t (*devices)(const lumen_module *, lumen_device_info *devices, uint32_t capacity);
  lumen_executor *(*executor_create)(uint32_t num_threads, lumen_status *);
  int (*model_open)(const lumen_module *, const lumen_model_options *, lumen_model **,
                    lumen_status *);
  void *(*model_release)(lumen_model *);
  void (*model_info)(const lumen_model *, lumen_model_info *);
  int (*level_info)(const lumen_model *, uint32_t index, lumen_level_info *);
  lumen_executor *(*model_executor)(const lumen_model *);
  void (*memory_info)(const lumen_model *, lumen_memory_info *);
  int (*context_create)(lumen_model *, const lumen_context_options *, lumen_context **,
                        lumen_status *);
  void *(*context_release)(lumen_context *);
  int (*output_shapes)(lumen_context *, const lumen_value *inputs, uint32_t num_inputs,
                       lumen_shape *shapes, uint32_t num_outputs, lumen_status *);
  int (*run)(lumen_context *, const lumen_value *inputs, uint32_t num_inputs, lumen_value *outputs,
             uint32_t num_outputs, lumen_status *);
  int (*synchronize)(lumen_context *, lumen_status *);
  int (*profile_enable)(lumen_context *, lumen_status *);
  const lumen_profile_entry *(*profile_entries)(const lumen_context *, uint32_t *count);
  int (*arena_size_for)(lumen_model *, const lumen_value *inputs, uint32_t num_inputs,
                        uint64_t *size, lumen_status *);
  void (*context_memory)(const lumen_context *, lumen_context_memory_info *);
  int (*model_set_device)(lumen_model *, const char *device, lumen_status *);
  int (*benchmark)(const lumen_module *, const char *device, lumen_device_rates *, lumen_status *);
  int (*run_async)(lumen_context *, const lumen_value *inputs, uint32_t num_inputs,
                   lumen_value *outputs, uint32_t num_outputs, lumen_status *);
  int (*is_done)(const lumen_context *);
};

/* ---- Values ------------------------------------------------------------- */

/* The DLPack form of a type; bits is 0 for strings and unknown types. */
static inline lumen_dl_dtype lumen_dl_dtype_of(uint32_t dtype) {
  static const lumen_dl_dtype table[] = {
      {0, 0, 0},  {2, 32, 1},  {1, 8, 1},  {0, 8, 1},  {1, 16, 1}, {0, 16, 1}, {0, 32, 1},
      {0, 64, 1}, {0, 0, 0},   {6, 8, 1},  {2, 16, 1}, {2, 64, 1}, {1, 32, 1}, {1, 64, 1},
      {5, 64, 1}, {5, 128, 1}, {4, 16, 1}, {10, 8, 1}, {11, 8, 1}, {12, 8, 1}, {13, 8, 1},
      {1, 4, 1},  {0, 4, 1},   {17, 4, 1}, {14, 8, 1}, {1, 2, 1},  {0, 2, 1}};
  return table[dtype < sizeof(table) / sizeof(table[0]) ? dtype : 0];
}

/* A row-major tensor in host memory. Neither data nor shape is copied. */
static inline lumen_value lumen_tensor_value(const void *data, lumen_dtype dtype, int32_t rank,
                                             const int64_t *shape) {
  lumen_value value = {0, 0, 0, {{0, {1, 0}, 0, {0, 0, 0}, 0, 0, 0}}};
  value.u.tensor.data = (void *)data;
  value.u.tensor.ndim = rank;
  value.u.tensor.dtype = lumen_dl_dtype_of(dtype);
  value.u.tensor.shape = (int64_t *)shape;
  return value;
}

/* An output to be written into the caller's `capacity` bytes at `data`. Type and
 * shape are filled by the run; see lumen_run() for how much it must hold. */
static inline lumen_value lumen_output_buffer(void *data, uint64_t capacity) {
  lumen_value value = {0, 0, 0, {{0, {1, 0}, 0, {0, 0, 0}, 0, 0, 0}}};
  value.u.tensor.data = data;
  value.capacity = capacity;
  return value;
}

/* ---- Models ------------------------------------------------------------- */

/* Opens a module that is linked into the program (`module` is what its
 * lumen_module_<name>() returns). `options` may be NULL. */
static inline int lumen_model_open(const lumen_module *module, const lumen_model_options *options,
                                   lumen_model **model, lumen_status *status) {
  return module->api->model_open(module, options, model, status);
}

#ifndef LUMEN_NO_DLOPEN

/* A loaded artifact. Use it to read a signature or make an executor before, or
 * without, opening the model on a device. */
typedef struct lumen_library {
  const lumen_module *module;
  void *handle;
} lumen_library;

#ifndef __USE_GNU
/* Declared by <dlfcn.h> under _GNU_SOURCE only. */
extern int dlinfo(void *, int, void *);
#define LUMEN_RTLD_DI_LINKMAP 2
#else
#define LUMEN_RTLD_DI_LINKMAP RTLD_DI_LINKMAP
#endif

/* The function lumen_module_<name> of a loaded artifact, its only export, or NULL:
 * the name is in the file, so that a renamed file loads too. */
static inline void *lumen_detail_find_module(void *handle) {
  static const char prefix[] = "lumen_module_";
  struct link_map *map = NULL;
  if (dlinfo(handle, LUMEN_RTLD_DI_LINKMAP, &map) != 0 || !map)
    return NULL;
  uintptr_t strings = 0, symbols = 0, hash = 0;
  for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    /* Most loaders have relocated the pointers in place, some have not. */
    uintptr_t address = (uintptr_t)entry->d_un.d_ptr;
    if (address < (uintptr_t)map->l_addr)
      address += (uintptr_t)map->l_addr;
    if (entry->d_tag == DT_STRTAB)
      strings = address;
    else if (entry->d_tag == DT_SYMTAB)
      symbols = address;
    else if (entry->d_tag == DT_HASH)
      hash = address;
  }
  if (!strings || !symbols || !hash)
    return NULL;
  const ElfW(Sym) *symbol = (const ElfW(Sym) *)symbols;
  for (uint32_t count = ((const uint32_t *)hash)[1]; count > 0; --count, ++symbol) {
    const char *name = (const char *)(strings + symbol->st_name);
    if (symbol->st_shndx != SHN_UNDEF && strncmp(name, prefix, sizeof(prefix) - 1) == 0)
      return dlsym(handle, name);
  }
  return NULL;
}

static inline int lumen_detail_fail(lumen_status *status, int code, const char *path,
                                    const char *message) {
  if (status) {
    status->code = code;
    snprintf(status->message, sizeof(status->message), "%s: %s", path, message);
  }
  return code;
}

/* The loader maps what the headers of a file promise, and touching what a cut file
 * lacks would end the process with SIGBUS; it waits for the writer of a FIFO; and it
 * has but one code for all that fails. */
static inline int lumen_detail_check_file(const char *path, lumen_status *status) {
  struct stat info;
  if (stat(path, &info) != 0)
    return lumen_detail_fail(
        status, errno == ENOENT || errno == ENOTDIR ? LUMEN_ERROR_NOT_FOUND : LUMEN_ERROR_IO, path,
        strerror(errno));
  if (!S_ISREG(info.st_mode))
    return lumen_detail_fail(status, LUMEN_ERROR_IO, path,
                             S_ISDIR(info.st_mode)
                                 ? "is a folder, expected a file made by lumenc"
                                 : "is no regular file, expected one made by lumenc");
  FILE *file = fopen(path, "rb");
  if (!file)
    return lumen_detail_fail(status, LUMEN_ERROR_IO, path, strerror(errno));
  ElfW(Ehdr) header;
  uint64_t needed = 0;
  memset(&header, 0, sizeof(header));
  size_t length = fread(&header, 1, sizeof(header), file);
  int is_elf = memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
  if (length == sizeof(header) && is_elf && header.e_phentsize == sizeof(ElfW(Phdr)) &&
      fseek(file, (long)header.e_phoff, SEEK_SET) == 0) {
    needed = header.e_phoff + (uint64_t)header.e_phnum * sizeof(ElfW(Phdr));
    ElfW(Phdr) segment;
    for (unsigned i = 0; i < header.e_phnum && fread(&segment, sizeof(segment), 1, file) == 1; ++i)
      if (segment.p_type == PT_LOAD && segment.p_offset + segment.p_filesz > needed)
        needed = segment.p_offset + segment.p_filesz;
  }
  fclose(file);
  if (!is_elf)
    return lumen_detail_fail(status, LUMEN_ERROR_INVALID_ARGUMENT, path,
                             "is not a model made by lumenc; compile it first, as in "
                             "lumenc model.onnx -o model.so");
  if (needed <= (uint64_t)info.st_size)
    return LUMEN_OK;
  char message[100];
  snprintf(message, sizeof(message), "is cut short: has %llu bytes, expected at least %llu",
           (unsigned long long)info.st_size, (unsigned long long)needed);
  return lumen_detail_fail(status, LUMEN_ERROR_IO, path, message);
}

/* Loads an artifact. A renamed file is found too: its own name is inside. */
static inline int lumen_library_open(const char *path, lumen_library *library,
                                     lumen_status *status) {
  typedef const lumen_module *(*module_fn)(void);
  library->module = NULL;
  library->handle = NULL;
  int code = lumen_detail_check_file(path, status);
  if (code)
    return code;
  /* A bare name would be searched for in the system's library folders. */
  char buffer[4096];
  const char *name = path;
  if (!strchr(path, '/') && (size_t)snprintf(buffer, sizeof(buffer), "./%s", path) < sizeof(buffer))
    name = buffer;
  library->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library->handle) {
    const char *reason = dlerror();
    /* The loader begins with the name, and so do we. */
    size_t length = strlen(name);
    if (reason && strncmp(reason, name, length) == 0 && strncmp(reason + length, ": ", 2) == 0)
      reason += length + 2;
    return lumen_detail_fail(status, LUMEN_ERROR_IO, path, reason ? reason : "cannot be loaded");
  }
  void *address = lumen_detail_find_module(library->handle);
  const char *error = NULL;
  if (!address) {
    error = "is not a model made by lumenc";
  } else {
    module_fn function;
    memcpy(&function, &address, sizeof(function));
    library->module = function();
    if (library->module->api->version != LUMEN_API_VERSION)
      error = library->module->api->version > LUMEN_API_VERSION
                  ? "was made by a newer lumenc than this program's lumen.h; rebuild the program"
                  : "was made by an older lumenc than this program's lumen.h; compile it again";
    else if (library->module->api->size < sizeof(lumen_api))
      error = "was made by an older lumenc than this program's lumen.h; compile it again";
  }
  if (error) {
    dlclose(library->handle);
    library->handle = NULL;
    library->module = NULL;
    return lumen_detail_fail(status, address ? LUMEN_ERROR_VERSION : LUMEN_ERROR_INVALID_ARGUMENT,
                             path, error);
  }
  return LUMEN_OK;
}

/* After everything made from the library is gone. */
static inline void lumen_library_close(lumen_library *library) {
  if (library->handle)
    dlclose(library->handle);
  library->handle = NULL;
  library->module = NULL;
}

/* Loads an artifact and opens its model. `options` may be NULL. */
static inline int lumen_open(const char *path, const lumen_model_options *options,
                             lumen_model **model, lumen_status *status) {
  lumen_library library;
  *model = NULL;
  int code = lumen_library_open(path, &library, status);
  if (code)
    return code;
  code = library.module->api->model_open(library.module, options, model, status);
  if (code)
    lumen_library_close(&library);
  else
    (*model)->library = library.handle;
  return code;
}

static inline void lumen_detail_unload(void *library) {
  if (library)
    dlclose(library);
}
#else
static inline void lumen_detail_unload(void *library) { (void)library; }
#endif

/* Gives the model up; what it holds goes with its last context. */
static inline void lumen_model_free(lumen_model *model) {
  if (model)
    lumen_detail_unload(model->api->model_release(model));
}

static inline const lumen_value_info *lumen_inputs(const lumen_module *module, uint32_t *count) {
  return module->api->values(module, 0, count);
}

static inline const lumen_value_info *lumen_outputs(const lumen_module *module, uint32_t *count) {
  return module->api->values(module, 1, count);
}

static inline int32_t lumen_detail_find(const lumen_value_info *values, uint32_t count,
                                        const char *name) {
  for (uint32_t i = 0; i < count; ++i) {
    const char *a = values[i].name, *b = name;
    while (*a && *a == *b)
      ++a, ++b;
    if (*a == *b)
      return (int32_t)i;
  }
  return -1;
}

/* Position of the input or output of that name, -1 where there is none. */
static inline int32_t lumen_find_input(const lumen_module *module, const char *name) {
  uint32_t count;
  const lumen_value_info *values = lumen_inputs(module, &count);
  return lumen_detail_find(values, count, name);
}

static inline int32_t lumen_find_output(const lumen_module *module, const char *name) {
  uint32_t count;
  const lumen_value_info *values = lumen_outputs(module, &count);
  return lumen_detail_find(values, count, name);
}

static inline void lumen_model_get_info(const lumen_model *model, lumen_model_info *info) {
  model->api->model_info(model, info);
}

/* The kernel levels in the file, from the most demanding one. LUMEN_ERROR_NOT_FOUND
 * past the last. */
static inline int lumen_level(const lumen_model *model, uint32_t index, lumen_level_info *info) {
  return model->api->level_info(model, index, info);
}

/* Arena that a context needs; 0 where it depends on the inputs' shapes. */
static inline uint64_t lumen_arena_size(const lumen_model *model) {
  lumen_model_info info;
  model->api->model_info(model, &info);
  return info.arena_size;
}

/* The same for these inputs, whose data is not read. Plans anew on each call. */
static inline int lumen_arena_size_for(lumen_model *model, const lumen_value *inputs,
                                       uint32_t num_inputs, uint64_t *size, lumen_status *status) {
  return model->api->arena_size_for(model, inputs, num_inputs, size, status);
}

/* Writes up to `capacity` devices, and returns how many there are. Where the file has code for a
 * kind of which this machine has none, an entry without a name says why. */
static inline uint32_t lumen_devices(const lumen_module *module, lumen_device_info *devices,
                                     uint32_t capacity) {
  return module->api->devices(module, devices, capacity);
}

static inline void lumen_memory(const lumen_model *model, lumen_memory_info *info) {
  model->api->memory_info(model, info);
}

/* Moves an open model to another device, named as in the options (NULL too). Contexts
 * follow at their next run, which plans and allocates anew and keeps nothing that the last
 * one left; a run that goes on ends where it began. The names of devices in
 * lumen_model_info, and outputs that contexts own, are gone then. After an error the model
 * stays where it is. */
static inline int lumen_model_set_device(lumen_model *model, const char *device,
                                         lumen_status *status) {
  return model->api->model_set_device(model, device, status);
}

/* Measures a device, named as in the options, in a second or so, and keeps the result for
 * this machine: from then on it decides in place of guesses which device is the best for a
 * model. The folder is $XDG_CACHE_HOME/lumen or ~/.cache/lumen, or what LUMEN_CACHE says.
 * LUMEN_ERROR_UNSUPPORTED for an artifact with code for the CPU alone. */
static inline int lumen_benchmark(const lumen_module *module, const char *device,
                                  lumen_device_rates *rates, lumen_status *status) {
  return module->api->benchmark(module, device, rates, status);
}

/* ---- Executors ---------------------------------------------------------- */

/* A pool of `num_threads` threads, the caller of a run being one of them: no
 * thread is made for 1. 0: LUMEN_NUM_THREADS, else the CPUs that affinity mask
 * and cgroup quota leave to the process. NULL on failure. Idle threads sleep.
 * It runs code of `module`: free it before that artifact is unloaded. */
static inline lumen_executor *lumen_executor_create(const lumen_module *module,
                                                    uint32_t num_threads, lumen_status *status) {
  return module->api->executor_create(num_threads, status);
}

static inline void lumen_executor_free(lumen_executor *executor) {
  if (executor && executor->free)
    executor->free(executor->self);
}

/* The one that the model uses, for example to run another model on it too. */
static inline lumen_executor *lumen_model_executor(const lumen_model *model) {
  return model->api->model_executor(model);
}

/* ---- Contexts and runs -------------------------------------------------- */

/* Allocates all that runs need. `options` may be NULL. */
static inline int lumen_context_create(lumen_model *model, const lumen_context_options *options,
                                       lumen_context **context, lumen_status *status) {
  return model->api->context_create(model, options, context, status);
}

static inline void lumen_context_free(lumen_context *context) {
  if (context)
    lumen_detail_unload(context->api->context_release(context));
}

/* Shapes of all outputs for these inputs, whose data is not read. */
static inline int lumen_output_shapes(lumen_context *context, const lumen_value *inputs,
                                      uint32_t num_inputs, lumen_shape *shapes,
                                      uint32_t num_outputs, lumen_status *status) {
  return context->api->output_shapes(context, inputs, num_inputs, shapes, num_outputs, status);
}

/* Computes all outputs. Inputs and outputs are in the model's order and all are
 * given. Inputs are row-major and in host memory, of any alignment; u8 passes for
 * bool, as DLPack had none before version 1.
 *
 * Tensors may lie in tensors that the context's last run left, where lumen_output_shapes()
 * bounds these: state that goes from run to run. Nothing is copied; what is an input now is
 * valid until the run ends, whose result goes to other memory. Anything else that the last run
 * left must be copied first, and so must all of it where the model has been moved to another
 * device since. A run that takes over results is not done again under LUMEN_FALL_BACK.
 *
 * An output whose data is NULL, or what the last run left there, is the context's until
 * its next run; else it is written into the caller's memory of `capacity` bytes. That
 * must hold the shape that lumen_output_shapes() tells, be it exact or an upper bound
 * (NonZero, NMS: the largest case); an output with a dimension of -1 there (what a loop
 * stacks) is the context's in every run. The caller's memory of an output must not
 * overlap a tensor of the inputs, another output, or memory of the context: refused too.
 * Type, shape (the context's) and strides of the outputs are filled.
 *
 * Integers wrap around; one that is divided by 0 gives 0, and so does its remainder.
 *
 * Allocates nothing where shapes are fixed, or one of the last eight sets of shapes
 * comes again. After an error the outputs are undefined, and the context can go on. */
static inline int lumen_run(lumen_context *context, const lumen_value *inputs, uint32_t num_inputs,
                            lumen_value *outputs, uint32_t num_outputs, lumen_status *status) {
  return context->api->run(context, inputs, num_inputs, outputs, num_outputs, status);
}

static inline void lumen_context_memory(const lumen_context *context,
                                        lumen_context_memory_info *info) {
  context->api->context_memory(context, info);
}

/* Starts a run, and returns as soon as the device needs no more of the CPU for it. Values are
 * as lumen_run() says: inputs have been read when it returns, outputs are described. What
 * these point to, also the caller's memory, is written until lumen_synchronize() returns, and
 * holds the results where that succeeds; only then may anybody look at it.
 *
 * A context has one such run at a time. Its next run waits for this one and, where it failed
 * and nobody has asked for that yet, fails with its error instead of running; all else may be
 * done meanwhile, and lumen_context_free() waits.
 *
 * On the CPU the run has ended when this returns. With a device it waits for what the CPU has
 * to see or to do before the rest can follow: sizes that kernels compute, conditions of loops
 * and branches, strings and sequences, kernels that the CPU runs, and each launch where a
 * profile is enabled. A run that fails on its way, after this has returned, is not done again
 * under LUMEN_FALL_BACK, since its inputs may be gone; the model goes to the CPU all the same. */
static inline int lumen_run_async(lumen_context *context, const lumen_value *inputs,
                                  uint32_t num_inputs, lumen_value *outputs, uint32_t num_outputs,
                                  lumen_status *status) {
  return context->api->run_async(context, inputs, num_inputs, outputs, num_outputs, status);
}

/* Waits for the run that lumen_run_async() has started, and tells how it ended. LUMEN_OK where
 * there is none. */
static inline int lumen_synchronize(lumen_context *context, lumen_status *status) {
  return context->api->synchronize(context, status);
}

/* 0: lumen_synchronize() would wait. */
static inline int lumen_is_done(const lumen_context *context) {
  return context->api->is_done(context);
}

/* Starts measuring each step of the schedule, or starts again from zero. */
static inline int lumen_profile_enable(lumen_context *context, lumen_status *status) {
  return context->api->profile_enable(context, status);
}

/* In order of execution; NULL and 0 where profiling is not enabled. Valid until
 * the context is freed; not while it runs. */
static inline const lumen_profile_entry *lumen_profile_entries(const lumen_context *context,
                                                               uint32_t *count) {
  return context->api->profile_entries(context, count);
}

#ifdef __cplusplus
}
#endif
#endif /* LUMEN_H */
