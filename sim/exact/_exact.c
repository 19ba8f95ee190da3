/* The exact engine's recurrence in C: what recurrence.py, pool_state.py and period_skip.py do, step for step and with
   the same names. Their first pages say why it is exact; this one says what is different here.

   What it is given. native.py lays out the launch in tables of 64-bit integers, which are read in place and never
   written: `costs` of transfers; `groups`, each a stretch of costs that is one request (the reads of a wait group, or
   one drain); `bands`, each a stretch of groups and a chain; `order`, indices of bands; `runs`, each a stretch of
   `order` that is gone through `times` times; `spans`, the runs of each worker. The tables are trusted: native.py makes
   them, and it lets no launch in whose ticks could leave 62 bits, so that no sum of two ticks overflows. Sums of ticks
   take 128 bits, `weighted` is modulo 2**64 by definition and therefore unsigned.

   What it gives. The figures of all workers, pools and ports, then the times of transfers where they are asked for; or of
   many launches in the same tables the last finishes alone, in the same memory one after the other.

   Memory. All of it is taken before the first decision (take), but for the trace, which doubles. The bounds:
   | what | most | because |
   | requests of reads of a worker | 1 | it waits for each group |
   | requests of drains of a worker | slots | a slot is drained again only when its last drain is granted |
   | transfers in flight of a pool | credits, or cores * max(longest group, slots) | a core runs one worker at a time |
   `in_flight` is pruned before each push, so it never holds more than are in flight.

   Where the form differs from Python's:
   - Requests are in a ring for each worker and direction. find_due looks at the heads of all workers of a pool, which
     are few; `step` of a pool is the distance between its workers (all, or those of one core).
   - request() finds a pool's due again only if the new request can be the pool's next: any, under round_robin.
   - serve() gets as `limit` the due of the pool that would be next, instead of looking at all pools after each grant.
   - A state is a row of integers (state()), so that two of them compare by memcmp. It must hold exactly what
     period_skip.py lists, in an order that depends on nothing else; a queue's entries are in their own order, channels
     and credits sorted, as which channel it is decides nothing.
   - The interpreter's lock is given up for BREATH decisions at a time; between, signals are looked for. Nothing in
     go_on() touches a Python object.

   A worker's states, and what moves it on, are those of recurrence.py: gathers, held by SLOT, ORDER or END, ended.
   Whoever changes one of the two forms changes the other: tests/sim/exact holds them against each other, and both
   against the event engine and a stepper that visits each tick. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int64_t i64;
typedef uint64_t u64;
typedef __int128 i128;
typedef unsigned __int128 u128;

#define FOREVER INT64_MAX
#define UNKNOWN (-1)
#define KINDS 2
#define MOST_LOOKS 2000
#define BREATH (1 << 20) /* decisions between two looks for a signal */
enum { ISSUE, GATHER, SLOT, COMPUTE, ORDER, END, STALLS };

typedef struct Cost { i64 s, m, c; } Cost;
typedef struct Group { i64 first, count; } Group;
typedef struct Band { i64 first_group, groups, ticks, ordered, chain, descriptors; } Band;
typedef struct Run { i64 first, length, times; } Run;
typedef struct Span { i64 first, end; } Span; /* a worker's runs */

typedef struct Spec {
    i64 cores, slots, stagger, relaunch, issue, channels[KINDS], latency[KINDS], credits, per_core, in_turn, ports, skips,
        tracing;
} Spec;

typedef struct Sums { i64 transfers; i128 grants, ends; u64 weighted; } Sums;
typedef struct Request { i64 arrival, seq, granted, latest, group; } Request;
typedef struct Queue { Request *at; i64 first, size, capacity; } Queue;
typedef struct Heap { i64 *at, size; } Heap;
typedef struct Due { i64 tick, arrival, worker, seq, pool; } Due;
typedef struct TransferTimes { i64 worker, seq, arrival, pool, grant, start, end, done; } TransferTimes;

typedef struct WorkerState {
    i64 worker, run, end_run, rounds, first, length, position; /* `position` in the block order[first .. first + length) */
    i64 begun, start, finish, made, group, seq, held, since, unknown, last, *drained, stalls[STALLS];
    Queue queues[KINDS];
    Sums sums[KINDS];
} WorkerState;

