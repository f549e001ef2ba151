/* routing.c - see routing.h. */
#include "routing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How often a loop is taken to turn, and what a buffer has that nobody knows the size of. */
enum { loop_turns = 8, unknown_bytes = 1 << 20 };

/* A launch, or a step by which the host looks at memory. */
typedef struct lumen_route_event {
  uint32_t launch; /* LUMEN_ABI_NONE: it is a step */
  uint32_t step;
  uint32_t first, end; /* of the events of its loop */
} event;

/* One of the two: what has been done to get to a place. */
typedef struct way {
  double cost; /* microseconds; infinite: there is none */
  lumen_place at;
  lumen_places places;
} way;

/* ---- The schedule ------------------------------------------------------- */

static bool is_event(const lumen_abi_step *step) {
  return step->kind == LUMEN_ABI_STEP_LAUNCH || step->kind == LUMEN_ABI_STEP_BIND ||
         step->kind == LUMEN_ABI_STEP_CALL;
}

/* By step: one past the last jump back to it, 0 for none. */
static void find_loops(const lumen_abi_model *abi, uint32_t *loop_end) {
  for (uint32_t s = 0; s < abi->num_steps; ++s) {
    const lumen_abi_step *step = &abi->steps[s];
    uint32_t to = step->kind == LUMEN_ABI_STEP_JUMP     ? step->a
                  : step->kind == LUMEN_ABI_STEP_BRANCH ? step->b
                                                        : s + 1;
    if (to <= s)
      loop_end[to] = s + 1;
  }
}

static bool find_events(lumen_router *router) {
  const lumen_abi_model *abi = router->abi;
  uint32_t count = abi->num_steps ? abi->num_steps : abi->num_launches;
  uint32_t *loop_end = calloc((size_t)count + 1, sizeof(*loop_end));
  router->events = calloc((size_t)count + 1, sizeof(*router->events));
  bool ok = loop_end && router->events;
  if (ok)
    find_loops(abi, loop_end);
  uint32_t first = 0, end = 0; /* first event and last step of the loop that is gone through */
  for (uint32_t s = 0; ok && s < count; ++s) {
    if (s >= end)
      first = router->num_events;
    if (s >= end || loop_end[s] > end)
      end = loop_end[s] > s ? loop_end[s] : s + 1;
    const lumen_abi_step *step = abi->num_steps ? &abi->steps[s] : NULL;
    if (step && !is_event(step))
      continue;
    bool is_launch = !step || step->kind == LUMEN_ABI_STEP_LAUNCH;
    uint32_t launch = !is_launch ? LUMEN_ABI_NONE : step ? step->a : s;
    router->events[router->num_events++] = (event){.launch = launch, .step = s, .first = first};
    router->events[first].end = router->num_events;
  }
  free(loop_end);
  return ok;
}

static bool runs_on_device(const lumen_router *router, uint32_t launch) {
  const lumen_abi_launch *info = &router->abi->launches[launch];
  return info->affinity != LUMEN_ABI_HOST && router->routing.has_code[info->kernel];
}

/* ---- Sizes -------------------------------------------------------------- */

/* The value of an expression that the plan knows. */
static bool find_value(const lumen_router *router, const plan *plan, uint32_t expr,
                       int64_t *value) {
  const lumen_abi_model *abi = router->abi;
  if (expr == LUMEN_ABI_NONE)
    return false;
  if (abi->exprs[expr].op == LUMEN_ABI_EXPR_CONSTANT) {
    *value = abi->exprs[expr].value;
    return true;
  }
  if (!plan || expr >= abi->num_entry_exprs || plan->causes[expr])
    return false;
  *value = plan->values[expr];
  return *value >= 0;
}

/* Bytes of a buffer, at addresses that have no more to do with real ones than that equal
 * ones are equal: the arena's, and those of each other storage. */
static lumen_span span_of(const lumen_router *router, const plan *plan, uint32_t index) {
  const lumen_abi_buffer *buffer = &router->abi->buffers[index];
  const lumen_abi_storage *storage = &router->abi->storages[buffer->storage];
  const uint64_t window = 1ull << 40;
  bool is_placed = plan || storage->size_expr == LUMEN_ABI_NONE;
  uint64_t base = (buffer->storage + 1) * window;
  if (storage->region == LUMEN_ABI_ARENA && is_placed)
    base = plan ? plan->offsets[buffer->storage] : storage->offset;
  int64_t more = 0, size = unknown_bytes;
  (void)find_value(router, plan, buffer->offset_expr, &more);
  if (buffer->size)
    size = (int64_t)buffer->size;
  else
    (void)find_value(router, plan, buffer->size_expr, &size);
  uint64_t begin = base + buffer->offset + (uint64_t)more;
  return (lumen_span){begin, begin + (uint64_t)size};
}

