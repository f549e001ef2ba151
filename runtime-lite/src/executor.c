/* executor.c - the runtime's own thread pool.
 *
 * One job at a time. Each worker has a slot with a share of the job's chunks; a
 * worker takes from its own slot first (so that it meets the data it touched in
 * the last kernel) and then from the others. A slot is one word of generation
 * and count, so a claim by a worker that overslept an old job cannot succeed
 * on a new one, and nobody needs to wait for workers to notice a job's end: the
 * caller waits for chunks. That keeps the pool fast where other processes take
 * a core away.
 *
 * Why the plain fields of the job are safe to read: they are read only after a
 * claim, which synchronises with their publication, and they are written only
 * when all claimed chunks of the job before are done.
 *
 * A caller that finds the pool at work runs its chunks itself. */
#define _GNU_SOURCE
#include "internal.h"
#include "threads.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_THREADS 1024u

/* How often to look before sleeping: some 20-50 us, more than the gap between
 * two kernels of a run and about ten times what a wake-up costs. */
#define SPIN_COUNT 1000

typedef struct slot {
  _Alignas(64) atomic_uint_least64_t ticket; /* generation << 32 | chunks left */
} slot;

typedef struct pool {
  lumen_executor base;
  uint32_t num_workers;
  uint32_t num_threads; /* that were started: one fewer */
  pid_t process;
  pthread_t *threads;

  /* The job. */
  lumen_chunk_fn fn;
  void *arg;
  uint32_t chunks;

  _Alignas(64) atomic_uint generation; /* futex of idle workers */
  atomic_uint sleepers;
  atomic_bool stop;
  _Alignas(64) atomic_uint done; /* chunks; futex of the caller */
  atomic_bool caller_sleeps;
  _Alignas(64) atomic_bool busy;
  slot slots[];
} pool;

typedef struct worker_start {
  pool *pool;
  uint32_t worker;
} worker_start;

static void futex_wait(atomic_uint *word, unsigned value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(atomic_uint *word, int count) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* A slot's share of the chunks; the first slots get one more where they do not
 * divide. */
static uint32_t share(uint32_t chunks, uint32_t workers, uint32_t slot) {
  return chunks / workers + (slot < chunks % workers);
}

static uint32_t share_begin(uint32_t chunks, uint32_t workers, uint32_t slot) {
  uint32_t rest = chunks % workers;
  return slot * (chunks / workers) + (slot < rest ? slot : rest);
}

/* Takes one chunk of the slot for this generation: 0 if there is none, else the
 * number of chunks that were left, itself included. */
static uint32_t claim(slot *slot, uint32_t generation) {
  uint64_t ticket = atomic_load_explicit(&slot->ticket, memory_order_acquire);
  do {
    if ((uint32_t)(ticket >> 32) != generation || (uint32_t)ticket == 0)
      return 0;
  } while (!atomic_compare_exchange_weak_explicit(&slot->ticket, &ticket, ticket - 1,
                                                  memory_order_acq_rel, memory_order_acquire));
  return (uint32_t)ticket;
}

static void work(pool *pool, uint32_t worker, uint32_t generation) {
  uint32_t workers = pool->num_workers;
  for (uint32_t i = 0; i < workers; ++i) {
    uint32_t at = worker + i < workers ? worker + i : worker + i - workers;
    uint32_t left;
    while ((left = claim(&pool->slots[at], generation))) {
      uint32_t chunks = pool->chunks;
      uint32_t chunk = share_begin(chunks, workers, at) + share(chunks, workers, at) - left;
      pool->fn(pool->arg, chunk, worker);
      if (atomic_fetch_add(&pool->done, 1) + 1 == chunks && atomic_load(&pool->caller_sleeps))
        futex_wake(&pool->done, 1);
    }
  }
}

static void *worker_main(void *start_pointer) {
  worker_start start = *(worker_start *)start_pointer;
  pool *pool = start.pool;
  free(start_pointer);
  uint32_t seen = 0;
  while (!atomic_load(&pool->stop)) {
    uint32_t generation;
    int spins = 0;
    while ((generation = atomic_load(&pool->generation)) == seen) {
      if (++spins < SPIN_COUNT) {
        relax();
        continue;
      }
      /* In this order against parallel_for's: either it sees the sleeper, or
       * the kernel sees the new generation and does not wait. */
      atomic_fetch_add(&pool->sleepers, 1);
      futex_wait(&pool->generation, seen);
      atomic_fetch_sub(&pool->sleepers, 1);
      spins = 0;
    }
    seen = generation;
    work(pool, start.worker, generation);
  }
  return NULL;
}

static uint32_t pool_num_workers(void *self) { return ((pool *)self)->num_workers; }

static void run_alone(uint32_t chunks, lumen_chunk_fn fn, void *arg) {
  for (uint32_t chunk = 0; chunk < chunks; ++chunk)
    fn(arg, chunk, 0);
}

static void pool_parallel_for(void *self, uint32_t chunks, lumen_chunk_fn fn, void *arg) {
  pool *pool = self;
  bool idle = false;
  if (pool->num_threads == 0 || chunks <= 1 ||
      !atomic_compare_exchange_strong(&pool->busy, &idle, true)) {
    run_alone(chunks, fn, arg);
    return;
  }
  pool->fn = fn;
  pool->arg = arg;
  pool->chunks = chunks;
  atomic_store_explicit(&pool->done, 0, memory_order_relaxed);
  uint32_t generation = atomic_load_explicit(&pool->generation, memory_order_relaxed) + 1;
  for (uint32_t i = 0; i < pool->num_workers; ++i)
    atomic_store_explicit(&pool->slots[i].ticket,
                          (uint64_t)generation << 32 | share(chunks, pool->num_workers, i),
                          memory_order_release);
  atomic_store(&pool->generation, generation);
  if (atomic_load(&pool->sleepers))
    futex_wake(&pool->generation,
               (int)(chunks - 1 < pool->num_threads ? chunks - 1 : pool->num_threads));
  work(pool, 0, generation);

  int spins = 0;
  uint32_t done;
  while ((done = atomic_load(&pool->done)) != chunks) {
    if (++spins < SPIN_COUNT) {
      relax();
      continue;
    }
    atomic_store(&pool->caller_sleeps, true);
    futex_wait(&pool->done, done);
    atomic_store(&pool->caller_sleeps, false);
  }
  atomic_store(&pool->busy, false);
}

static void pool_free(void *self) {
  pool *pool = self;
  atomic_store(&pool->stop, true);
  atomic_fetch_add(&pool->generation, 1);
  futex_wake(&pool->generation, (int)MAX_THREADS);
  /* A forked child has the memory but not the threads. */
  if (pool->process == getpid())
    for (uint32_t i = 0; i < pool->num_threads; ++i)
      pthread_join(pool->threads[i], NULL);
  free(pool->threads);
  free(pool);
}

static int start_thread(pool *pool, uint32_t worker) {
  worker_start *start = malloc(sizeof(*start));
  if (!start)
    return ENOMEM;
  *start = (worker_start){pool, worker};
  int error = pthread_create(&pool->threads[worker - 1], NULL, worker_main, start);
  if (error)
    free(start);
  return error;
}

/* LUMEN_NUM_THREADS, or what the machine leaves to us. */
static int default_threads(uint32_t *num_threads, lumen_status *status) {
  const char *text = getenv("LUMEN_NUM_THREADS");
  if (!text || !*text) {
    uint32_t cpus = lumen_available_cpus();
    *num_threads = cpus < MAX_THREADS ? cpus : MAX_THREADS;
    return LUMEN_OK;
  }
  char *end;
  long value = strtol(text, &end, 10);
  if (*end || value < 1 || value > (long)MAX_THREADS)
    return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                      "LUMEN_NUM_THREADS is '%s', expected a number from 1 to %u", text,
                      MAX_THREADS);
  *num_threads = (uint32_t)value;
  return LUMEN_OK;
}