typedef struct PoolState {
    i64 kind, port, pointer, peak, worker, step; /* its workers are worker, worker + step, ... */
    Heap idle_at, in_flight;
    Due due;
} PoolState;

typedef struct Launch {
    const Spec *spec;
    const Cost *costs;
    const Group *groups;
    const Band *bands;
    const int32_t *order;
    const Run *runs;
    i64 workers, pools, now, port_free[KINDS], port_busy[KINDS], jumped;
    WorkerState *worker_state, *rolled;
    PoolState *pool;
    TransferTimes *trace;
    i64 recorded, capacity;
    int lacks_memory;
    /* period_skip.py */
    WorkerState *leader, *kept_states;
    i64 *kept, *fresh, kept_size, kept_now, kept_busy[KINDS], looks;
} Launch;

/* Heaps */

static void sift_down(Heap *heap, i64 value) {
    i64 at = 0, child;
    while ((child = 2 * at + 1) < heap->size) {
        if (child + 1 < heap->size && heap->at[child + 1] < heap->at[child]) child++;
        if (heap->at[child] >= value) break;
        heap->at[at] = heap->at[child];
        at = child;
    }
    heap->at[at] = value;
}

static void push(Heap *heap, i64 value) {
    i64 at = heap->size++, parent;
    while (at && heap->at[parent = (at - 1) / 2] > value) {
        heap->at[at] = heap->at[parent];
        at = parent;
    }
    heap->at[at] = value;
}

static void pop(Heap *heap) {
    i64 value = heap->at[--heap->size];
    if (heap->size) sift_down(heap, value);
}

/* What is due */

static int before(const Due *one, const Due *other) {
    if (one->tick != other->tick) return one->tick < other->tick;
    if (one->arrival != other->arrival) return one->arrival < other->arrival;
    if (one->worker != other->worker) return one->worker < other->worker;
    if (one->seq != other->seq) return one->seq < other->seq;
    return one->pool < other->pool;
}

static i64 free_from(const Launch *launch, const PoolState *pool, i64 tick) {
    const Heap *in_flight = &pool->in_flight;
    if (pool->idle_at.at[0] > tick) tick = pool->idle_at.at[0];
    return in_flight->size >= launch->spec->credits && in_flight->at[0] > tick ? in_flight->at[0] : tick;
}

static const Request *oldest(const WorkerState *worker_state, i64 kind) {
    const Queue *queue = worker_state->queues + kind;
    return queue->size ? queue->at + queue->first : NULL;
}

static void find_due(Launch *launch, i64 number) {
    PoolState *pool = launch->pool + number;
    i64 now = launch->now, tick = 0, most = FOREVER;
    const Request *best = NULL;
    i64 worker = 0;
    if (launch->spec->in_turn) {
        for (i64 w = pool->worker; w < launch->workers; w += pool->step) {
            const Request *head = oldest(launch->worker_state + w, pool->kind);
            if (head && head->arrival < most) most = head->arrival;
        }
        if (most != FOREVER) tick = free_from(launch, pool, most > now ? most : now);
    }
    for (i64 w = pool->worker; w < launch->workers; w += pool->step) {
        const Request *head = oldest(launch->worker_state + w, pool->kind);
        if (!head) continue;
        int sooner;
        if (launch->spec->in_turn) {
            if (head->arrival > tick) continue;
            sooner = !best || (worker < pool->pointer && w >= pool->pointer);
        } else {
            sooner = !best || head->arrival < best->arrival;
        }
        if (sooner) best = head, worker = w;
    }
    if (!best) {
        pool->due.tick = FOREVER;
        return;
    }
    if (!launch->spec->in_turn) tick = free_from(launch, pool, best->arrival > now ? best->arrival : now);
    pool->due = (Due){tick, best->arrival, worker, best->seq, number};
}

/* Workers */

static void request(Launch *launch, WorkerState *worker_state, i64 kind, i64 arrival, i64 group) {
    Queue *queue = worker_state->queues + kind;
    i64 core = launch->spec->per_core ? worker_state->worker % launch->spec->cores : 0, number = core * KINDS + kind;
    i64 at = queue->first + queue->size++;
    queue->at[at < queue->capacity ? at : at - queue->capacity] = (Request){arrival, worker_state->seq, 0, 0, group};
    worker_state->seq += launch->groups[group].count;
    const Due *due = &launch->pool[number].due;
    if (launch->spec->in_turn || due->tick == FOREVER || arrival < due->arrival ||
        (arrival == due->arrival && worker_state->worker < due->worker))
        find_due(launch, number);
}

