/* routing.h - which launches of a schedule a device runs, and which the host.
 *
 * The launches of a plan are gone through in order, with two states: the best way so far
 * that ends on the host, and the one that ends on the device. Each knows which bytes are
 * where (places.h), so that what a way costs is what it will copy. A way that is worse at
 * first and better later is not always found; what is found costs what it says, and no more
 * than all of it at one place. It takes time in proportion to the launches. */
#ifndef LUMEN_ROUTING_H
#define LUMEN_ROUTING_H

#include "places.h"
#include "rates.h"

/* What decides. */
typedef struct lumen_routing {
  lumen_choice choice;
  lumen_device_rates host, device;
  bool is_shared;       /* nothing is copied between them */
  const bool *has_code; /* by kernel: the device can run it */
} lumen_routing;

/* Of one plan. */
typedef struct lumen_route {
  uint64_t plan_id; /* 0: none */
  bool *on_host;    /* by launch */
  uint32_t num_on_device;
} lumen_route;

/* Of a context. */
typedef struct lumen_router {
  const lumen_abi_model *abi;
  lumen_routing routing;
  struct lumen_route_event *events;
  uint32_t num_events;
  lumen_route routes[max_plans];
} lumen_router;

/* For one that is zeroed. False: out of memory; closing is due all the same. */
bool lumen_router_open(lumen_router *router, const lumen_abi_model *abi,
                       const lumen_routing *routing);
void lumen_router_close(lumen_router *router);
/* The route of a plan, in a slot of its planner; NULL: out of memory. */
const lumen_route *lumen_router_follow(lumen_router *router, const plan *plan, uint32_t slot);

/* As lumen_rates_speed, of a device and the host together; what only a plan knows is
 * guessed. 0: out of memory. */
double lumen_routed_speed(const lumen_abi_model *abi, const lumen_routing *routing);

#endif