/* ---- Costs -------------------------------------------------------------- */

static const lumen_device_rates *rates_of(const lumen_router *router, lumen_place place) {
  return place == lumen_on_host ? &router->routing.host : &router->routing.device;
}

/* The bytes are needed at a place: those that are not there are copied. */
static bool need(const lumen_router *router, way *way, lumen_place place, lumen_span bytes) {
  lumen_span missing;
  while (lumen_places_missing(&way->places, place, bytes, &missing)) {
    way->cost += (double)(missing.end - missing.begin) / (router->routing.device.copy_gbytes * 1e3);
    if (!lumen_places_bring(&way->places, place, missing))
      return false;
  }
  return true;
}

static void go_to(const lumen_router *router, way *way, lumen_place place) {
  if (way->at != place && place == lumen_on_device)
    way->cost +=
        router->routing.device.run_us * lumen_overhead_share(router->routing.choice.workload);
  way->at = place;
}

/* A launch at the place that was chosen, or on the host where it has to be. */
static bool do_launch(const lumen_router *router, const plan *plan, way *way, uint32_t index,
                      lumen_place place) {
  const lumen_abi_model *abi = router->abi;
  const lumen_abi_launch *launch = &abi->launches[index];
  if (!runs_on_device(router, index))
    place = lumen_on_host;
  go_to(router, way, place);
  uint32_t end = launch->first_arg + abi->kernels[launch->kernel].num_args;
  bool ok = true;
  for (uint32_t at = launch->first_arg; at < end && ok && !router->routing.is_shared; ++at)
    if (lumen_is_read(abi, launch, at))
      ok = need(router, way, place, span_of(router, plan, abi->arg_buffers[at]));
  for (uint32_t at = launch->first_arg; at < end && ok && !router->routing.is_shared; ++at)
    if (lumen_is_written(abi, launch, at))
      ok = lumen_places_write(&way->places, place, span_of(router, plan, abi->arg_buffers[at]));
  int64_t flops = (int64_t)launch->flops, bytes = (int64_t)launch->bytes;
  bool has_flops =
      launch->flops_expr == LUMEN_ABI_NONE || find_value(router, plan, launch->flops_expr, &flops);
  bool has_bytes =
      launch->bytes_expr == LUMEN_ABI_NONE || find_value(router, plan, launch->bytes_expr, &bytes);
  way->cost += lumen_launch_time(rates_of(router, place), router->routing.choice.workload,
                                 has_flops ? (double)flops : -1, has_bytes ? (double)bytes : -1);
  return ok;
}

/* The host reads what a step reads. */
static bool do_step(const lumen_router *router, const plan *plan, way *way,
                    const lumen_abi_step *step) {
  const lumen_abi_model *abi = router->abi;
  go_to(router, way, lumen_on_host);
  if (router->routing.is_shared)
    return true;
  if (step->kind == LUMEN_ABI_STEP_BIND)
    return need(router, way, lumen_on_host, span_of(router, plan, step->b));
  const lumen_abi_call *call = &abi->calls[step->a];
  bool ok = true;
  for (uint32_t i = 0; i < call->num_inputs + call->num_outputs && ok; ++i) {
    const lumen_abi_call_arg *arg = &call->args[i];
    if (arg->buffer == LUMEN_ABI_NONE || arg->kind == LUMEN_ABI_CALL_VALUE)
      continue;
    lumen_span bytes = span_of(router, plan, arg->buffer);
    ok = i < call->num_inputs ? need(router, way, lumen_on_host, bytes)
                              : lumen_places_write(&way->places, lumen_on_host, bytes);
  }
  return ok;
}

static bool do_event(const lumen_router *router, const plan *plan, way *way, uint32_t index,
                     lumen_place place) {
  const event *event = &router->events[index];
  return event->launch != LUMEN_ABI_NONE
             ? do_launch(router, plan, way, event->launch, place)
             : do_step(router, plan, way, &router->abi->steps[event->step]);
}

/* All turns of a loop, or a single event, at a place or, if there are, at `places`, by event. */
static bool do_events(const lumen_router *router, const plan *plan, way *way, uint32_t first,
                      lumen_place place, const uint8_t *places) {
  uint32_t end = router->events[first].end;
  bool is_loop = end > first + 1, ok = true;
  /* What is copied in the first turn is there in the next ones. */
  for (int turn = 0; turn <= is_loop && ok; ++turn) {
    double before = way->cost;
    for (uint32_t e = first; e < end && ok; ++e)
      ok = do_event(router, plan, way, e, places ? (lumen_place)places[e] : place);
    if (turn)
      way->cost = before + (way->cost - before) * (loop_turns - 1);
  }
  return ok;
}