static const Band *band_of(const Launch *launch, const WorkerState *worker_state) {
    if (worker_state->position == worker_state->length) return NULL;
    return launch->bands + launch->order[worker_state->first + worker_state->position];
}

static void step(Launch *launch, WorkerState *worker_state) {
    if (worker_state->rounds > 1) {
        worker_state->rounds--;
        worker_state->position = 0;
        launch->rolled = worker_state;
    } else if (worker_state->run < worker_state->end_run) {
        const Run *run = launch->runs + worker_state->run++;
        worker_state->first = run->first;
        worker_state->length = run->length;
        worker_state->rounds = run->times;
        worker_state->position = 0;
    }
}

static void begin(Launch *launch, WorkerState *worker_state, i64 tick);

static void end(Launch *launch, WorkerState *worker_state, i64 tick) {
    if (worker_state->unknown) {
        worker_state->held = END;
        worker_state->since = tick;
        return;
    }
    worker_state->finish = tick > worker_state->last ? tick : worker_state->last;
    worker_state->stalls[END] += worker_state->finish - tick;
    i64 following = worker_state->worker + launch->spec->cores;
    if (following < launch->workers)
        begin(launch, launch->worker_state + following, worker_state->finish + launch->spec->relaunch);
}

static void advance(Launch *launch, WorkerState *worker_state, i64 tick) {
    const Spec *spec = launch->spec;
    const Band *band;
    while ((band = band_of(launch, worker_state))) {
        if (worker_state->group < band->groups) {
            i64 group = band->first_group + worker_state->group++, spent = spec->issue * launch->groups[group].count;
            worker_state->stalls[ISSUE] += spent;
            request(launch, worker_state, 0, tick + spent, group);
            return;
        }
        i64 *drained = worker_state->drained + worker_state->made % spec->slots;
        if (worker_state->held != ORDER) {
            if (*drained == UNKNOWN) {
                worker_state->held = SLOT;
                worker_state->since = tick;
                return;
            }
            if (*drained > tick) {
                worker_state->stalls[SLOT] += *drained - tick;
                tick = *drained;
            }
            worker_state->stalls[COMPUTE] += band->ticks;
            tick += band->ticks;
        }
        if (band->ordered) {
            if (worker_state->unknown) {
                worker_state->held = ORDER;
                worker_state->since = tick;
                return;
            }
            if (worker_state->last > tick) {
                worker_state->stalls[ORDER] += worker_state->last - tick;
                tick = worker_state->last;
            }
            worker_state->held = UNKNOWN;
        }
        i64 spent = spec->issue * band->descriptors;
        worker_state->stalls[ISSUE] += spent;
        tick += spent;
        *drained = UNKNOWN;
        worker_state->unknown++;
        request(launch, worker_state, 1, tick, band->chain);
        worker_state->made++;
        worker_state->group = 0;
        if (++worker_state->position == worker_state->length) step(launch, worker_state);
    }
    end(launch, worker_state, tick);
}

static void begin(Launch *launch, WorkerState *worker_state, i64 tick) {
    worker_state->begun = 1;
    worker_state->start = tick;
    step(launch, worker_state);
    advance(launch, worker_state, tick);
}

static void granted(Launch *launch, const PoolState *pool, WorkerState *worker_state, i64 arrival, i64 done) {
    i64 slots = launch->spec->slots;
    if (!pool->kind) {
        worker_state->stalls[GATHER] += done - arrival;
        advance(launch, worker_state, done);
        return;
    }
    worker_state->drained[(worker_state->made - worker_state->unknown) % slots] = done;
    worker_state->unknown--;
    if (done > worker_state->last) worker_state->last = done;
    if (worker_state->held == UNKNOWN || (worker_state->held != SLOT && worker_state->unknown)) return;
    if (worker_state->held == SLOT) {
        if (worker_state->drained[worker_state->made % slots] == UNKNOWN) return;
        worker_state->held = UNKNOWN;
    }
    advance(launch, worker_state, worker_state->since);
}

