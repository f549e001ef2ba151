/* lumen_abi.h - the versioned contract between the code that lumenc generates
 * and the runtime that is linked beside it.
 *
 * lumenc fills these tables with constants; the runtime only reads them. The
 * application never sees this header: its API is lumen.h.
 *
 * Sizes and offsets are bytes unless a name says otherwise. All tables live in
 * read-only memory of the artifact and are valid while it is loaded.
 *
 * The artifact exports one function, lumen_module_<name>, that returns a
 * lumen_module (lumen.h) of two pointers: the hidden lumen_runtime_api of the
 * runtime beside it, and its lumen_abi_model.
 */
#ifndef LUMEN_ABI_H
#define LUMEN_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever the meaning or layout of anything below changes. */
#define LUMEN_ABI_VERSION 7u

/* Every buffer of the arena and every constant starts on such a boundary. */
#define LUMEN_ALIGNMENT 64u

/* ---- Element types ------------------------------------------------------ */

/* The integer values are those of ONNX TensorProto.DataType, so that a
 * diagnostic, a header and a file agree without a table between them. */
typedef enum lumen_abi_dtype {
  LUMEN_ABI_F32 = 1, LUMEN_ABI_U8 = 2, LUMEN_ABI_I8 = 3, LUMEN_ABI_U16 = 4,
  LUMEN_ABI_I16 = 5, LUMEN_ABI_I32 = 6, LUMEN_ABI_I64 = 7, LUMEN_ABI_STRING = 8,
  LUMEN_ABI_BOOL = 9, LUMEN_ABI_F16 = 10, LUMEN_ABI_F64 = 11, LUMEN_ABI_U32 = 12,
  LUMEN_ABI_U64 = 13, LUMEN_ABI_C64 = 14, LUMEN_ABI_C128 = 15, LUMEN_ABI_BF16 = 16,
  LUMEN_ABI_F8E4M3FN = 17, LUMEN_ABI_F8E4M3FNUZ = 18, LUMEN_ABI_F8E5M2 = 19,
  LUMEN_ABI_F8E5M2FNUZ = 20, LUMEN_ABI_U4 = 21, LUMEN_ABI_I4 = 22,
  LUMEN_ABI_F4E2M1 = 23, LUMEN_ABI_F8E8M0 = 24, LUMEN_ABI_U2 = 25, LUMEN_ABI_I2 = 26
} lumen_abi_dtype;

/* ---- Signature ---------------------------------------------------------- */

typedef enum lumen_abi_kind {
  LUMEN_ABI_TENSOR = 0,
  LUMEN_ABI_SEQUENCE = 1, /* of `element` values */
  LUMEN_ABI_OPTIONAL = 2
} lumen_abi_kind;

/* Stands for "none" where an index is expected. */
#define LUMEN_ABI_NONE UINT32_MAX

/* One dimension of an input or output. */
typedef struct lumen_abi_dim {
  int64_t extent;     /* >= 0: fixed. -1: dynamic. */
  int64_t bound;      /* upper bound where one is known, else -1; == extent if fixed */
  const char *symbol; /* "batch", "3*seq + 1"; NULL where the file gives no name */
  /* Of a dynamic one. Input: the entry symbol that it binds, or must equal where
   * an earlier dimension bound it; LUMEN_ABI_NONE where nothing depends on it.
   * Output: the expression that it is, read after the last step; LUMEN_ABI_NONE
   * only in values that bring their extents, such as strings. */
  uint32_t expr;
  /* Input: an entry expression that it must equal ("past + seq", over symbols that
   * other dimensions bind), or LUMEN_ABI_NONE. Output: an expression over entry
   * symbols that is never smaller, LUMEN_ABI_NONE where there is none. The expression
   * itself where it has entry symbols only. */
  uint32_t bound_expr;
} lumen_abi_dim;

typedef struct lumen_abi_value {
  const char *name;
  uint32_t kind;    /* lumen_abi_kind */
  uint32_t dtype;   /* lumen_abi_dtype of the tensor, or of the tensors inside */
  int32_t rank;     /* -1: any */
  uint32_t optional; /* 1: the caller may leave this input out */
  const lumen_abi_dim *dims; /* `rank` entries */
} lumen_abi_value;

