/* The recurrence of loads in C: what recurrence.py does, step for step and with the same names. Its first page says what
   happens at a tick and why it is exact; this one says what is different here.

   What it is given. load_tables.py lays out the program in tables of 64-bit integers, which are read in place and never
   written: `settings`, `stations`, `streams`, `stages`, `edges` (the jobs behind each job), `traces`; `shapes` are the
   coefficients of variation, streams first; `struck` are the jobs that a fault strikes, in the order of their numbers.
   The tables are trusted: load_tables.py makes them, and lets no program in whose ticks could leave 62 bits, and none
   with faults on devices that hold several jobs, or in lines. Integrals over time take 128 bits.

   What it gives. The figures of all streams, jobs and stations, the latencies of each stream, and the numbers of their
   frames where the load is numbered.

   Memory. A frame is in a slab from its arrival to its end, and its place is used again; so memory follows the frames
   that are present, and 8 bytes for each latency.

   Where the form differs from Python's:
   - Frames that have not begun are one line for each stream: first those that have entered, then those that are held,
     then those outside; a frame begins only at its front, as each queue takes the frames of a stream in their order.
   - As no fault strikes a job in a line, when each ends for its frame is known when it starts.
   - The heap of events is ordered by ticks alone: nothing depends on the order of events within a tick.
   - A frame that is dropped stays in the slab until the queues that still name it have let it go (`named`).
   - The interpreter's lock is given up for BREATH ticks at a time; between, signals are looked for.

   Whoever changes one of the two forms changes the other: tests/scenarios/load holds them against each other. Draws use
   the C library's functions as CPython does, and are compiled without contraction, so that each rounds as there. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int64_t i64;
typedef uint64_t u64;
typedef __int128 i128;

#define BREATH (1 << 16)
#define PATIENCE 4
#define GOLDEN 0x9E3779B97F4A7C15ULL
#define PI 3.141592653589793
enum { EVERY, RANDOM, TRACE, CLOSED, AT_ONCE };
enum { CONSTANT, POISSON, UNIFORM, GAMMA };
enum { BLOCK, DROP_NEW, DROP_OLD };

typedef struct Settings { i64 horizon, warmup, kernels, streams, stations, stages, struck, numbered, lines; } Settings;
typedef struct StreamRules {
    i64 first_stage, stages, arrivals, first, count, think, kind, ticks, high, frames, deadline, in_flight, queue, on_full,
        trace, traced, root;
} StreamRules;
typedef struct StageRules {
    i64 station, kind, ticks, high, priority, kernel, load_ticks, tail_ticks, line, needs, before, befores, root;
} StageRules;
typedef struct StationRules { i64 servers, depth; } StationRules;

typedef struct Effect { i64 good, over, free; } Effect;
typedef struct Struck { i64 stream, frame, job; Effect loaded, unloaded; } Struck;

typedef struct StageTally { i64 frames; i128 wait, load, served; } StageTally;
typedef struct StreamTally {
    i64 offered, dropped, failed, completed, late, measured, first_end, last_end, first_arrival, last_arrival, entered;
    i128 area, sojourn, outside, flight;
} StreamTally;
typedef struct StationTally { i64 started; i128 busy_area, served, queue_area, waited; } StationTally;

typedef struct JobState { i64 ready, begin, loaded, own_end, end; int32_t missing, critical; char bad, cancelled; } JobState;
typedef struct Frame {
    i64 number, arrival, entered, left, named, next_free;
    int32_t stream;
    char begun, gone, failed;
    JobState *jobs;
} Frame;
typedef struct Event { i64 tick; int32_t frame, job, server, stream; } Event; /* of a job, where job >= 0 */
enum { COMES = -1, FREE = -2 };  /* in place of a job: a frame of the stream comes; a server of station `frame` is free */
enum { NOT_FREE = -1 };          /* in place of a server: the job ends, and its server is free only later */
typedef struct Wait { i64 mark, ready, stream, number, job, frame; } Wait;
typedef struct Line { int32_t *at; i64 first, size, capacity; } Line;

typedef struct StreamState {
    const StreamRules *rules;
    StreamTally tally;
    Line line;
    i64 entered, held, outside, flying, present, since, made, last;
    i64 *latencies, *numbers, capacity, number_capacity;
    double cv;
} StreamState;