/* Grants */

static void record(Launch *launch, TransferTimes times) {
    if (launch->recorded == launch->capacity) {
        i64 capacity = launch->capacity ? 2 * launch->capacity : 1024;
        TransferTimes *more = realloc(launch->trace, (size_t)capacity * sizeof *more);
        if (!more) {
            launch->lacks_memory = 1;
            return;
        }
        launch->trace = more;
        launch->capacity = capacity;
    }
    launch->trace[launch->recorded++] = times;
}

static void serve(Launch *launch, i64 number, const Due *limit) {
    const Spec *spec = launch->spec;
    PoolState *pool = launch->pool + number;
    i64 worker = pool->due.worker, now = pool->due.tick, latency = spec->latency[pool->kind];
    WorkerState *worker_state = launch->worker_state + worker;
    Queue *queue = worker_state->queues + pool->kind;
    Request *entry = queue->at + queue->first;
    const Group *group = launch->groups + entry->group;
    const Cost *costs = launch->costs + group->first;
    Sums *sums = worker_state->sums + pool->kind;
    i64 index = entry->granted, stop = spec->in_turn ? index + 1 : group->count;
    i64 port = launch->port_free[pool->port], latest = entry->latest;
    pool->due.tick = FOREVER;
    for (;;) {
        const Cost *cost = costs + index;
        i64 start = now + cost->s > port ? now + cost->s : port, end = start + cost->c;
        port = start + cost->m;
        launch->port_busy[pool->port] += cost->m;
        sift_down(&pool->idle_at, end);
        while (pool->in_flight.size && pool->in_flight.at[0] <= now) pop(&pool->in_flight);
        push(&pool->in_flight, end + latency);
        if (pool->in_flight.size > pool->peak) pool->peak = pool->in_flight.size;
        sums->grants += now;
        sums->ends += end;
        sums->weighted += (u64)++sums->transfers * (u64)end;
        if (end > latest) latest = end;
        if (spec->tracing)
            record(launch, (TransferTimes){worker, entry->seq, entry->arrival, number, now, start, end,
                                           end + latency});
        entry->seq++;
        if (++index == stop) break;
        Due next = {free_from(launch, pool, now), entry->arrival, worker, entry->seq, number};
        if (before(limit, &next)) break;
        now = next.tick;
    }
    launch->port_free[pool->port] = port;
    launch->now = now;
    entry->granted = index;
    entry->latest = latest;
    if (spec->in_turn) pool->pointer = worker + 1;
    if (index == group->count) {
        i64 arrival = entry->arrival;
        queue->size--;
        if (++queue->first == queue->capacity) queue->first = 0;
        granted(launch, pool, worker_state, arrival, latest + latency);
    }
    find_due(launch, number);
}

/* Period skipping: see period_skip.py */

static int ascending(const void *one, const void *other) {
    i64 a = *(const i64 *)one, b = *(const i64 *)other;
    return (a > b) - (a < b);
}

static int moves(const WorkerState *worker_state) { return worker_state->begun && worker_state->finish == UNKNOWN; }

static i64 *add_sorted(i64 *to, const Heap *heap, i64 now, int keeps_free) {
    i64 *first = to + 1, *at = first;
    for (i64 i = 0; i < heap->size; i++)
        if (keeps_free || heap->at[i] > now) *at++ = heap->at[i] > now ? heap->at[i] - now : 0;
    qsort(first, (size_t)(at - first), sizeof *at, ascending);
    *to = at - first;
    return at;
}

static i64 *add_queue(i64 *to, const WorkerState *worker_state, const Queue *queue, i64 now) {
    *to++ = queue->size;
    for (i64 i = 0; i < queue->size; i++) {
        const Request *entry = queue->at + (queue->first + i) % queue->capacity;
        *to++ = entry->arrival - now;
        *to++ = worker_state->seq - entry->seq;
        *to++ = entry->granted;
        *to++ = entry->granted ? entry->latest - now : 0;
        *to++ = entry->group;
    }
    return to;
}