/* ---- The way ------------------------------------------------------------ */

/* Inputs come from the host, and outputs go there. */
static bool need_storages(const lumen_router *router, const plan *plan, way *way,
                          lumen_abi_region region) {
  const lumen_abi_model *abi = router->abi;
  bool ok = true;
  for (uint32_t b = 0; b < abi->num_buffers && ok && !router->routing.is_shared; ++b) {
    if (abi->storages[abi->buffers[b].storage].region != region)
      continue;
    lumen_span bytes = span_of(router, plan, b);
    ok = region == LUMEN_ABI_INPUT ? lumen_places_write(&way->places, lumen_on_host, bytes)
                                   : need(router, way, lumen_on_host, bytes);
  }
  return ok;
}

static bool begin_way(const lumen_router *router, const plan *plan, way *way) {
  memset(way, 0, sizeof(*way));
  way->cost = router->routing.host.run_us * lumen_overhead_share(router->routing.choice.workload);
  return need_storages(router, plan, way, LUMEN_ABI_INPUT);
}

static void swap(way **a, way **b) {
  way *before = *a;
  *a = *b;
  *b = before;
}

/* What a search for a way has found out. */
typedef struct search {
  const lumen_router *router;
  const plan *plan;
  /* Two by two, for the first event of each loop and a place: the place before, and whether
   * the loop is at `mixed` places. */
  uint8_t *from;
  uint8_t *mixed; /* by event of a loop: its place, if the loop goes from place to place */
} search;

enum { from_device = 1, is_mixed = 2 };

/* The two ways so far, and two more with room for what comes next. */
typedef struct ways {
  way all[5];
  way *now[2], *next[2], *trial;
} ways;

static void close_ways(ways *ways) {
  for (int w = 0; w < 5; ++w)
    lumen_places_free(&ways->all[w].places);
}

/* Makes the best ways to do what comes next, be it an event in a loop or all of a loop. */
static bool go_on(const search *search, ways *ways, uint32_t first, bool in_loop) {
  bool is_loop = !in_loop && search->router->events[first].end > first + 1, ok = true;
  for (int to = 0; to < 2; ++to) {
    ways->next[to]->cost = INFINITY;
    for (int i = 0; i < 4 && ok; ++i) {
      int place = i % 2 ? 1 - to : to; /* among equals no change */
      bool mixes = i >= 2;
      if (ways->now[place]->cost == INFINITY || (mixes && !(is_loop && to == lumen_on_device)))
        continue;
      way *trial = ways->trial;
      trial->cost = ways->now[place]->cost;
      trial->at = ways->now[place]->at;
      ok = lumen_places_copy(&trial->places, &ways->now[place]->places) &&
           (in_loop ? do_event(search->router, search->plan, trial, first, (lumen_place)to)
                    : do_events(search->router, search->plan, trial, first, (lumen_place)to,
                                mixes ? search->mixed : NULL));
      if (trial->cost >= ways->next[to]->cost)
        continue;
      swap(&ways->trial, &ways->next[to]);
      search->from[2 * first + (uint32_t)to] = (uint8_t)(place | (mixes ? is_mixed : 0));
    }
  }
  for (int p = 0; p < 2; ++p)
    swap(&ways->now[p], &ways->next[p]);
  return ok;
}

static void open_ways(ways *ways) {
  memset(ways, 0, sizeof(*ways));
  for (int p = 0; p < 2; ++p) {
    ways->now[p] = &ways->all[p];
    ways->next[p] = &ways->all[2 + p];
  }
  ways->trial = &ways->all[4];
  ways->now[lumen_on_device]->cost = INFINITY;
}

static lumen_place best_of(const ways *ways) {
  return ways->now[lumen_on_host]->cost <= ways->now[lumen_on_device]->cost ? lumen_on_host
                                                                            : lumen_on_device;
}

/* Places for the events of a loop, as if it turned once, with all that it needs everywhere. */
static bool mix_loop(const search *search, uint32_t first) {
  ways ways;
  open_ways(&ways);
  uint32_t end = search->router->events[first].end;
  bool ok = true;
  for (uint32_t e = first; e < end && ok; ++e)
    ok = go_on(search, &ways, e, /*in_loop=*/true);
  uint8_t place = (uint8_t)best_of(&ways);
  for (uint32_t e = end; e-- > first;) {
    search->mixed[e] = place;
    place = search->from[2 * e + place] & from_device;
  }
  close_ways(&ways);
  return ok;
}