/* ---- Memory ------------------------------------------------------------- */

/* Where a buffer lives. A device driver gives each region a base address of
 * its own, so one plan serves every device. */
typedef enum lumen_abi_region {
  LUMEN_ABI_ARENA = 0,   /* scratch of one run, owned by the context */
  LUMEN_ABI_WEIGHTS = 1, /* constants, shared by all contexts */
  LUMEN_ABI_INPUT = 2,   /* `index` is the input's position */
  LUMEN_ABI_OUTPUT = 3,  /* `index` is the output's position */
  LUMEN_ABI_INIT = 4,    /* made once per model and device by an init kernel */
  LUMEN_ABI_HEAP = 5     /* values whose size only the run knows, of the context's heap */
} lumen_abi_region;

/* Memory with one base address. A static plan has one storage for the whole
 * arena; a symbolic one has a storage per slot, placed for each shape anew. */
typedef struct lumen_abi_storage {
  uint32_t region; /* lumen_abi_region */
  uint32_t index;  /* which input, output or init; else 0 */
  uint64_t offset; /* from the region's base; unused where the runtime packs */
  uint64_t size;   /* bytes; unused with size_expr */
  /* LUMEN_ABI_NONE, or the bytes. An arena storage with an expression is packed by
   * the runtime when a shape is planned: no two that are live at a time overlap. Where
   * there are steps, one whose size is negative or undefined takes no bytes, and an
   * error is due only at a step that has it as an argument. */
  uint32_t size_expr;
  uint32_t first, last; /* live in steps (or launches) first..last, both included */
  uint32_t reserved;
} lumen_abi_storage;

/* What a launch gets as an argument: bytes of a storage. */
typedef struct lumen_abi_buffer {
  uint32_t storage;
  uint32_t offset_expr; /* LUMEN_ABI_NONE, or bytes to add to `offset` */
  uint64_t offset;      /* bytes, from the storage's base */
  uint64_t size;        /* bytes; 0 where only the run knows */
  uint32_t size_expr;   /* LUMEN_ABI_NONE, or the bytes where `size` is 0: an expression that
                         * may be undefined; then up to the end of the storage */
  uint32_t has_gaps;    /* 1: what writes it leaves out bytes that other buffers have */
} lumen_abi_buffer;

/* ---- Sizes -------------------------------------------------------------- */

/* A symbol is a 64-bit size that only the run knows. Entry symbols, the first
 * ones, come from the inputs' extents; others get values by steps. */

typedef enum lumen_abi_expr_op {
  LUMEN_ABI_EXPR_CONSTANT = 0, /* value */
  LUMEN_ABI_EXPR_SYMBOL = 1,   /* symbol a */
  LUMEN_ABI_EXPR_ADD = 2,      /* of expressions a and b, here and below */
  LUMEN_ABI_EXPR_SUB = 3,
  LUMEN_ABI_EXPR_MUL = 4,
  LUMEN_ABI_EXPR_FLOORDIV = 5, /* towards minus infinity */
  LUMEN_ABI_EXPR_MIN = 6,
  LUMEN_ABI_EXPR_MAX = 7,
  LUMEN_ABI_EXPR_BROADCAST = 8 /* a == 1 ? b : a */
} lumen_abi_expr_op;

/* Operands come before their uses. The first num_entry_exprs depend on entry
 * symbols only and are evaluated when a shape is planned; the others by steps.
 * A result that leaves int64, or a division by zero, is undefined, as is all that is
 * made of it. The table may hold such a row, for a branch or an iteration that is not
 * taken: computing it is no error, using it is, and ends the run with
 * LUMEN_ERROR_INVALID_ARGUMENT. Used is what a check, an extent of an input or output or
 * a step reads: CHECK, SET, BRANCH, ALLOC, APPEND, and for LAUNCH, BIND and CALL the
 * sizes, offsets and sizes of storages of all their arguments. A model without steps uses
 * all its expressions before any work, but for those of reports. */
typedef struct lumen_abi_expr {
  uint32_t op; /* lumen_abi_expr_op */
  uint32_t a, b;
  uint32_t is_report; /* 1: reports alone read it, or size_expr of a buffer; that it is undefined
                       * is no error */
  int64_t value;
} lumen_abi_expr;