static i64 *add_worker(i64 *to, const WorkerState *worker_state, i64 now, i64 slots) {
    if (!moves(worker_state)) {
        *to++ = 0;
        return to;
    }
    i64 held = worker_state->held, since = held == UNKNOWN ? 0 : worker_state->since - now;
    i64 fixed[] = {1,    worker_state->run, worker_state->position, worker_state->group,     worker_state->made % slots,
                   held, since,       worker_state->unknown,  worker_state->last - now};
    memcpy(to, fixed, sizeof fixed);
    to += sizeof fixed / sizeof *fixed;
    for (i64 i = 0; i < slots; i++)
        *to++ = worker_state->drained[i] == UNKNOWN ? FOREVER : worker_state->drained[i] - now;
    for (i64 kind = 0; kind < KINDS; kind++) to = add_queue(to, worker_state, worker_state->queues + kind, now);
    return to;
}

static i64 state(const Launch *launch, i64 now, i64 *to) {
    i64 *from = to;
    for (i64 w = 0; w < launch->workers; w++) to = add_worker(to, launch->worker_state + w, now, launch->spec->slots);
    for (i64 number = 0; number < launch->pools; number++) {
        const PoolState *pool = launch->pool + number;
        *to++ = pool->pointer;
        to = add_sorted(to, &pool->idle_at, now, 1);
        to = add_sorted(to, &pool->in_flight, now, 0);
    }
    for (i64 port = 0; port < launch->spec->ports; port++)
        *to++ = launch->port_free[port] > now ? launch->port_free[port] - now : 0;
    return to - from;
}

static void repeat_sums(Sums *sums, const Sums *then, i64 times, i64 period) {
    u128 once = (u128)times * (u128)(times + 1) / 2, squares = once * (u128)(2 * times + 1) / 3;
    i64 n = sums->transfers - then->transfers;
    i128 ends = sums->ends - then->ends, late = (i128)once * n * period;
    u128 indices = (u128)n * (u128)then->transfers + (u128)n * (u128)(n + 1) / 2;
    sums->weighted += (u64)times * (sums->weighted - then->weighted) +
                      (u64)once * ((u64)period * (u64)indices + (u64)n * (u64)ends) +
                      (u64)squares * (u64)n * (u64)n * (u64)period;
    sums->grants += times * (sums->grants - then->grants) + late;
    sums->ends += times * ends + late;
    sums->transfers += times * n;
}

static void shift_heap(Heap *heap, i64 ahead) {
    for (i64 i = 0; i < heap->size; i++) heap->at[i] += ahead;
}

static void shift_worker(WorkerState *worker_state, const WorkerState *then, i64 times, i64 period, i64 slots) {
    i64 ahead = times * period, seq = times * (worker_state->seq - then->seq);
    worker_state->rounds -= times * (then->rounds - worker_state->rounds);
    worker_state->made += times * (worker_state->made - then->made);
    worker_state->seq += seq;
    worker_state->since += ahead;
    worker_state->last += ahead;
    for (i64 i = 0; i < slots; i++)
        if (worker_state->drained[i] != UNKNOWN) worker_state->drained[i] += ahead;
    for (int why = 0; why < STALLS; why++)
        worker_state->stalls[why] += times * (worker_state->stalls[why] - then->stalls[why]);
    for (i64 kind = 0; kind < KINDS; kind++) {
        Queue *queue = worker_state->queues + kind;
        repeat_sums(worker_state->sums + kind, then->sums + kind, times, period);
        for (i64 i = 0; i < queue->size; i++) {
            Request *entry = queue->at + (queue->first + i) % queue->capacity;
            entry->arrival += ahead;
            entry->seq += seq;
            entry->latest += ahead;
        }
    }
}

static void jump(Launch *launch, i64 now) {
    i64 period = now - launch->kept_now, times = FOREVER;
    for (i64 w = 0; w < launch->workers; w++) {
        const WorkerState *worker_state = launch->worker_state + w;
        i64 rounds = launch->kept_states[w].rounds - worker_state->rounds;
        if (rounds && (worker_state->rounds - 1) / rounds < times) times = (worker_state->rounds - 1) / rounds;
    }
    for (i64 w = 0; w < launch->workers; w++)
        if (moves(launch->worker_state + w))
            shift_worker(launch->worker_state + w, launch->kept_states + w, times, period, launch->spec->slots);
    for (i64 port = 0; port < launch->spec->ports; port++) {
        launch->port_free[port] += times * period;
        launch->port_busy[port] += times * (launch->port_busy[port] - launch->kept_busy[port]);
    }
    launch->now += times * period;
    for (i64 number = 0; number < launch->pools; number++) {
        shift_heap(&launch->pool[number].idle_at, times * period);
        shift_heap(&launch->pool[number].in_flight, times * period);
        find_due(launch, number);
    }
    launch->jumped += times;
}