typedef struct StationState {
    StationTally tally;
    Wait *queue;
    i64 queued, capacity, waiting, busy, since, depth, idles;
    int32_t *idle; /* a heap: each server as often as it has room */
    i64 *held, *next_begin, *last_end; /* by server: jobs on it, when it can begin another, when the last of them ends */
    char *loaded;  /* by server and kernel */
} StationState;

typedef struct Load {
    const Settings *settings;
    const StageRules *stages;
    const i64 *edges, *traces;
    const Struck *struck; /* sorted by stream, frame and job */
    i64 *met;             /* 1 for each of them that met a job */
    i64 *line_ends;       /* by line: when the last job that started in it ends */
    const double *shapes;
    StageTally *paths;
    StreamState *streams;
    StationState *stations;
    Event *heap;
    i64 events, event_capacity;
    Frame *frames;
    i64 frame_count, frame_capacity, free_frame, most_stages, now;
    int failed;
} Load;

/* Draws, as draws.py has them. */

static u64 mix(u64 value) {
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
    return value ^ (value >> 31);
}

static double unit(u64 state, u64 index) {
    return ((double)(mix(mix(state + GOLDEN + index) + GOLDEN) >> 11) + 0.5) * 0x1p-53;
}

static double gamma_variate(u64 state, double cv) {
    double shape = 1.0 / (cv * cv), large = shape >= 1.0 ? shape : shape + 1.0;
    double d = large - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d), v;
    for (u64 index = 1;; index += 3) {
        double normal = sqrt(-2.0 * log(unit(state, index))) * cos(2.0 * PI * unit(state, index + 1));
        double cube = 1.0 + c * normal;
        if (cube > 0.0) {
            v = cube * cube * cube;
            if (log(unit(state, index + 2)) < 0.5 * normal * normal + d - d * v + d * log(v)) break;
        }
    }
    double value = d * v;
    if (shape < 1.0) value *= pow(unit(state, 0), 1.0 / shape);
    return value / shape;
}

static i64 ticks_of(i64 kind, i64 ticks, i64 high, double cv, u64 start, i64 number) {
    if (kind == CONSTANT) return ticks;
    u64 state = mix(start + GOLDEN + (u64)number);
    if (kind == POISSON) return (i64)floor(-log(unit(state, 0)) * (double)ticks + 0.5);
    if (kind == UNIFORM) {
        i64 span = high - ticks, drawn = (i64)floor(unit(state, 0) * (double)(span + 1));
        return ticks + (drawn < span ? drawn : span);
    }
    return (i64)floor(gamma_variate(state, cv) * (double)ticks + 0.5);
}

/* Containers. Each grows by doubling; where there is no memory the load has `failed`. */

static void *grown(Load *load, void *at, i64 *capacity, i64 wanted, size_t size) {
    if (wanted <= *capacity) return at;
    i64 more = *capacity ? *capacity : 16;
    while (more < wanted) more *= 2;
    void *larger = realloc(at, (size_t)more * size);
    if (!larger) {
        load->failed = 1;
        return at;
    }
    *capacity = more;
    return larger;
}