int lumen_check_executor(const lumen_executor *executor, lumen_status *status) {
  if (!executor->num_workers || !executor->parallel_for)
    return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                      "the executor lacks num_workers or parallel_for");
  if (executor->num_workers(executor->self) == 0)
    return lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT,
                      "the executor has 0 workers, expected at least 1");
  return LUMEN_OK;
}

lumen_executor *lumen_executor_create_impl(uint32_t num_threads, lumen_status *status) {
  if (num_threads == 0 && default_threads(&num_threads, status))
    return NULL;
  if (num_threads > MAX_THREADS) {
    lumen_fail(status, LUMEN_ERROR_INVALID_ARGUMENT, "%u threads wanted, expected at most %u",
               num_threads, MAX_THREADS);
    return NULL;
  }
  pool *pool = lumen_allocate(sizeof(*pool) + num_threads * sizeof(slot));
  pthread_t *threads = calloc(num_threads, sizeof(pthread_t));
  if (!pool || !threads) {
    free(pool);
    free(threads);
    lumen_fail(status, LUMEN_ERROR_OUT_OF_MEMORY, "no memory for a pool of %u threads",
               num_threads);
    return NULL;
  }
  pool->threads = threads;
  pool->num_workers = num_threads;
  pool->process = getpid();
  pool->base.self = pool;
  pool->base.num_workers = pool_num_workers;
  pool->base.parallel_for = pool_parallel_for;
  pool->base.free = pool_free;

  /* The application's signal handlers stay on the application's threads. */
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = 0;
  for (uint32_t worker = 1; worker < num_threads && !error; ++worker)
    if (!(error = start_thread(pool, worker)))
      pool->num_threads = worker;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error) {
    lumen_fail(status, LUMEN_ERROR_DEVICE, "cannot start thread %u of %u: %s",
               pool->num_threads + 2, num_threads, strerror(error));
    pool_free(pool);
    return NULL;
  }
  return &pool->base;
}