static void look(Launch *launch, i64 now) {
    i64 size = state(launch, now, launch->fresh);
    launch->looks++;
    if (launch->kept_size == size && !memcmp(launch->kept, launch->fresh, (size_t)size * sizeof *launch->fresh)) {
        jump(launch, now);
        launch->kept_size = 0;
    } else if (!(launch->looks & (launch->looks - 1))) {
        i64 *fresh = launch->kept;
        launch->kept = launch->fresh;
        launch->fresh = fresh;
        launch->kept_size = size;
        launch->kept_now = now;
        memcpy(launch->kept_states, launch->worker_state, (size_t)launch->workers * sizeof *launch->worker_state);
        memcpy(launch->kept_busy, launch->port_busy, sizeof launch->port_busy);
    }
}

static void watch(Launch *launch, WorkerState *worker_state, i64 now) {
    if (!launch->leader || launch->leader->rounds <= 1) {
        launch->leader = worker_state;
        launch->kept_size = launch->looks = 0;
    }
    if (worker_state == launch->leader && launch->looks < MOST_LOOKS) look(launch, now);
}

/* Takes up to BREATH decisions; whether there is more to decide. */
static int go_on(Launch *launch) {
    static const Due never = {FOREVER, 0, 0, 0, 0};
    for (i64 left = BREATH; left; left--) {
        const Due *best = &never, *second = &never;
        for (i64 number = 0; number < launch->pools; number++) {
            const Due *due = &launch->pool[number].due;
            if (due->tick == FOREVER) continue;
            if (best == &never || before(due, best)) second = best, best = due;
            else if (second == &never || before(due, second)) second = due;
        }
        if (best == &never || launch->lacks_memory) return 0;
        if (launch->rolled && launch->spec->skips) {
            WorkerState *rolled = launch->rolled;
            launch->rolled = NULL;
            watch(launch, rolled, best->tick);
            continue;
        }
        Due limit = *second;
        serve(launch, best->pool, &limit);
    }
    return 1;
}

/* The module */

typedef struct Sizes { /* what a launch needs, in items */
    i64 in_flight, state;
} Sizes;

static Sizes sizes_of(const Launch *launch, i64 longest) {
    const Spec *spec = launch->spec;
    i64 cores = launch->workers < spec->cores ? launch->workers : spec->cores; /* a core runs one worker at a time */
    i64 most = (spec->per_core ? 1 : cores) * (longest > spec->slots ? longest : spec->slots);
    i64 in_flight = spec->credits < most ? spec->credits : most;
    i64 channels = spec->channels[0] > spec->channels[1] ? spec->channels[0] : spec->channels[1];
    i64 state = launch->workers * (16 + 6 * spec->slots) + launch->pools * (3 + channels + in_flight) + spec->ports;
    return (Sizes){in_flight, state};
}

/* Clears what the launch before it left, where a launch begins with it. */
static void set_up(Launch *launch, const Span *spans, Sizes sizes, i64 *ints, Request *requests) {
    const Spec *spec = launch->spec;
    launch->now = -1;
    for (i64 w = 0; w < launch->workers; w++) {
        WorkerState *worker_state = launch->worker_state + w;
        *worker_state = (WorkerState){
            .worker = w, .run = spans[w].first, .end_run = spans[w].end, .finish = UNKNOWN, .held = UNKNOWN,
            .drained = ints,
        };
        for (i64 i = 0; i < spec->slots; i++) *ints++ = 0;
        worker_state->queues[0] = (Queue){requests, 0, 0, 1};
        worker_state->queues[1] = (Queue){requests + 1, 0, 0, spec->slots};
        requests += 1 + spec->slots;
    }
    for (i64 number = 0; number < launch->pools; number++) {
        PoolState *pool = launch->pool + number;
        i64 kind = number % KINDS, channels = spec->channels[kind];
        *pool = (PoolState){
            .kind = kind, .port = spec->ports > 1 ? kind : 0, .worker = number / KINDS,
            .step = spec->per_core ? spec->cores : 1, .idle_at = {ints, channels}, .in_flight.at = ints + channels,
        };
        pool->due.tick = FOREVER;
        memset(ints, 0, (size_t)channels * sizeof *ints);
        ints += channels + sizes.in_flight;
    }
    launch->kept = ints;
    launch->fresh = ints + sizes.state;
}