typedef enum lumen_abi_check_kind {
  LUMEN_ABI_CHECK_EQUAL = 0,     /* a == b */
  LUMEN_ABI_CHECK_BROADCAST = 1, /* a == b, or one of them is 1 */
  LUMEN_ABI_CHECK_LESS_EQUAL = 2 /* a <= b */
} lumen_abi_check_kind;

/* What a model assumes of sizes. The first num_entry_checks are made when a
 * shape is planned, before any work; the others by steps. */
typedef struct lumen_abi_check {
  uint32_t kind; /* lumen_abi_check_kind */
  uint32_t a, b; /* expressions */
  uint32_t reserved;
  const char *node; /* "Reshape 'decoder/reshape'" */
  /* A sentence in which {0} and {1} stand for the values of a and b, or what is wrong
   * otherwise. EQUAL, of a: "<what> is 4, expected 5". LESS_EQUAL, of the one that is no
   * constant: "<what> is 0, expected at least 1". BROADCAST, of both: "<what> are 4 and 5,
   * expected to be equal, or one of them 1". */
  const char *what;
} lumen_abi_check;

/* ---- Kernels ------------------------------------------------------------ */

/* A CPU kernel runs work units [begin, end) of its grid.
 *
 * args:    one pointer per buffer of the launch, outputs last.
 * sizes:   values of the launch's size_exprs (none when all shapes are static).
 * worker:  0 <= worker < number of workers of the executor; two calls that run
 *          at the same time never share a worker.
 * scratch: this worker's scratch of `scratch_size` bytes, aligned to
 *          LUMEN_ALIGNMENT, contents undefined.
 *
 * Returns a lumen_abi_fault. What a fault is about lies at the start of scratch.
 */
typedef int (*lumen_abi_cpu_kernel)(void *const *args, const int64_t *sizes,
                                    int64_t begin, int64_t end, int32_t worker,
                                    void *scratch);

/* Why a run cannot go on. */
typedef enum lumen_abi_fault {
  LUMEN_ABI_OK = 0,
  /* Two int64_t: the first index of [begin, end) that lies outside, and the dimension it
   * lies outside of. The scratch_size of a kernel that returns it is at least 16. */
  LUMEN_ABI_FAULT_INDEX = 1
} lumen_abi_fault;

typedef enum lumen_abi_target {
  LUMEN_ABI_CPU = 0, LUMEN_ABI_SPIRV = 1, LUMEN_ABI_PTX = 2,
  LUMEN_ABI_HIP = 3, LUMEN_ABI_METAL = 4
} lumen_abi_target;

/* What a device must offer to run a variant: an ISA level of the CPU, an sm of
 * a GPU, and so on. Ordered from the most to the least demanding per target. */
typedef struct lumen_abi_level {
  const char *name;  /* "x86-64-v4", "aarch64+dotprod", "sm_90a" */
  uint32_t target;   /* lumen_abi_target */
  uint32_t reserved;
  uint64_t features; /* CPU: LUMEN_ABI_X86_* or LUMEN_ABI_ARM_* bits, all needed. PTX: see
                        LUMEN_ABI_PTX_CAPABILITY. HIP: LUMEN_ABI_HIP_FIRST. Others: 0 */
} lumen_abi_level;

/* PTX: the least compute capability that the code runs on, 10 * major + minor ... */
#define LUMEN_ABI_PTX_CAPABILITY(features) ((uint32_t)(features)&0xffff)
/* ... and whether that is the only one, as for sm_90a. */
#define LUMEN_ABI_PTX_EXACT (1ull << 16)
/* It is machine code, which also needs the same major number. */
#define LUMEN_ABI_PTX_MACHINE (1ull << 17)

/* HIP: the first and the last processor that the code runs on, 0x90a for gfx90a, ... */
#define LUMEN_ABI_HIP_FIRST(features) ((uint32_t)(features)&0xffff)
#define LUMEN_ABI_HIP_LAST(features) ((uint32_t)((features) >> 16) & 0xffff)
/* ... but for those whose distance from the first one is a bit here. */
#define LUMEN_ABI_HIP_WITHOUT(features) ((uint32_t)((features) >> 32))

