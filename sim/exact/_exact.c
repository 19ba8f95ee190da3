/* The exact engine's recurrence in C: what recurrence.py and steady.py do, step for step, with the same names.

   native.py lays out what it is given and reads what it gives, all in 64-bit integers, and lets no launch in whose ticks
   could leave 62 bits. Sums of ticks take 128 bits. */

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
typedef struct Queue { Request *at; i64 first, size, room; } Queue;
typedef struct Heap { i64 *at, size; } Heap;
typedef struct Due { i64 tick, arrival, worker, seq, line; } Due;
typedef struct Moment { i64 worker, seq, arrival, line, grant, start, end, done; } Moment;

typedef struct Walker {
    i64 worker, run, end_run, rounds, first, length, position; /* `position` in the block order[first .. first + length) */
    i64 begun, start, finish, made, group, seq, held, since, unknown, last, *drained, stalls[STALLS];
    Queue queues[KINDS];
    Sums sums[KINDS];
} Walker;

typedef struct Line {
    i64 kind, port, pointer, peak, worker, step; /* its workers are worker, worker + step, ... */
    Heap idle_at, flying;
    Due due;
} Line;

typedef struct Launch {
    const Spec *spec;
    const Cost *costs;
    const Group *groups;
    const Band *bands;
    const int32_t *order;
    const Run *runs;
    i64 workers, lines, now, port_free[KINDS], port_busy[KINDS], jumped;
    Walker *walker, *rolled;
    Line *line;
    Moment *trace;
    i64 moments, room;
    int lacks_memory;
    /* steady.py */
    Walker *leader, *kept_walkers;
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
    return one->line < other->line;
}

static i64 free_from(const Launch *launch, const Line *line, i64 tick) {
    const Heap *flying = &line->flying;
    if (line->idle_at.at[0] > tick) tick = line->idle_at.at[0];
    return flying->size >= launch->spec->credits && flying->at[0] > tick ? flying->at[0] : tick;
}

static const Request *oldest(const Walker *walker, i64 kind) {
    const Queue *queue = walker->queues + kind;
    return queue->size ? queue->at + queue->first : NULL;
}

static void find_due(Launch *launch, i64 number) {
    Line *line = launch->line + number;
    i64 now = launch->now, tick = 0, most = FOREVER;
    const Request *best = NULL;
    i64 worker = 0;
    if (launch->spec->in_turn) {
        for (i64 w = line->worker; w < launch->workers; w += line->step) {
            const Request *head = oldest(launch->walker + w, line->kind);
            if (head && head->arrival < most) most = head->arrival;
        }
        if (most != FOREVER) tick = free_from(launch, line, most > now ? most : now);
    }
    for (i64 w = line->worker; w < launch->workers; w += line->step) {
        const Request *head = oldest(launch->walker + w, line->kind);
        if (!head) continue;
        int sooner;
        if (launch->spec->in_turn) {
            if (head->arrival > tick) continue;
            sooner = !best || (worker < line->pointer && w >= line->pointer);
        } else {
            sooner = !best || head->arrival < best->arrival;
        }
        if (sooner) best = head, worker = w;
    }
    if (!best) {
        line->due.tick = FOREVER;
        return;
    }
    if (!launch->spec->in_turn) tick = free_from(launch, line, best->arrival > now ? best->arrival : now);
    line->due = (Due){tick, best->arrival, worker, best->seq, number};
}

/* Workers */

static void request(Launch *launch, Walker *walker, i64 kind, i64 arrival, i64 group) {
    Queue *queue = walker->queues + kind;
    i64 core = launch->spec->per_core ? walker->worker % launch->spec->cores : 0, number = core * KINDS + kind;
    i64 at = queue->first + queue->size++;
    queue->at[at < queue->room ? at : at - queue->room] = (Request){arrival, walker->seq, 0, 0, group};
    walker->seq += launch->groups[group].count;
    const Due *due = &launch->line[number].due;
    if (launch->spec->in_turn || due->tick == FOREVER || arrival < due->arrival ||
        (arrival == due->arrival && walker->worker < due->worker))
        find_due(launch, number);
}

static const Band *band_of(const Launch *launch, const Walker *walker) {
    if (walker->position == walker->length) return NULL;
    return launch->bands + launch->order[walker->first + walker->position];
}

static void step(Launch *launch, Walker *walker) {
    if (walker->rounds > 1) {
        walker->rounds--;
        walker->position = 0;
        launch->rolled = walker;
    } else if (walker->run < walker->end_run) {
        const Run *run = launch->runs + walker->run++;
        walker->first = run->first;
        walker->length = run->length;
        walker->rounds = run->times;
        walker->position = 0;
    }
}