static i64 *add_i128(i64 *to, i128 value) {
    *to++ = (i64)(u64)value;
    *to++ = (i64)(value >> 64);
    return to;
}

#define WORKER_FIGURES (2 + STALLS + KINDS * 6)

static PyObject *figures(const Launch *launch) {
    i64 size = launch->workers * WORKER_FIGURES + launch->pools + launch->spec->ports + 1;
    PyObject *result = PyBytes_FromStringAndSize(NULL, size * (i64)sizeof(i64));
    i64 *to = result ? (i64 *)PyBytes_AsString(result) : NULL;
    if (!to) return NULL;
    for (i64 w = 0; w < launch->workers; w++) {
        const WorkerState *worker_state = launch->worker_state + w;
        *to++ = worker_state->start;
        *to++ = worker_state->finish;
        for (int why = 0; why < STALLS; why++) *to++ = worker_state->stalls[why];
        for (int kind = 0; kind < KINDS; kind++) {
            const Sums *sums = worker_state->sums + kind;
            *to++ = sums->transfers;
            to = add_i128(add_i128(to, sums->grants), sums->ends);
            *to++ = (i64)sums->weighted;
        }
    }
    for (i64 number = 0; number < launch->pools; number++) *to++ = launch->pool[number].peak;
    for (i64 port = 0; port < launch->spec->ports; port++) *to++ = launch->port_busy[port];
    *to = launch->jumped;
    return result;
}

/* Runs it all without the interpreter's lock, but for a look at signals now and then. */
static int run(Launch *launch) {
    int more = 1, interrupted = 0;
    for (i64 w = 0; w < launch->workers && w < launch->spec->cores; w++)
        begin(launch, launch->worker_state + w, w * launch->spec->stagger);
    while (more && !interrupted) {
        Py_BEGIN_ALLOW_THREADS
        more = go_on(launch);
        Py_END_ALLOW_THREADS
        interrupted = PyErr_CheckSignals();
    }
    if (launch->lacks_memory && !interrupted) PyErr_NoMemory();
    return interrupted || launch->lacks_memory ? -1 : 0;
}

typedef struct Memory { /* what launches of up to so many workers run in, one after the other */
    WorkerState *states, *kept_states;
    PoolState *pools;
    i64 *ints;
    Request *requests;
    Sizes sizes;
} Memory;

static int take(Memory *memory, const Launch *largest, i64 longest) {
    const Spec *spec = largest->spec;
    size_t workers = (size_t)largest->workers, pools = (size_t)largest->pools;
    memory->sizes = sizes_of(largest, longest);
    i64 channels = spec->channels[0] + spec->channels[1];
    size_t ints = workers * (size_t)spec->slots + pools / KINDS * (size_t)channels +
                  pools * (size_t)memory->sizes.in_flight + 2 * (size_t)memory->sizes.state;
    memory->states = calloc(workers, sizeof *memory->states);
    memory->kept_states = calloc(workers, sizeof *memory->kept_states);
    memory->pools = calloc(pools, sizeof *memory->pools);
    memory->ints = calloc(ints, sizeof *memory->ints);
    memory->requests = calloc(workers * (1 + (size_t)spec->slots), sizeof *memory->requests);
    if (memory->states && memory->kept_states && memory->pools && memory->ints && memory->requests) return 0;
    PyErr_NoMemory();
    return -1;
}

static void give(Memory *memory) {
    free(memory->states);
    free(memory->kept_states);
    free(memory->pools);
    free(memory->ints);
    free(memory->requests);
}

static int run_in(Launch *launch, const Span *spans, const Memory *memory) {
    launch->worker_state = memory->states;
    launch->kept_states = memory->kept_states;
    launch->pool = memory->pools;
    set_up(launch, spans, memory->sizes, memory->ints, memory->requests);
    return run(launch);
}