/* Bits of lumen_abi_level.features. */
#define LUMEN_ABI_X86_V2 (1ull << 0)     /* SSE4.2, SSSE3, POPCNT, CX16 */
#define LUMEN_ABI_X86_V3 (1ull << 1)     /* AVX2, FMA, BMI1/2, F16C, LZCNT, MOVBE */
#define LUMEN_ABI_X86_V4 (1ull << 2)     /* AVX-512 F, BW, CD, DQ, VL */
#define LUMEN_ABI_X86_VNNI (1ull << 3)   /* AVX512-VNNI */
#define LUMEN_ABI_X86_BF16 (1ull << 4)   /* AVX512-BF16 */
#define LUMEN_ABI_ARM_NEON (1ull << 16)
#define LUMEN_ABI_ARM_DOTPROD (1ull << 17)

/* How a GPU's kernel is launched: lumen_abi_variant.launch_info of every target but the
 * CPU. A driver launches any number of workgroups, at least 1; they stride over the work
 * units of the grid. What is bound, in this order:
 *
 *   the launch's buffers, inputs then outputs
 *   int32_t words: the work units; the number of workgroups; per buffer the bytes between
 *     the start of what is bound and its first element; the launch's sizes
 *   where scratch_size > 0: that many bytes per workgroup
 *   with LUMEN_ABI_GPU_FAULTS, int32_t words, zero before a run: a lumen_abi_fault, that of
 *     the first kernel that had one; one for the kernels' use; the low and the high word of
 *     the two numbers that the fault is about
 *
 * The entry point is the kernel's name. */
typedef struct lumen_abi_gpu_launch {
  uint32_t block;               /* threads of a workgroup, which has one dimension */
  uint32_t units_per_workgroup; /* work units that it does at a time */
  uint32_t shared_size;         /* bytes of workgroup memory */
  uint32_t flags;               /* LUMEN_ABI_GPU_FAULTS */
  uint64_t features;            /* LUMEN_ABI_GPU_INT8 and so on: a device must offer all */
} lumen_abi_gpu_launch;

#define LUMEN_ABI_GPU_FAULTS (1u << 0)

/* Bits of lumen_abi_gpu_launch.features. */
#define LUMEN_ABI_GPU_INT8 (1ull << 0)      /* integers of 8 bits in memory and registers */
#define LUMEN_ABI_GPU_INT16 (1ull << 1)     /* of 16 bits */
#define LUMEN_ABI_GPU_INT64 (1ull << 2)     /* of 64 bits */
#define LUMEN_ABI_GPU_FLOAT16 (1ull << 3)   /* arithmetic on halves */
#define LUMEN_ABI_GPU_FLOAT64 (1ull << 4)
#define LUMEN_ABI_GPU_SUBGROUPS (1ull << 5) /* shuffles and reductions */

/* How many words the record of a fault has. */
#define LUMEN_ABI_GPU_FAULT_WORDS 6

/* One compiled form of a kernel. */
typedef struct lumen_abi_variant {
  uint32_t level;        /* index into lumen_abi_model.levels */
  uint32_t reserved;
  const void *code;      /* CPU: a lumen_abi_cpu_kernel. Others: module bytes; text, as PTX
                            and MSL are, ends with a zero. */
  uint64_t code_size;    /* bytes of a module; 0 for the CPU */
  int64_t (*grid_fn)(const int64_t *sizes); /* NULL: `grid` holds */
  /* With lumen_abi_model.guard: writes of each argument the bytes from its address that
   * the kernel may touch. Else NULL. */
  void (*extents_fn)(const int64_t *sizes, int64_t *extents);
  int64_t grid;          /* number of work units */
  int64_t grain;         /* fewest work units worth giving to another thread */
  uint64_t scratch_size; /* per worker (CPU) or workgroup */
  const void *launch_info; /* CPU: NULL. Others: a lumen_abi_gpu_launch. */
} lumen_abi_variant;

typedef struct lumen_abi_kernel {
  const char *name;  /* unique in the model, "conv_12" */
  uint32_t num_args;
  uint32_t num_variants;
  const lumen_abi_variant *variants; /* grouped by target, most demanding level first */
} lumen_abi_kernel;

typedef enum lumen_abi_affinity {
  LUMEN_ABI_ANY = 0, /* the context's device, if it has a variant */
  LUMEN_ABI_HOST = 1 /* always the host, with copies around it on a GPU */
} lumen_abi_affinity;