static void begin(Launch *launch, Walker *walker, i64 tick);

static void end(Launch *launch, Walker *walker, i64 tick) {
    if (walker->unknown) {
        walker->held = END;
        walker->since = tick;
        return;
    }
    walker->finish = tick > walker->last ? tick : walker->last;
    walker->stalls[END] += walker->finish - tick;
    i64 following = walker->worker + launch->spec->cores;
    if (following < launch->workers)
        begin(launch, launch->walker + following, walker->finish + launch->spec->relaunch);
}

static void advance(Launch *launch, Walker *walker, i64 tick) {
    const Spec *spec = launch->spec;
    const Band *band;
    while ((band = band_of(launch, walker))) {
        if (walker->group < band->groups) {
            i64 group = band->first_group + walker->group++, spent = spec->issue * launch->groups[group].count;
            walker->stalls[ISSUE] += spent;
            request(launch, walker, 0, tick + spent, group);
            return;
        }
        i64 *drained = walker->drained + walker->made % spec->slots;
        if (walker->held != ORDER) {
            if (*drained == UNKNOWN) {
                walker->held = SLOT;
                walker->since = tick;
                return;
            }
            if (*drained > tick) {
                walker->stalls[SLOT] += *drained - tick;
                tick = *drained;
            }
            walker->stalls[COMPUTE] += band->ticks;
            tick += band->ticks;
        }
        if (band->ordered) {
            if (walker->unknown) {
                walker->held = ORDER;
                walker->since = tick;
                return;
            }
            if (walker->last > tick) {
                walker->stalls[ORDER] += walker->last - tick;
                tick = walker->last;
            }
            walker->held = UNKNOWN;
        }
        i64 spent = spec->issue * band->descriptors;
        walker->stalls[ISSUE] += spent;
        tick += spent;
        *drained = UNKNOWN;
        walker->unknown++;
        request(launch, walker, 1, tick, band->chain);
        walker->made++;
        walker->group = 0;
        if (++walker->position == walker->length) step(launch, walker);
    }
    end(launch, walker, tick);
}

static void begin(Launch *launch, Walker *walker, i64 tick) {
    walker->begun = 1;
    walker->start = tick;
    step(launch, walker);
    advance(launch, walker, tick);
}

static void granted(Launch *launch, const Line *line, Walker *walker, i64 arrival, i64 done) {
    i64 slots = launch->spec->slots;
    if (!line->kind) {
        walker->stalls[GATHER] += done - arrival;
        advance(launch, walker, done);
        return;
    }
    walker->drained[(walker->made - walker->unknown) % slots] = done;
    walker->unknown--;
    if (done > walker->last) walker->last = done;
    if (walker->held == UNKNOWN || (walker->held != SLOT && walker->unknown)) return;
    if (walker->held == SLOT) {
        if (walker->drained[walker->made % slots] == UNKNOWN) return;
        walker->held = UNKNOWN;
    }
    advance(launch, walker, walker->since);
}

/* Grants */

static void record(Launch *launch, Moment moment) {
    if (launch->moments == launch->room) {
        i64 room = launch->room ? 2 * launch->room : 1024;
        Moment *more = realloc(launch->trace, (size_t)room * sizeof *more);
        if (!more) {
            launch->lacks_memory = 1;
            return;
        }
        launch->trace = more;
        launch->room = room;
    }
    launch->trace[launch->moments++] = moment;
}

static void serve(Launch *launch, i64 number, const Due *limit) {
    const Spec *spec = launch->spec;
    Line *line = launch->line + number;
    i64 worker = line->due.worker, now = line->due.tick, latency = spec->latency[line->kind];
    Walker *walker = launch->walker + worker;
    Queue *queue = walker->queues + line->kind;
    Request *asked = queue->at + queue->first;
    const Group *group = launch->groups + asked->group;
    const Cost *costs = launch->costs + group->first;
    Sums *sums = walker->sums + line->kind;
    i64 index = asked->granted, stop = spec->in_turn ? index + 1 : group->count;
    i64 port = launch->port_free[line->port], latest = asked->latest;
    line->due.tick = FOREVER;
    for (;;) {
        const Cost *cost = costs + index;
        i64 start = now + cost->s > port ? now + cost->s : port, done_at = start + cost->c;
        port = start + cost->m;
        launch->port_busy[line->port] += cost->m;
        sift_down(&line->idle_at, done_at);
        while (line->flying.size && line->flying.at[0] <= now) pop(&line->flying);
        push(&line->flying, done_at + latency);
        if (line->flying.size > line->peak) line->peak = line->flying.size;
        sums->grants += now;
        sums->ends += done_at;
        sums->weighted += (u64)++sums->transfers * (u64)done_at;
        if (done_at > latest) latest = done_at;
        if (spec->tracing)
            record(launch, (Moment){worker, asked->seq, asked->arrival, number, now, start, done_at, done_at + latency});
        asked->seq++;
        if (++index == stop) break;
        Due next = {free_from(launch, line, now), asked->arrival, worker, asked->seq, number};
        if (before(limit, &next)) break;
        now = next.tick;
    }
    launch->port_free[line->port] = port;
    launch->now = now;
    asked->granted = index;
    asked->latest = latest;
    if (spec->in_turn) line->pointer = worker + 1;
    if (index == group->count) {
        i64 arrival = asked->arrival;
        queue->size--;
        if (++queue->first == queue->room) queue->first = 0;
        granted(launch, line, walker, arrival, latest + latency);
    }
    find_due(launch, number);
}