static i64 longest_of(const Py_buffer *groups) {
    const Group *at = groups->buf, *end = at + groups->len / (Py_ssize_t)sizeof *at;
    i64 longest = 0;
    for (; at < end; at++)
        if (at->count > longest) longest = at->count;
    return longest;
}

static i64 pools_of(const Spec *spec) { return KINDS * (spec->per_core ? spec->cores : 1); }

static PyObject *count(PyObject *module, PyObject *args) {
    Py_buffer spec, costs, groups, bands, order, runs, spans;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*y*", &spec, &costs, &groups, &bands, &order, &runs, &spans)) return NULL;
    Launch launch = {
        .spec = spec.buf, .costs = costs.buf, .groups = groups.buf, .bands = bands.buf, .order = order.buf,
        .runs = runs.buf, .workers = spans.len / (Py_ssize_t)sizeof(Span), .pools = pools_of(spec.buf),
    };
    Memory memory;
    PyObject *result = NULL;
    if (!take(&memory, &launch, longest_of(&groups)) && !run_in(&launch, spans.buf, &memory)) {
        PyObject *counted = figures(&launch);
        if (counted)
            result = Py_BuildValue("(Ny#)", counted, launch.trace ? (const char *)launch.trace : "",
                                   (Py_ssize_t)(launch.recorded * (i64)sizeof *launch.trace));
    }
    give(&memory);
    free(launch.trace);
    Py_buffer *all[] = {&spec, &costs, &groups, &bands, &order, &runs, &spans};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) PyBuffer_Release(all[i]);
    return result;
}

static i64 last_finish(const Launch *launch) {
    i64 last = 0;
    for (i64 w = 0; w < launch->workers; w++)
        if (launch->worker_state[w].finish > last) last = launch->worker_state[w].finish;
    return last;
}

/* The last finishes of those launches that are `wanted`, of many in the same tables; launch n has the spans from
   firsts[n] to firsts[n + 1]. */
static PyObject *makespans(PyObject *module, PyObject *args) {
    Py_buffer spec, costs, groups, bands, order, runs, spans, firsts, wanted;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*y*y*y*", &spec, &costs, &groups, &bands, &order, &runs, &spans, &firsts,
                          &wanted))
        return NULL;
    const i64 *first = firsts.buf, *number = wanted.buf;
    Py_ssize_t size = wanted.len / (Py_ssize_t)sizeof *number;
    Launch launch = {
        .spec = spec.buf, .costs = costs.buf, .groups = groups.buf, .bands = bands.buf, .order = order.buf,
        .runs = runs.buf, .pools = pools_of(spec.buf),
    };
    for (Py_ssize_t i = 0; i < size; i++) {
        i64 workers = first[number[i] + 1] - first[number[i]];
        if (workers > launch.workers) launch.workers = workers;
    }
    Memory memory;
    PyObject *result = NULL;
    if (!take(&memory, &launch, longest_of(&groups))) {
        result = PyBytes_FromStringAndSize(NULL, size * (Py_ssize_t)sizeof(i64));
        i64 *to = result ? (i64 *)PyBytes_AsString(result) : NULL;
        for (Py_ssize_t i = 0; i < size && result; i++) {
            Launch own = launch;
            own.workers = first[number[i] + 1] - first[number[i]];
            if (run_in(&own, (const Span *)spans.buf + first[number[i]], &memory)) Py_CLEAR(result);
            else to[i] = last_finish(&own);
        }
    }
    give(&memory);
    Py_buffer *all[] = {&spec, &costs, &groups, &bands, &order, &runs, &spans, &firsts, &wanted};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) PyBuffer_Release(all[i]);
    return result;
}

static PyMethodDef methods[] = {
    {"count", count, METH_VARARGS, "The figures of a launch and the times of its transfers, as native.py lays them out."},
    {"makespans", makespans, METH_VARARGS, "The last finishes of launches in the same tables, as order_tables.py has them."},
    {NULL, NULL, 0, NULL},
};

/* The number of these sources, which the caller must know, too: python -m tests.native_sources writes it. */
#define TESSBED_SOURCES 0x7E8FE485

static int exec_module(PyObject *module) { return PyModule_AddIntConstant(module, "SOURCES", TESSBED_SOURCES); }

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)exec_module}, {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_exact", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__exact(void) { return PyModuleDef_Init(&definition); }