static void push_event(Load *load, Event event) {
    load->heap = grown(load, load->heap, &load->event_capacity, load->events + 1, sizeof(Event));
    if (load->failed) return;
    i64 at = load->events++;
    while (at > 0 && event.tick < load->heap[(at - 1) / 2].tick) {
        load->heap[at] = load->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    load->heap[at] = event;
}

static Event pop_event(Load *load) {
    Event top = load->heap[0], last = load->heap[--load->events];
    i64 at = 0;
    for (i64 child = 1; child < load->events; child = 2 * at + 1) {
        if (child + 1 < load->events && load->heap[child + 1].tick < load->heap[child].tick) child++;
        if (load->heap[child].tick >= last.tick) break;
        load->heap[at] = load->heap[child];
        at = child;
    }
    load->heap[at] = last;
    return top;
}

static int before(const Wait *a, const Wait *b) {
    if (a->mark != b->mark) return a->mark < b->mark;
    if (a->ready != b->ready) return a->ready < b->ready;
    if (a->stream != b->stream) return a->stream < b->stream;
    if (a->number != b->number) return a->number < b->number;
    return a->job < b->job;
}

static void push_wait(Load *load, StationState *station, Wait wait) {
    station->queue = grown(load, station->queue, &station->capacity, station->queued + 1, sizeof(Wait));
    if (load->failed) return;
    i64 at = station->queued++;
    while (at > 0 && before(&wait, &station->queue[(at - 1) / 2])) {
        station->queue[at] = station->queue[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    station->queue[at] = wait;
}

static Wait pop_wait(StationState *station) {
    Wait top = station->queue[0], last = station->queue[--station->queued];
    i64 at = 0;
    for (i64 child = 1; child < station->queued; child = 2 * at + 1) {
        if (child + 1 < station->queued && before(&station->queue[child + 1], &station->queue[child])) child++;
        if (!before(&station->queue[child], &last)) break;
        station->queue[at] = station->queue[child];
        at = child;
    }
    station->queue[at] = last;
    return top;
}

static void push_idle(StationState *station, int32_t server) {
    i64 at = station->idles++;
    while (at > 0 && server < station->idle[(at - 1) / 2]) {
        station->idle[at] = station->idle[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    station->idle[at] = server;
}

static int32_t pop_idle(StationState *station) {
    int32_t top = station->idle[0], last = station->idle[--station->idles];
    i64 at = 0;
    for (i64 child = 1; child < station->idles; child = 2 * at + 1) {
        if (child + 1 < station->idles && station->idle[child + 1] < station->idle[child]) child++;
        if (station->idle[child] >= last) break;
        station->idle[at] = station->idle[child];
        at = child;
    }
    station->idle[at] = last;
    return top;
}

static int32_t *in_line(Line *line, i64 place) { return &line->at[(line->first + place) & (line->capacity - 1)]; }

static void push_line(Load *load, Line *line, int32_t frame) {
    if (line->size == line->capacity) { /* a ring: laid out anew from its first */
        i64 capacity = line->capacity ? 2 * line->capacity : 16;
        int32_t *at = malloc((size_t)capacity * sizeof *at);
        if (!at) {
            load->failed = 1;
            return;
        }
        for (i64 place = 0; place < line->size; place++) at[place] = *in_line(line, place);
        free(line->at);
        *line = (Line){at, 0, line->size, capacity};
    }
    line->size++;
    *in_line(line, line->size - 1) = frame;
}

static int32_t take_front(Line *line) {
    int32_t frame = *in_line(line, 0);
    line->first++;
    line->size--;
    return frame;
}

static int32_t new_frame(Load *load) {
    i64 index = load->free_frame;
    if (index >= 0) {
        load->free_frame = load->frames[index].next_free;
        return (int32_t)index;
    }
    i64 capacity = load->frame_capacity;
    load->frames = grown(load, load->frames, &load->frame_capacity, load->frame_count + 1, sizeof(Frame));
    if (load->failed) return -1;
    for (; capacity < load->frame_capacity; capacity++) load->frames[capacity].jobs = NULL;
    index = load->frame_count++;
    if (index >= INT32_MAX) load->failed = 1;
    load->frames[index].jobs = malloc((size_t)load->most_stages * sizeof(JobState));
    if (!load->frames[index].jobs) load->failed = 1;
    return (int32_t)index;
}

static void free_frame(Load *load, int32_t index) {
    load->frames[index].next_free = load->free_frame;
    load->free_frame = index;
}

/* Time passes. */

static void pass_stream(StreamState *state, i64 now) {
    state->tally.area += (i128)state->present * (now - state->since);
    state->since = now;
}

static void pass_station(StationState *station, i64 now) {
    i64 span = now - station->since;
    station->tally.busy_area += (i128)station->busy * span;
    station->tally.queue_area += (i128)station->waiting * span;
    station->since = now;
}

/* Arrivals. */

static void expect(Load *load, i64 number, i64 tick) {
    StreamState *state = &load->streams[number];
    if (state->made < state->rules->frames && tick < load->settings->horizon) {
        push_event(load, (Event){tick, -1, COMES, -1, (int32_t)number});
        state->made++;
    }
}

static void expect_next(Load *load, i64 number) {
    StreamState *state = &load->streams[number];
    const StreamRules *rules = state->rules;
    if (rules->arrivals == TRACE) {
        if (state->made < rules->traced) expect(load, number, load->traces[rules->trace + state->made]);
        return;
    }
    if (rules->arrivals == EVERY)
        state->last = state->made == 0 ? rules->first : state->last + rules->ticks;
    else
        state->last += ticks_of(rules->kind, rules->ticks, rules->high, state->cv, (u64)rules->root, state->made);
    expect(load, number, state->last);
}

static void start_arrivals(Load *load, i64 number) {
    const StreamRules *rules = load->streams[number].rules;
    if (rules->arrivals != CLOSED && rules->arrivals != AT_ONCE) {
        expect_next(load, number);
        return;
    }
    i64 count = rules->count < rules->frames ? rules->count : rules->frames;
    for (i64 frame = 0; frame < count && !load->failed; frame++) expect(load, number, rules->first);
}

static void come(Load *load, i64 number) {
    StreamState *state = &load->streams[number];
    int32_t index = new_frame(load);
    if (load->failed) return;
    Frame *frame = &load->frames[index];
    JobState *jobs = frame->jobs;
    *frame = (Frame){.number = state->tally.offered, .arrival = load->now, .entered = -1, .stream = (int32_t)number};
    frame->jobs = jobs;
    pass_stream(state, load->now);
    state->present++;
    state->tally.offered++;
    state->tally.last_arrival = load->now;
    if (state->tally.first_arrival < 0) state->tally.first_arrival = load->now;
    push_line(load, &state->line, index);
    if (state->rules->on_full == BLOCK)
        state->outside++;
    else
        state->held++;
    if (state->rules->arrivals <= TRACE) expect_next(load, number);
}

/* Passes. */

static void ready(Load *load, int32_t index, i64 job) {
    Frame *frame = &load->frames[index];
    StreamState *state = &load->streams[frame->stream];
    const StageRules *stage = &load->stages[state->rules->first_stage + job];
    StationState *station = &load->stations[stage->station];
    frame->jobs[job].ready = load->now;
    pass_station(station, load->now);
    station->waiting++;
    frame->named++;
    i64 mark = station->tally.started - stage->priority * PATIENCE;
    push_wait(load, station, (Wait){mark, load->now, frame->stream, frame->number, job, index});
}

static void begin(Load *load, StreamState *state, int32_t index) {
    Frame *frame = &load->frames[index];
    const StageRules *stages = &load->stages[state->rules->first_stage];
    state->flying++;
    frame->entered = load->now;
    frame->left = state->rules->stages;
    for (i64 job = 0; job < state->rules->stages; job++)
        frame->jobs[job] = (JobState){.missing = (int32_t)stages[job].needs, .critical = -1};
    for (i64 job = 0; job < state->rules->stages && !load->failed; job++)
        if (!stages[job].needs) ready(load, index, job);
}

static int enter(Load *load, StreamState *state) {
    int changed = 0;
    while (state->outside && state->entered + state->held < state->rules->queue) {
        state->outside--;
        state->held++;
        changed = 1;
    }
    while (state->held && state->flying < state->rules->in_flight && !load->failed) {
        begin(load, state, *in_line(&state->line, state->entered));
        state->held--;
        state->entered++;
        changed = 1;
    }
    return changed;
}

/* What a fault makes of a job that starts; NULL where none strikes it. */
static const Effect *strike(Load *load, const Frame *frame, i64 job, int loads) {
    i64 low = 0, high = load->settings->struck;
    while (low < high) {
        i64 middle = (low + high) / 2;
        const Struck *at = &load->struck[middle];
        int less = at->stream != frame->stream   ? at->stream < frame->stream
                   : at->frame != frame->number ? at->frame < frame->number
                                                : at->job < job;
        if (less)
            low = middle + 1;
        else
            high = middle;
    }
    const Struck *found = &load->struck[low];
    if (low == load->settings->struck || found->stream != frame->stream || found->frame != frame->number ||
        found->job != job)
        return NULL;
    load->met[low] = 1;
    return loads ? &found->unloaded : &found->loaded;
}

static void start(Load *load, StationState *station, int32_t server, const Wait *wait) {
    Frame *frame = &load->frames[wait->frame];
    StreamState *state = &load->streams[frame->stream];
    i64 row = state->rules->first_stage + wait->job;
    const StageRules *stage = &load->stages[row];
    JobState *job = &frame->jobs[wait->job];
    if (!frame->begun) {
        frame->begun = 1;
        take_front(&state->line);
        state->entered--;
    }
    int loads = 0;
    if (stage->kernel >= 0) {
        char *loaded = &station->loaded[server * load->settings->kernels + stage->kernel];
        loads = !*loaded;
        *loaded = 1;
    }
    job->loaded = loads ? stage->load_ticks : 0;
    double cv = load->shapes[load->settings->streams + row];
    i64 ticks = ticks_of(stage->kind, stage->ticks, stage->high, cv, (u64)stage->root, frame->number) + job->loaded;
    i64 occupied = ticks;
    const Effect *effect = load->settings->struck ? strike(load, frame, wait->job, loads) : NULL;
    if (effect) {
        ticks = effect->over;
        occupied = effect->free > ticks ? effect->free : ticks;
        job->bad = !effect->good;
    }
    pass_station(station, load->now);
    station->waiting--;
    station->busy += !station->held[server]++;
    station->tally.started++;
    station->tally.waited += load->now - job->ready;
    job->begin = load->now;
    if (station->depth > 1 && ticks) {
        if (station->next_begin[server] > load->now) job->begin = station->next_begin[server];
        ticks += job->begin - load->now;
        occupied = ticks;
        station->next_begin[server] = load->now + ticks - stage->tail_ticks;
    }
    i64 *last_end = &station->last_end[server], ends = load->now + occupied;
    if (ends > *last_end) {
        station->tally.served += ends - (*last_end > load->now ? *last_end : load->now);
        *last_end = ends;
    }
    job->own_end = load->now + ticks;
    if (stage->line >= 0) { /* it ends for its frame no sooner than those before it in its line */
        i64 *line_end = &load->line_ends[stage->line];
        if (*line_end > job->own_end) ticks = *line_end - load->now;
        *line_end = load->now + ticks;
    }
    if (occupied != ticks) {
        push_event(load, (Event){load->now + occupied, (int32_t)stage->station, FREE, server, frame->stream});
        if (load->failed) return;
        server = NOT_FREE;
    }
    push_event(load, (Event){load->now + ticks, (int32_t)wait->frame, (int32_t)wait->job, server, frame->stream});
}

static int give(Load *load, StationState *station) {
    int changed = 0;
    while (station->idles && station->queued && !load->failed) {
        Wait wait = pop_wait(station);
        Frame *frame = &load->frames[wait.frame];
        frame->named--;
        if (!frame->gone) {
            start(load, station, pop_idle(station), &wait);
            changed = 1;
        } else if (!frame->named) {
            free_frame(load, (int32_t)wait.frame);
        }
    }
    return changed;
}

/* Ends. */

static void leave(Load *load, StreamState *state, int32_t index) {
    Frame *frame = &load->frames[index];
    i64 number = frame->stream;
    pass_stream(state, load->now);
    state->present--;
    state->tally.sojourn += load->now - frame->arrival;
    if (frame->entered >= 0) {
        state->flying--;
        state->tally.entered++;
        state->tally.flight += load->now - frame->entered;
    }
    if (!frame->named) free_frame(load, index);
    if (state->rules->arrivals == CLOSED) expect(load, number, load->now + state->rules->think);
}

static void walk_back(Load *load, StreamState *state, const Frame *frame) {
    i64 last = 0;
    for (i64 job = 1; job < state->rules->stages; job++)
        if (frame->jobs[job].end > frame->jobs[last].end) last = job;
    for (i64 job = last; job >= 0; job = frame->jobs[job].critical) {
        const JobState *at = &frame->jobs[job];
        StageTally *tally = &load->paths[state->rules->first_stage + job];
        tally->frames++;
        tally->wait += at->begin - at->ready + at->end - at->own_end;
        tally->load += at->loaded;
        tally->served += at->own_end - at->begin - at->loaded;
    }
    state->tally.outside += frame->entered - frame->arrival;
}

static void complete(Load *load, int32_t index) {
    Frame *frame = &load->frames[index];
    StreamState *state = &load->streams[frame->stream];
    StreamTally *tally = &state->tally;
    i64 latency = load->now - frame->arrival;
    tally->completed++;
    tally->late += state->rules->deadline >= 0 && latency > state->rules->deadline;
    if (frame->number >= load->settings->warmup) {
        if (tally->first_end < 0) tally->first_end = load->now;
        state->latencies = grown(load, state->latencies, &state->capacity, tally->measured + 1, sizeof(i64));
        if (load->settings->numbered) {
            state->numbers =
                grown(load, state->numbers, &state->number_capacity, tally->measured + 1, sizeof(i64));
            if (!load->failed) state->numbers[tally->measured] = frame->number;
        }
        if (load->failed) return;
        state->latencies[tally->measured++] = latency;
        walk_back(load, state, frame);
    }
    tally->last_end = load->now;
    leave(load, state, index);
}

static void free_server(Load *load, StationState *station, int32_t server) {
    pass_station(station, load->now);
    station->busy -= !--station->held[server];
    push_idle(station, server);
}

/* A job has failed: those that need it, directly or not, never start. Jobs are behind those that they need. */
static void cancel_behind(Load *load, StreamState *state, Frame *frame, i64 failed) {
    frame->failed = 1;
    for (i64 job = failed; job < state->rules->stages; job++) {
        if (job != failed && !frame->jobs[job].cancelled) continue;
        const StageRules *stage = &load->stages[state->rules->first_stage + job];
        for (i64 edge = 0; edge < stage->befores; edge++) {
            JobState *next = &frame->jobs[load->edges[stage->before + edge]];
            if (!next->cancelled) frame->left--;
            next->cancelled = 1;
        }
    }
}

static void hand_on(Load *load, const StageRules *stage, const Event *event) {
    Frame *frame = &load->frames[event->frame];
    for (i64 edge = 0; edge < stage->befores && !load->failed; edge++) {
        i64 other = load->edges[stage->before + edge];
        JobState *next = &frame->jobs[other];
        i64 last = next->critical < 0 ? -1 : frame->jobs[next->critical].end;
        if (load->now > last || (load->now == last && event->job < next->critical)) next->critical = event->job;
        if (!--next->missing) ready(load, event->frame, other);
    }
}

static void end(Load *load, const Event *event) {
    Frame *frame = &load->frames[event->frame];
    StreamState *state = &load->streams[frame->stream];
    const StageRules *stage = &load->stages[state->rules->first_stage + event->job];
    if (event->server != NOT_FREE) free_server(load, &load->stations[stage->station], event->server);
    frame->jobs[event->job].end = load->now;
    if (frame->jobs[event->job].bad)
        cancel_behind(load, state, frame, event->job);
    else
        hand_on(load, stage, event);
    if (--frame->left) return;
    if (frame->failed) {
        state->tally.failed++;
        leave(load, state, event->frame);
    } else {
        complete(load, event->frame);
    }
}

/* Drops. */

static void go(Load *load, StreamState *state, int newest) {
    int32_t index = newest ? *in_line(&state->line, state->line.size - 1) : take_front(&state->line);
    if (newest) state->line.size--;
    Frame *frame = &load->frames[index];
    const StageRules *stages = &load->stages[state->rules->first_stage];
    frame->gone = 1;
    state->tally.dropped++;
    if (frame->entered < 0) {
        state->held--;
    } else {
        state->entered--;
        for (i64 job = 0; job < state->rules->stages; job++) {
            if (stages[job].needs) continue;
            StationState *station = &load->stations[stages[job].station];
            pass_station(station, load->now);
            station->waiting--;
            station->tally.waited += load->now - frame->jobs[job].ready;
        }
    }
    leave(load, state, index);
}

static int drop(Load *load) {
    int changed = 0;
    for (i64 number = 0; number < load->settings->streams; number++) {
        StreamState *state = &load->streams[number];
        if (state->rules->on_full == BLOCK) continue;
        while (state->entered + state->held > state->rules->queue && !load->failed) {
            go(load, state, state->rules->on_full == DROP_NEW);
            changed = 1;
        }
    }
    return changed;
}

/* All of it. */

static void one_tick(Load *load) {
    load->now = load->heap[0].tick;
    for (int changed = 1; changed && !load->failed;) {
        while (load->events && load->heap[0].tick == load->now && !load->failed) {
            Event event = pop_event(load);
            if (event.job == COMES)
                come(load, event.stream);
            else if (event.job == FREE)
                free_server(load, &load->stations[event.frame], event.server);
            else
                end(load, &event);
        }
        changed = 0;
        for (i64 number = 0; number < load->settings->streams; number++)
            changed |= enter(load, &load->streams[number]);
        for (i64 number = 0; number < load->settings->stations; number++)
            changed |= give(load, &load->stations[number]);
        if (!changed) changed = drop(load);
    }
}

static int go_on(Load *load) {
    for (i64 number = 0; number < load->settings->streams && !load->failed; number++) start_arrivals(load, number);
    while (load->events && !load->failed) {
        Py_BEGIN_ALLOW_THREADS
        for (i64 ticks = 0; ticks < BREATH && load->events && !load->failed; ticks++) one_tick(load);
        Py_END_ALLOW_THREADS
        if (PyErr_CheckSignals()) return -1;
    }
    if (load->failed) PyErr_NoMemory();
    return load->failed ? -1 : 0;
}

static i64 *put(i64 *at, i128 sum) {
    *at++ = (i64)(u64)sum;
    *at++ = (i64)(sum >> 64);
    return at;
}

static PyObject *figures(const Load *load) {
    const Settings *settings = load->settings;
    i64 count = 19 * settings->streams + 7 * settings->stages + 9 * settings->stations + 1 + settings->struck;
    i64 *rows = malloc((size_t)count * sizeof *rows), *at = rows;
    if (!rows) return PyErr_NoMemory();
    for (i64 number = 0; number < settings->streams; number++) {
        const StreamTally *t = &load->streams[number].tally;
        i64 plain[] = {t->offered,   t->dropped,  t->failed,        t->completed,    t->late,   t->measured,
                       t->first_end, t->last_end, t->first_arrival, t->last_arrival, t->entered};
        memcpy(at, plain, sizeof plain);
        at += sizeof plain / sizeof *plain;
        at = put(put(put(put(at, t->area), t->sojourn), t->outside), t->flight);
    }
    for (i64 row = 0; row < settings->stages; row++) {
        const StageTally *t = &load->paths[row];
        *at++ = t->frames;
        at = put(put(put(at, t->wait), t->load), t->served);
    }
    for (i64 number = 0; number < settings->stations; number++) {
        const StationTally *t = &load->stations[number].tally;
        *at++ = t->started;
        at = put(put(put(put(at, t->busy_area), t->served), t->queue_area), t->waited);
    }
    *at++ = load->now;
    for (i64 place = 0; place < settings->struck; place++) *at++ = load->met[place];
    PyObject *result = PyBytes_FromStringAndSize((char *)rows, (Py_ssize_t)(count * (i64)sizeof *rows));
    free(rows);
    return result;
}

/* The latencies of each stream, or the numbers of their frames, as bytes; of the numbers none where the load is not numbered. */
static PyObject *by_stream(const Load *load, int numbers) {
    PyObject *list = PyList_New(0);
    if (!list) return NULL;
    for (i64 number = 0; number < load->settings->streams; number++) {
        const StreamState *state = &load->streams[number];
        i64 count = numbers && !load->settings->numbered ? 0 : state->tally.measured;
        const i64 *at = numbers ? state->numbers : state->latencies;
        PyObject *one = PyBytes_FromStringAndSize((const char *)at, (Py_ssize_t)(count * (i64)sizeof(i64)));
        if (!one || PyList_Append(list, one)) {
            Py_XDECREF(one);
            Py_DECREF(list);
            return NULL;
        }
        Py_DECREF(one);
    }
    return list;
}

static PyObject *results(const Load *load) {
    PyObject *rows = figures(load), *latencies = by_stream(load, 0), *numbers = by_stream(load, 1);
    if (rows && latencies && numbers) return Py_BuildValue("NNN", rows, latencies, numbers);
    Py_XDECREF(rows);
    Py_XDECREF(latencies);
    Py_XDECREF(numbers);
    return NULL;
}

static int prepare(Load *load, const StationRules *stations, const StreamRules *streams) {
    const Settings *settings = load->settings;
    load->paths = calloc((size_t)settings->stages + 1, sizeof(StageTally));
    load->met = calloc((size_t)settings->struck + 1, sizeof *load->met);
    load->line_ends = calloc((size_t)settings->lines + 1, sizeof *load->line_ends);
    load->streams = calloc((size_t)settings->streams + 1, sizeof(StreamState));
    load->stations = calloc((size_t)settings->stations + 1, sizeof(StationState));
    if (!load->paths || !load->met || !load->line_ends || !load->streams || !load->stations) return -1;
    for (i64 number = 0; number < settings->streams; number++) {
        StreamState *state = &load->streams[number];
        state->rules = &streams[number];
        state->tally.first_end = state->tally.last_end = -1;
        state->tally.first_arrival = state->tally.last_arrival = -1;
        state->cv = load->shapes[number];
        if (streams[number].stages > load->most_stages) load->most_stages = streams[number].stages;
    }
    for (i64 number = 0; number < settings->stations; number++) {
        StationState *station = &load->stations[number];
        i64 servers = stations[number].servers, depth = stations[number].depth;
        station->depth = depth;
        station->idle = calloc((size_t)(servers * depth), sizeof(int32_t));
        station->held = calloc((size_t)servers, sizeof(i64));
        station->next_begin = calloc((size_t)servers, sizeof(i64));
        station->last_end = calloc((size_t)servers, sizeof(i64));
        station->loaded = calloc((size_t)(servers * settings->kernels) + 1, 1);
        if (!station->idle || !station->held || !station->next_begin || !station->last_end || !station->loaded) return -1;
        for (i64 place = 0; place < servers * depth; place++) push_idle(station, (int32_t)(place / depth));
    }
    return 0;
}

static void release(Load *load) {
    for (i64 number = 0; load->streams && number < load->settings->streams; number++) {
        free(load->streams[number].latencies);
        free(load->streams[number].numbers);
        free(load->streams[number].line.at);
    }
    for (i64 number = 0; load->stations && number < load->settings->stations; number++) {
        free(load->stations[number].queue);
        free(load->stations[number].idle);
        free(load->stations[number].held);
        free(load->stations[number].next_begin);
        free(load->stations[number].last_end);
        free(load->stations[number].loaded);
    }
    for (i64 index = 0; index < load->frame_count; index++) free(load->frames[index].jobs);
    free(load->frames);
    free(load->heap);
    free(load->paths);
    free(load->met);
    free(load->line_ends);
    free(load->streams);
    free(load->stations);
}

static PyObject *count(PyObject *module, PyObject *args) {
    Py_buffer settings, stations, streams, stages, edges, traces, shapes, struck;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*y*y*", &settings, &stations, &streams, &stages, &edges, &traces, &shapes,
                          &struck))
        return NULL;
    Load load = {
        .settings = settings.buf, .stages = stages.buf, .edges = edges.buf, .traces = traces.buf,
        .shapes = shapes.buf, .struck = struck.buf, .free_frame = -1, .most_stages = 1,
    };
    PyObject *result = NULL;
    if (prepare(&load, stations.buf, streams.buf))
        PyErr_NoMemory();
    else if (!go_on(&load))
        result = results(&load);
    release(&load);
    Py_buffer *all[] = {&settings, &stations, &streams, &stages, &edges, &traces, &shapes, &struck};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) PyBuffer_Release(all[i]);
    return result;
}

static PyMethodDef methods[] = {
    {"count", count, METH_VARARGS, "The figures of a load and the latencies of its streams, as load_tables.py lays them out."},
    {NULL, NULL, 0, NULL},
};

/* The number of these sources, which the caller must know, too: python -m tests.native_sources writes it. */
#define TESSBED_SOURCES 0x0ED1F2B8

static int exec_module(PyObject *module) { return PyModule_AddIntConstant(module, "SOURCES", TESSBED_SOURCES); }

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)exec_module}, {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_load", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__load(void) { return PyModuleDef_Init(&definition); }