/* Steady: see steady.py */

static int ascending(const void *one, const void *other) {
    i64 a = *(const i64 *)one, b = *(const i64 *)other;
    return (a > b) - (a < b);
}

static int moves(const Walker *walker) { return walker->begun && walker->finish == UNKNOWN; }

static i64 *add_sorted(i64 *to, const Heap *heap, i64 now, int keeps_free) {
    i64 *first = to + 1, *at = first;
    for (i64 i = 0; i < heap->size; i++)
        if (keeps_free || heap->at[i] > now) *at++ = heap->at[i] > now ? heap->at[i] - now : 0;
    qsort(first, (size_t)(at - first), sizeof *at, ascending);
    *to = at - first;
    return at;
}

static i64 *add_queue(i64 *to, const Walker *walker, const Queue *queue, i64 now) {
    *to++ = queue->size;
    for (i64 i = 0; i < queue->size; i++) {
        const Request *asked = queue->at + (queue->first + i) % queue->room;
        *to++ = asked->arrival - now;
        *to++ = walker->seq - asked->seq;
        *to++ = asked->granted;
        *to++ = asked->granted ? asked->latest - now : 0;
        *to++ = asked->group;
    }
    return to;
}

static i64 *add_walker(i64 *to, const Walker *walker, i64 now, i64 slots) {
    if (!moves(walker)) {
        *to++ = 0;
        return to;
    }
    i64 held = walker->held, since = held == UNKNOWN ? 0 : walker->since - now;
    i64 fixed[] = {1,    walker->run, walker->position, walker->group,     walker->made % slots,
                   held, since,       walker->unknown,  walker->last - now};
    memcpy(to, fixed, sizeof fixed);
    to += sizeof fixed / sizeof *fixed;
    for (i64 i = 0; i < slots; i++) *to++ = walker->drained[i] == UNKNOWN ? FOREVER : walker->drained[i] - now;
    for (i64 kind = 0; kind < KINDS; kind++) to = add_queue(to, walker, walker->queues + kind, now);
    return to;
}