/* One step of the schedule. Its arguments are buffers[arg_buffers[first_arg..]]. */
typedef struct lumen_abi_launch {
  uint32_t kernel;
  uint32_t affinity;  /* lumen_abi_affinity */
  uint32_t first_arg;
  uint32_t first_size; /* into size_exprs: the kernel's `sizes` */
  uint32_t num_sizes;
  uint32_t num_outputs; /* the last ones of the kernel's arguments are written */
  const char *nodes;  /* names of the ONNX nodes it computes, joined by " + " */
  uint64_t flops;     /* arithmetic of one launch, for reports; 0: unknown */
  uint64_t bytes;     /* bytes read and written at least once, for reports */
  uint32_t flops_expr, bytes_expr; /* LUMEN_ABI_NONE, or what holds instead */
} lumen_abi_launch;

/* ---- Schedule ----------------------------------------------------------- */

/* Where it has steps, a model's schedule is a list of them; else its launches run
 * in order. Scalars are read on the host when their writers are done. A jump may
 * go to num_steps, the end. Jumps back are counted: a run of too many ends with
 * LUMEN_ERROR_MODEL. A symbol that is not an entry's keeps its value from run to
 * run until a step sets it: nothing may read it before. */
typedef enum lumen_abi_step_kind {
  LUMEN_ABI_STEP_LAUNCH = 0, /* launch a */
  LUMEN_ABI_STEP_EVAL = 1,   /* expressions [a, a + b) anew, all of them, also those that the
                              * path taken does not use: see lumen_abi_expr */
  LUMEN_ABI_STEP_CHECK = 2,  /* check a */
  LUMEN_ABI_STEP_BIND = 3,   /* symbol a := the integer or bool in buffer b of dtype c, which
                              * must be 0 or more */
  LUMEN_ABI_STEP_SET = 4,    /* symbol a := expression b */
  LUMEN_ABI_STEP_JUMP = 5,   /* to step a */
  LUMEN_ABI_STEP_BRANCH = 6, /* to step b where expression a is 0; EVAL it before */
  LUMEN_ABI_STEP_ALLOC = 7,  /* storage a, HEAP or an OUTPUT without a bound, of its size_expr */
  LUMEN_ABI_STEP_FREE = 8,   /* HEAP storage a; freeing nothing is allowed */
  LUMEN_ABI_STEP_SWAP = 9,   /* the memory of storages a and b, both HEAP, or both ARENA of equal
                              * sizes (the same size_expr, or the same size without one): each
                              * must have room for what the other held */
  LUMEN_ABI_STEP_APPEND = 10,/* the bytes of buffer b (size: expression c) to the end of HEAP
                              * storage a, which grows; ALLOC empties it before the first */
  LUMEN_ABI_STEP_CALL = 11,  /* call a: values that are not tensors */
  LUMEN_ABI_STEP_MOVE = 12   /* storage a, HEAP or an OUTPUT without a bound, takes over the
                              * memory of HEAP storage b, which is empty then */
} lumen_abi_step_kind;

typedef struct lumen_abi_step {
  uint32_t kind; /* lumen_abi_step_kind */
  uint32_t a, b, c;
} lumen_abi_step;

/* An argument of a call. */
typedef enum lumen_abi_call_arg_kind {
  /* Elements in memory. An input's extents are the next `rank` sizes of the call; an
   * output in a HEAP storage, or an OUTPUT without a bound, is allocated by the call. */
  LUMEN_ABI_CALL_TENSOR = 0,
  /* What is no tensor of numbers: its storage, HEAP, INPUT or OUTPUT, holds a runtime
   * object. It needs no ALLOC; MOVE, SWAP and FREE go for it too. */
  LUMEN_ABI_CALL_VALUE = 1,
  /* Behind an output whose extents only the run knows: i64 memory for `rank` of them,
   * to BIND. Also behind a VALUE that is a tensor of strings. */
  LUMEN_ABI_CALL_EXTENTS = 2
} lumen_abi_call_arg_kind;