/* A good way, in search->from. `last`: where it ends. */
static bool find_way(const search *search, lumen_place *last, double *cost) {
  const lumen_router *router = search->router;
  ways ways;
  open_ways(&ways);
  bool ok = begin_way(router, search->plan, ways.now[lumen_on_host]);
  for (uint32_t e = 0; e < router->num_events && ok; e = router->events[e].end)
    ok = (router->events[e].end == e + 1 || mix_loop(search, e)) &&
         go_on(search, &ways, e, /*in_loop=*/false);
  for (int p = 0; p < 2 && ok; ++p)
    if (ways.now[p]->cost < INFINITY)
      ok = need_storages(router, search->plan, ways.now[p], LUMEN_ABI_OUTPUT);
  *last = best_of(&ways);
  *cost = ways.now[*last]->cost;
  close_ways(&ways);
  return ok;
}

/* The way that stays at one place, where a launch need not leave it. */
static bool go_straight(const lumen_router *router, const plan *plan, lumen_place place,
                        double *cost) {
  way way;
  bool ok = begin_way(router, plan, &way);
  for (uint32_t e = 0; e < router->num_events && ok; e = router->events[e].end)
    ok = do_events(router, plan, &way, e, place, /*places=*/NULL);
  if (ok)
    ok = need_storages(router, plan, &way, LUMEN_ABI_OUTPUT);
  *cost = way.cost;
  lumen_places_free(&way.places);
  return ok;
}

/* The place of each launch, from the last one backwards. */
static void mark(const search *search, lumen_place place, lumen_route *route) {
  const lumen_router *router = search->router;
  uint32_t end = router->num_events;
  while (end) {
    uint32_t first = router->events[end - 1].first;
    uint8_t from = search->from[2 * first + place];
    for (uint32_t e = first; e < end; ++e) {
      uint32_t launch = router->events[e].launch;
      if (launch == LUMEN_ABI_NONE)
        continue;
      bool is_host = (from & is_mixed ? search->mixed[e] : place) == lumen_on_host;
      route->on_host[launch] = is_host || !runs_on_device(router, launch);
      route->num_on_device += !route->on_host[launch];
    }
    place = from & from_device ? lumen_on_device : lumen_on_host;
    end = first;
  }
}

/* Decides a route whose memory is there. */
static bool decide(const lumen_router *router, const plan *plan, lumen_route *route, double *cost) {
  uint32_t count = router->num_events;
  uint8_t *memory = malloc(3 * (size_t)count + 1);
  search search = {router, plan, memory, memory + 2 * (size_t)count};
  lumen_place last = lumen_on_device;
  bool ok = memory != NULL, routes = router->routing.choice.routes;
  *cost = INFINITY;
  if (ok && routes)
    ok = find_way(&search, &last, cost);
  /* Never worse than one place alone. A device that does not share has all that it can run. */
  for (int p = routes ? lumen_on_host : lumen_on_device; p < 2 && ok; ++p) {
    double straight;
    ok = go_straight(router, plan, (lumen_place)p, &straight);
    if (!ok || straight >= *cost)
      continue;
    *cost = straight;
    last = (lumen_place)p;
    for (uint32_t i = 0; i < 2 * count; ++i)
      search.from[i] = i % 2;
  }
  /* One that no event names does not run. */
  memset(route->on_host, true, router->abi->num_launches * sizeof(bool));
  route->num_on_device = 0;
  if (ok)
    mark(&search, last, route);
  free(memory);
  return ok;
}

bool lumen_router_open(lumen_router *router, const lumen_abi_model *abi,
                       const lumen_routing *routing) {
  router->abi = abi;
  router->routing = *routing;
  return find_events(router);
}

void lumen_router_close(lumen_router *router) {
  for (uint32_t i = 0; i < max_plans; ++i)
    free(router->routes[i].on_host);
  free(router->events);
}

const lumen_route *lumen_router_follow(lumen_router *router, const plan *plan, uint32_t slot) {
  lumen_route *route = &router->routes[slot];
  if (route->plan_id == plan->id)
    return route;
  route->plan_id = 0;
  if (!route->on_host)
    route->on_host = lumen_allocate(router->abi->num_launches * sizeof(bool));
  double cost;
  if (!route->on_host || !decide(router, plan, route, &cost))
    return NULL;
  route->plan_id = plan->id;
  return route;
}

double lumen_routed_speed(const lumen_abi_model *abi, const lumen_routing *routing) {
  lumen_router router = {0};
  lumen_route route = {.on_host = lumen_allocate(abi->num_launches * sizeof(bool))};
  double cost, speed = 0;
  if (route.on_host && lumen_router_open(&router, abi, routing) &&
      decide(&router, NULL, &route, &cost))
    speed = lumen_rates_speed_in(abi, cost);
  /* A device that would have nothing to do is no better than the host alone. */
  if (!route.num_on_device)
    speed *= 0.99;
  free(route.on_host);
  lumen_router_close(&router);
  return speed;
}