static i64 state(const Launch *launch, i64 now, i64 *to) {
    i64 *from = to;
    for (i64 w = 0; w < launch->workers; w++) to = add_walker(to, launch->walker + w, now, launch->spec->slots);
    for (i64 number = 0; number < launch->lines; number++) {
        const Line *line = launch->line + number;
        *to++ = line->pointer;
        to = add_sorted(to, &line->idle_at, now, 1);
        to = add_sorted(to, &line->flying, now, 0);
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

static void jump_walker(Walker *walker, const Walker *then, i64 times, i64 period, i64 slots) {
    i64 ahead = times * period, seq = times * (walker->seq - then->seq);
    walker->rounds -= times * (then->rounds - walker->rounds);
    walker->made += times * (walker->made - then->made);
    walker->seq += seq;
    walker->since += ahead;
    walker->last += ahead;
    for (i64 i = 0; i < slots; i++)
        if (walker->drained[i] != UNKNOWN) walker->drained[i] += ahead;
    for (int why = 0; why < STALLS; why++) walker->stalls[why] += times * (walker->stalls[why] - then->stalls[why]);
    for (i64 kind = 0; kind < KINDS; kind++) {
        Queue *queue = walker->queues + kind;
        repeat_sums(walker->sums + kind, then->sums + kind, times, period);
        for (i64 i = 0; i < queue->size; i++) {
            Request *asked = queue->at + (queue->first + i) % queue->room;
            asked->arrival += ahead;
            asked->seq += seq;
            asked->latest += ahead;
        }
    }
}

static void jump(Launch *launch, i64 now) {
    i64 period = now - launch->kept_now, times = FOREVER;
    for (i64 w = 0; w < launch->workers; w++) {
        const Walker *walker = launch->walker + w;
        i64 rounds = launch->kept_walkers[w].rounds - walker->rounds;
        if (rounds && (walker->rounds - 1) / rounds < times) times = (walker->rounds - 1) / rounds;
    }
    for (i64 w = 0; w < launch->workers; w++)
        if (moves(launch->walker + w))
            jump_walker(launch->walker + w, launch->kept_walkers + w, times, period, launch->spec->slots);
    for (i64 port = 0; port < launch->spec->ports; port++) {
        launch->port_free[port] += times * period;
        launch->port_busy[port] += times * (launch->port_busy[port] - launch->kept_busy[port]);
    }
    launch->now += times * period;
    for (i64 number = 0; number < launch->lines; number++) {
        shift_heap(&launch->line[number].idle_at, times * period);
        shift_heap(&launch->line[number].flying, times * period);
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
        memcpy(launch->kept_walkers, launch->walker, (size_t)launch->workers * sizeof *launch->walker);
        memcpy(launch->kept_busy, launch->port_busy, sizeof launch->port_busy);
    }
}

static void watch(Launch *launch, Walker *walker, i64 now) {
    if (!launch->leader || launch->leader->rounds <= 1) {
        launch->leader = walker;
        launch->kept_size = launch->looks = 0;
    }
    if (walker == launch->leader && launch->looks < MOST_LOOKS) look(launch, now);
}

/* Takes up to BREATH decisions; whether there is more to decide. */
static int go_on(Launch *launch) {
    static const Due never = {FOREVER, 0, 0, 0, 0};
    for (i64 left = BREATH; left; left--) {
        const Due *best = &never, *second = &never;
        for (i64 number = 0; number < launch->lines; number++) {
            const Due *due = &launch->line[number].due;
            if (due->tick == FOREVER) continue;
            if (best == &never || before(due, best)) second = best, best = due;
            else if (second == &never || before(due, second)) second = due;
        }
        if (best == &never || launch->lacks_memory) return 0;
        if (launch->rolled && launch->spec->skips) {
            Walker *rolled = launch->rolled;
            launch->rolled = NULL;
            watch(launch, rolled, best->tick);
            continue;
        }
        Due limit = *second;
        serve(launch, best->line, &limit);
    }
    return 1;
}

/* The module */

typedef struct Room { /* what a launch needs, in items */
    i64 flying, state;
} Room;

static Room room_of(const Launch *launch, i64 longest) {
    const Spec *spec = launch->spec;
    i64 cores = launch->workers < spec->cores ? launch->workers : spec->cores; /* a core runs one worker at a time */
    i64 most = (spec->per_core ? 1 : cores) * (longest > spec->slots ? longest : spec->slots);
    i64 flying = spec->credits < most ? spec->credits : most;
    i64 channels = spec->channels[0] > spec->channels[1] ? spec->channels[0] : spec->channels[1];
    i64 state = launch->workers * (16 + 6 * spec->slots) + launch->lines * (3 + channels + flying) + spec->ports;
    return (Room){flying, state};
}

static void set_up(Launch *launch, const Span *spans, Room room, i64 *ints, Request *requests) {
    const Spec *spec = launch->spec;
    launch->now = -1;
    for (i64 w = 0; w < launch->workers; w++) {
        Walker *walker = launch->walker + w;
        walker->worker = w;
        walker->run = spans[w].first;
        walker->end_run = spans[w].end;
        walker->finish = walker->held = UNKNOWN;
        walker->drained = ints;
        ints += spec->slots;
        walker->queues[0] = (Queue){requests, 0, 0, 1};
        walker->queues[1] = (Queue){requests + 1, 0, 0, spec->slots};
        requests += 1 + spec->slots;
    }
    for (i64 number = 0; number < launch->lines; number++) {
        Line *line = launch->line + number;
        line->kind = number % KINDS;
        line->port = spec->ports > 1 ? line->kind : 0;
        line->worker = number / KINDS;
        line->step = spec->per_core ? spec->cores : 1;
        line->due.tick = FOREVER;
        line->idle_at = (Heap){ints, spec->channels[line->kind]};
        ints += spec->channels[line->kind];
        line->flying.at = ints;
        ints += room.flying;
    }
    launch->kept = ints;
    launch->fresh = ints + room.state;
}

static i64 *add_i128(i64 *to, i128 value) {
    *to++ = (i64)(u64)value;
    *to++ = (i64)(value >> 64);
    return to;
}

#define WORKER_FIGURES (2 + STALLS + KINDS * 6)

static PyObject *figures(const Launch *launch) {
    i64 size = launch->workers * WORKER_FIGURES + launch->lines + launch->spec->ports + 1;
    PyObject *result = PyBytes_FromStringAndSize(NULL, size * (i64)sizeof(i64));
    i64 *to = result ? (i64 *)PyBytes_AsString(result) : NULL;
    if (!to) return NULL;
    for (i64 w = 0; w < launch->workers; w++) {
        const Walker *walker = launch->walker + w;
        *to++ = walker->start;
        *to++ = walker->finish;
        for (int why = 0; why < STALLS; why++) *to++ = walker->stalls[why];
        for (int kind = 0; kind < KINDS; kind++) {
            const Sums *sums = walker->sums + kind;
            *to++ = sums->transfers;
            to = add_i128(add_i128(to, sums->grants), sums->ends);
            *to++ = (i64)sums->weighted;
        }
    }
    for (i64 number = 0; number < launch->lines; number++) *to++ = launch->line[number].peak;
    for (i64 port = 0; port < launch->spec->ports; port++) *to++ = launch->port_busy[port];
    *to = launch->jumped;
    return result;
}

/* Runs it all without the interpreter's lock, but for a look at signals now and then. */
static int run(Launch *launch) {
    int more = 1, interrupted = 0;
    for (i64 w = 0; w < launch->workers && w < launch->spec->cores; w++)
        begin(launch, launch->walker + w, w * launch->spec->stagger);
    while (more && !interrupted) {
        Py_BEGIN_ALLOW_THREADS
        more = go_on(launch);
        Py_END_ALLOW_THREADS
        interrupted = PyErr_CheckSignals();
    }
    if (launch->lacks_memory && !interrupted) PyErr_NoMemory();
    return interrupted || launch->lacks_memory ? -1 : 0;
}

static PyObject *count_all(Launch *launch, const Span *spans, i64 longest) {
    const Spec *spec = launch->spec;
    Room room = room_of(launch, longest);
    i64 channels = spec->channels[0] + spec->channels[1];
    size_t ints = (size_t)(launch->workers * spec->slots + launch->lines / KINDS * channels +
                           launch->lines * room.flying + 2 * room.state);
    launch->walker = calloc((size_t)launch->workers, sizeof *launch->walker);
    launch->kept_walkers = calloc((size_t)launch->workers, sizeof *launch->walker);
    launch->line = calloc((size_t)launch->lines, sizeof *launch->line);
    i64 *numbers = calloc(ints, sizeof *numbers);
    Request *requests = calloc((size_t)(launch->workers * (1 + spec->slots)), sizeof *requests);
    PyObject *result = NULL;
    if (!launch->walker || !launch->kept_walkers || !launch->line || !numbers || !requests) {
        PyErr_NoMemory();
    } else {
        set_up(launch, spans, room, numbers, requests);
        if (!run(launch)) {
            PyObject *counted = figures(launch);
            if (counted)
                result = Py_BuildValue("(Ny#)", counted, launch->trace ? (const char *)launch->trace : "",
                                       (Py_ssize_t)(launch->moments * (i64)sizeof *launch->trace));
        }
    }
    free(launch->walker);
    free(launch->kept_walkers);
    free(launch->line);
    free(numbers);
    free(requests);
    free(launch->trace);
    return result;
}

static PyObject *count(PyObject *module, PyObject *args) {
    Py_buffer spec, costs, groups, bands, order, runs, spans;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*y*", &spec, &costs, &groups, &bands, &order, &runs, &spans)) return NULL;
    Launch launch = {
        .spec = spec.buf, .costs = costs.buf, .groups = groups.buf, .bands = bands.buf, .order = order.buf,
        .runs = runs.buf, .workers = spans.len / (Py_ssize_t)sizeof(Span),
    };
    i64 longest = 0;
    for (Py_ssize_t i = 0; i < groups.len / (Py_ssize_t)sizeof(Group); i++)
        if (launch.groups[i].count > longest) longest = launch.groups[i].count;
    launch.lines = KINDS * (launch.spec->per_core ? launch.spec->cores : 1);
    PyObject *result = count_all(&launch, spans.buf, longest);
    Py_buffer *all[] = {&spec, &costs, &groups, &bands, &order, &runs, &spans};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) PyBuffer_Release(all[i]);
    return result;
}

static PyMethodDef methods[] = {
    {"count", count, METH_VARARGS, "The figures and the moments of a launch, as native.py lays them out."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_exact", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__exact(void) { return PyModuleDef_Init(&definition); }