typedef struct lumen_abi_call_arg {
  uint32_t buffer; /* LUMEN_ABI_NONE: an input that is left out */
  uint32_t kind;   /* lumen_abi_call_arg_kind */
  uint32_t dtype;  /* of a tensor */
  int32_t rank;    /* of a tensor, or the number of extents; -1 for other values */
} lumen_abi_call_arg;

/* An operation on the host that the runtime brings: strings, sequences, optionals.
 * lumen_calls.h lists them. Archive members that are linked in on demand. */
struct lumen_abi_call_frame;
typedef struct lumen_abi_call {
  int (*function)(struct lumen_abi_call_frame *frame);
  const char *node; /* "StringConcat 'join'" */
  const void *data; /* attributes, see lumen_calls.h; may be NULL */
  uint64_t data_size;
  const lumen_abi_call_arg *args; /* inputs, then outputs */
  uint32_t num_inputs, num_outputs;
  uint32_t first_size, num_sizes; /* into size_exprs: extents of the TENSOR inputs in order */
} lumen_abi_call;

/* ---- Weights file ------------------------------------------------------- */

#define LUMEN_ABI_WEIGHTS_MAGIC "LUMENWTS"
#define LUMEN_ABI_WEIGHTS_VERSION 1u

/* How a file of weights begins; the WEIGHTS region follows, so that it keeps
 * LUMEN_ALIGNMENT. */
typedef struct lumen_abi_weights_header {
  char magic[8];
  uint32_t version;
  uint32_t reserved;
  uint64_t size; /* of the region */
  char id[32];   /* lumen_abi_model.weights_id, not terminated */
  uint64_t reserved2;
} lumen_abi_weights_header;

/* ---- The model ---------------------------------------------------------- */

/* Bits of lumen_abi_model.flags. */
#define LUMEN_ABI_ROUTE (1u << 0) /* unless told otherwise, devices share launches with the host */

typedef struct lumen_abi_model {
  uint32_t abi_version; /* LUMEN_ABI_VERSION of the compiler */
  uint32_t size;        /* sizeof(lumen_abi_model) of the compiler */
  const char *name;
  const char *producer; /* "lumenc 0.1.0" */
  const char *source_hash; /* hex digest of the ONNX file */

  uint32_t num_inputs, num_outputs;
  const lumen_abi_value *inputs, *outputs;

  uint32_t num_levels, num_kernels;
  const lumen_abi_level *levels;
  const lumen_abi_kernel *kernels;

  uint32_t num_storages, num_size_exprs;
  const lumen_abi_storage *storages;
  uint32_t num_buffers, num_launches;
  const lumen_abi_buffer *buffers;
  const uint32_t *arg_buffers;
  const lumen_abi_launch *launches;  /* in order of execution where there are no steps */

  uint32_t num_inits;
  uint32_t flags;                    /* LUMEN_ABI_ROUTE */
  const lumen_abi_launch *inits;     /* run once per model and device at open */
  uint64_t init_size;                /* bytes of the INIT region */

  uint64_t arena_size;               /* of a static plan; a symbolic one is packed */

  /* Sizes that only the run knows; all zero where every shape is static. */
  uint32_t num_symbols, num_entry_symbols;
  uint32_t num_exprs, num_entry_exprs;
  uint32_t num_checks, num_entry_checks;
  uint32_t num_steps, num_calls;
  const char *const *symbol_names;   /* "batch"; for errors */
  const lumen_abi_expr *exprs;
  const lumen_abi_check *checks;
  const uint32_t *size_exprs;
  const lumen_abi_step *steps;       /* NULL: run `launches` in order */
  const lumen_abi_call *calls;

  /* Weights inside the artifact, or NULL when they are in `weights_file`, which
   * lies beside the artifact. Address of a 64-bit pointer, so that data of more
   * than 2 GiB can be reached. */
  const void *const *weights;
  const char *weights_file;
  const char *weights_id; /* 32 characters that the file's header repeats; NULL when inside */
  uint64_t weights_size;  /* of the region */

  /* What memory planning reached, for reports; of static plans. */
  uint64_t arena_lower_bound, bytes_without_sharing;

  /* NULL, or the runtime's lumen_guard_asan: kernels were compiled with --sanitize=address. */
  const struct lumen_guard *guard;
} lumen_abi_model;

#ifdef __cplusplus
}
#endif
#endif /* LUMEN_ABI_H */
