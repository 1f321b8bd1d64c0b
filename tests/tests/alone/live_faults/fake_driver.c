/* A CUDA driver for tests. The memory of its GPUs is this process's memory. Work is done as late as possible:
 * it is queued, and done only when the host waits for it, queries it, or frees device memory. A buffer that is
 * reused too early therefore changes the pictures.
 *
 * A test can make any call fail. A failing call has no effect. Kernels are recognised by name:
 * - `stitch_…` copies the left picture to the left half of the panorama, and the right picture to the right half.
 * - `colour_sums` counts every pixel that is not dark, with weight 1.
 * - `find_overlap` returns the middle half of the panorama.
 * - `seam_cells` marks one cell as covered by only the left camera, and one by only the right camera.
 * - Other kernels do nothing.
 * A texture reads the picture rows that it was created for.
 *
 * Freed memory and textures stay mapped until `fake_reset`. Work that accesses them is counted as damage. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { INVALID_VALUE = 1, NO_MEMORY = 2, INVALID_DEVICE = 101, INVALID_CONTEXT = 201, NOT_READY = 600 };

/* The kinds of objects, in the order of `panoweave::device::Counters`, followed by contexts. */
enum { DEVICE_BYTES, PINNED_BYTES, STREAMS, EVENTS, MODULES, TEXTURES, ARRAYS, CONTEXTS, KINDS };

/* The number of GPUs. A process that loses a GPU cannot use it again, so tests need many. */
enum { DEVICES = 64 };

/* Alignment of memory and of a texture's first row, and of a texture's pitch, in bytes. */
enum { ALIGNMENT = 512, PITCH = 32 };

typedef struct {
    uint64_t data;
    uint32_t width, height, pitch;
} View;

/* `CUDA_MEMCPY2D` of cuda.h. */
typedef struct {
    size_t from_x, from_y;
    int from_type;
    const void *from_host;
    uint64_t from_device;
    void *from_array;
    size_t from_pitch;
    size_t to_x, to_y;
    int to_type;
    void *to_host;
    uint64_t to_device;
    void *to_array;
    size_t to_pitch, width, height;
} Copy;

enum { HOST = 1, DEVICE = 2 };

/* The first fields of `CUDA_RESOURCE_DESC` for a pitched image. */
typedef struct {
    int type;
    uint64_t data;
    int format;
    unsigned channels;
    size_t width, height, pitch;
} Resource;

enum { ROWS = 3 };

typedef struct Texture {
    View rows;
    int live;
    struct Texture *next;
} Texture;

typedef struct Memory {
    uint8_t *data;
    size_t bytes;
    int kind, live;
    struct Memory *next;
} Memory;

typedef struct Stream Stream;

/* A point in a stream: the end of its first `behind` tasks. */
typedef struct {
    Stream *stream;
    uint64_t behind;
} Point;

typedef struct Event {
    Point point;
    int live;
    struct Event *next;
} Event;

typedef struct Function {
    char name[64];
    struct Function *next;
} Function;

typedef struct Task {
    enum { COPY, SET, WAIT, LAUNCH } what;
    const uint8_t *from;
    uint8_t *to;
    int from_kind, to_kind;
    size_t from_pitch, to_pitch, width, height;
    int value;
    Point point;
    const Function *function;
    View left, right, out;
    /* The textures through which the kernel reads `left` and `right`, or NULL. */
    const Texture *textures[2];
    struct Task *next;
} Task;

struct Stream {
    Task *first, **last;
    uint64_t submitted, done;
    int live;
    Stream *next;
};

/* `lock` guards all of the following. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static Memory *memories;
static Event *events;
static Function *functions;
static Texture *textures;
static Stream default_stream, *streams;
static int retained[DEVICES];
static int64_t live[KINDS], peak[KINDS], damage;
static int64_t calls, matching, failed;
static struct {
    char label[64];
    int64_t from, count;
    int code;
} fault;
static char hung[64];
static __thread int *current;

static void count(int kind, int64_t amount) {
    live[kind] += amount;
    if (live[kind] > peak[kind]) peak[kind] = live[kind];
}

/* Takes the lock and counts the call. Returns the error code with which the call must fail, or 0. */
static int begin(const char *label) {
    pthread_mutex_lock(&lock);
    calls++;
    if (!fault.code || !strstr(label, fault.label)) return 0;
    matching++;
    int after = fault.count == 0 || matching < fault.from + fault.count;
    if (matching < fault.from || !after) return 0;
    failed++;
    return fault.code;
}

static int end(int result) {
    pthread_mutex_unlock(&lock);
    return result;
}

#define BEGIN                                \
    do {                                     \
        int injected = begin(__func__);      \
        if (injected) return end(injected);  \
    } while (0)

/* Begins a call that needs a current context on its thread. */
#define BEGIN_IN_CONTEXT                                        \
    do {                                                        \
        BEGIN;                                                  \
        if (!current || !*current) return end(INVALID_CONTEXT); \
    } while (0)

static int holds(int kind, const void *from, size_t bytes) {
    const uint8_t *start = from;
    for (Memory *m = memories; m; m = m->next)
        if (m->live && m->kind == kind && start >= m->data && start + bytes <= m->data + m->bytes)
            return 1;
    return 0;
}

static size_t span(size_t pitch, size_t width, size_t height) {
    return height ? pitch * (height - 1) + width : 0;
}

static int is_sound(View v) {
    return holds(DEVICE_BYTES, (void *)v.data, span(v.pitch, 4 * (size_t)v.width, v.height));
}

static const uint8_t *pixel(View v, uint32_t x, uint32_t y) {
    return (uint8_t *)v.data + (size_t)(y % v.height) * v.pitch + 4 * (size_t)(x % v.width);
}

static void stitch(const Task *t) {
    for (int i = 0; i < 2; i++)
        if (t->textures[i] && !t->textures[i]->live) damage++;
    if (!is_sound(t->left) || !is_sound(t->right) || !is_sound(t->out)) {
        damage++;
        return;
    }
    for (uint32_t y = 0; y < t->out.height; y++)
        for (uint32_t x = 0; x < t->out.width; x++)
            memcpy((uint8_t *)pixel(t->out, x, y), pixel(x < t->out.width / 2 ? t->left : t->right, x, y), 4);
}

static void colour_sums(const Task *t) {
    if (!is_sound(t->left) || !is_sound(t->right) || !holds(DEVICE_BYTES, t->to, 36)) {
        damage++;
        return;
    }
    float sums[9] = {0};
    for (uint32_t y = 0; y < t->left.height; y++)
        for (uint32_t x = 0; x < t->left.width; x++) {
            const uint8_t *left = pixel(t->left, x, y), *right = pixel(t->right, x, y);
            if (left[0] < 8 || right[0] < 8) continue;
            for (int c = 0; c < 4; c++) {
                sums[c] += left[c];
                sums[4 + c] += right[c];
            }
            sums[8]++;
        }
    memcpy(t->to, sums, sizeof sums);
}

static void find_overlap(const Task *t) {
    uint32_t corners[4] = {t->out.width / 4, 0, t->out.width * 3 / 4, t->out.height};
    if (holds(DEVICE_BYTES, t->to, sizeof corners))
        memcpy(t->to, corners, sizeof corners);
    else
        damage++;
}

/* Marks two cells: one covered by only the left camera, one by only the right camera. The kernels of the path
 * search do nothing, so the path costs 0. */
static void seam_cells(const Task *t) {
    uint32_t sees[2] = {1, 2};
    if (is_sound(t->out) && t->out.width > 1)
        memcpy((uint8_t *)t->out.data, sees, sizeof sees);
    else
        damage++;
}

static void launch(const Task *t) {
    if (strstr(t->function->name, "stitch_")) stitch(t);
    if (strstr(t->function->name, "colour_sums")) colour_sums(t);
    if (strstr(t->function->name, "find_overlap")) find_overlap(t);
    if (strstr(t->function->name, "seam_cells")) seam_cells(t);
}

static void copy_rows(const Task *t) {
    for (size_t y = 0; y < t->height; y++)
        memcpy(t->to + y * t->to_pitch, t->from + y * t->from_pitch, t->width);
}

static void copy(const Task *t) {
    if (holds(t->from_kind, t->from, span(t->from_pitch, t->width, t->height)) &&
        holds(t->to_kind, t->to, span(t->to_pitch, t->width, t->height)))
        copy_rows(t);
    else
        damage++;
}

static void set(const Task *t) {
    if (holds(DEVICE_BYTES, t->to, t->width))
        memset(t->to, t->value, t->width);
    else
        damage++;
}

/* Executes the tasks of a stream up to a point. Returns false if a kernel hangs. */
static int run(Point point) {
    Stream *s = point.stream;
    while (s && s->done < point.behind) {
        Task *t = s->first;
        if (t->what == WAIT && !run(t->point)) return 0;
        if (t->what == LAUNCH && hung[0] && strstr(t->function->name, hung)) return 0;
        if (t->what == LAUNCH) launch(t);
        if (t->what == SET) set(t);
        if (t->what == COPY) copy(t);
        s->first = t->next;
        if (!s->first) s->last = &s->first;
        s->done++;
        free(t);
    }
    return 1;
}

static Point end_of(Stream *s) { return (Point){s, s->submitted}; }

static void wait_for(Point point) {
    while (!run(point)) pthread_cond_wait(&released, &lock);
}

static void wait_for_all(void) {
    wait_for(end_of(&default_stream));
    for (Stream *s = streams; s; s = s->next) wait_for(end_of(s));
}

static Stream *stream_of(void *handle) { return handle ? handle : &default_stream; }

static void submit(Stream *s, Task task) {
    Task *t = malloc(sizeof *t);
    *t = task;
    t->next = NULL;
    if (!s->first) s->last = &s->first;
    *s->last = t;
    s->last = &t->next;
    s->submitted++;
}

static int allocate(int kind, void **data, size_t bytes) {
    Memory *m = malloc(sizeof *m);
    *m = (Memory){aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT), bytes, kind, 1, memories};
    memories = m;
    /* New memory is not zero, so that a read of uninitialised memory changes the results. */
    memset(m->data, 0xa5, bytes);
    *data = m->data;
    count(kind, bytes);
    return 0;
}

static int give_back(int kind, void *data) {
    for (Memory *m = memories; m; m = m->next)
        if (m->live && m->kind == kind && m->data == data) {
            m->live = 0;
            count(kind, -(int64_t)m->bytes);
            return 0;
        }
    damage++;
    return INVALID_VALUE;
}

/* Functions that tests call to control the driver. */

/* Makes calls fail with `code` if the name of the function or kernel contains `label`. `count` matching calls
 * fail, starting at the `from`th; if `count` is 0, all later ones fail. Resets the counts except the damage. */
void fake_fail(const char *label, int64_t from, int64_t count, int code) {
    pthread_mutex_lock(&lock);
    strncpy(fault.label, label, sizeof fault.label - 1);
    fault.from = from, fault.count = count, fault.code = code;
    calls = matching = failed = 0;
    pthread_mutex_unlock(&lock);
}

/* Makes launches of kernels whose name contains `kernel` hang. An empty name releases them. */
void fake_hang(const char *kernel) {
    pthread_mutex_lock(&lock);
    strncpy(hung, kernel, sizeof hung - 1);
    pthread_cond_broadcast(&released);
    pthread_mutex_unlock(&lock);
}

/* Returns the number of calls since `fake_fail` or `fake_reset`, the number of those that a fault made
 * fail, and the damage. */
void fake_counts(int64_t counts[3]) {
    pthread_mutex_lock(&lock);
    counts[0] = calls, counts[1] = failed, counts[2] = damage;
    pthread_mutex_unlock(&lock);
}

/* Returns the number of live objects of each kind, and the maxima since `fake_reset`. */
void fake_live(int64_t now[KINDS], int64_t most[KINDS]) {
    pthread_mutex_lock(&lock);
    memcpy(now, live, sizeof live);
    memcpy(most, peak, sizeof peak);
    pthread_mutex_unlock(&lock);
}

/* Returns whether this thread has a current context. */
int fake_has_context(void) { return current != NULL; }

/* Frees all objects and removes all faults. None of the objects may be used afterwards. */
void fake_reset(void) {
    pthread_mutex_lock(&lock);
    memset(&fault, 0, sizeof fault);
    memset(hung, 0, sizeof hung);
    wait_for_all();
    for (Memory *m; (m = memories); free(m)) memories = m->next, free(m->data);
    for (Event *e; (e = events); free(e)) events = e->next;
    for (Texture *t; (t = textures); free(t)) textures = t->next;
    for (Stream *s; (s = streams); free(s)) streams = s->next;
    memset(retained, 0, sizeof retained);
    memset(live, 0, sizeof live);
    memset(peak, 0, sizeof peak);
    calls = matching = failed = damage = 0;
    current = NULL;
    pthread_mutex_unlock(&lock);
}

/* Functions of the CUDA driver API. */

int cuGetErrorName(int code, const char **text) { return *text = "CUDA_ERROR_OF_THE_FAKE", 0; }
int cuGetErrorString(int code, const char **text) { return *text = "injected by a test", 0; }

int cuInit(unsigned flags) {
    BEGIN;
    return end(0);
}

int cuDeviceGetCount(int *count) {
    BEGIN;
    *count = DEVICES;
    return end(0);
}

int cuDeviceGet(int *device, int ordinal) {
    BEGIN;
    if (ordinal < 0 || ordinal >= DEVICES) return end(INVALID_DEVICE);
    *device = ordinal;
    return end(0);
}

int cuDeviceGetName(char *name, int room, int device) {
    BEGIN;
    strncpy(name, "a fake GPU", room);
    return end(0);
}

int cuDeviceGetAttribute(int *value, int which, int device) {
    BEGIN;
    /* Compute capability 9.0, number of multiprocessors, alignment and pitch of textures. */
    *value = which == 75   ? 9
             : which == 76 ? 0
             : which == 16 ? 132
             : which == 14 ? ALIGNMENT
             : which == 51 ? PITCH
                           : 227 << 10;
    return end(0);
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    BEGIN;
    *bytes = (size_t)80 << 30;
    return end(0);
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
    BEGIN;
    *context = &retained[device];
    retained[device]++;
    count(CONTEXTS, 1);
    return end(0);
}

int cuDevicePrimaryCtxRelease_v2(int device) {
    BEGIN;
    if (!retained[device]) return end(INVALID_CONTEXT);
    retained[device]--;
    count(CONTEXTS, -1);
    return end(0);
}

int cuCtxGetCurrent(void **context) {
    BEGIN;
    *context = current;
    return end(0);
}

int cuCtxSetCurrent(void *context) {
    BEGIN;
    if (context && !*(int *)context) return end(INVALID_CONTEXT);
    current = context;
    return end(0);
}

int cuCtxSynchronize(void) {
    BEGIN_IN_CONTEXT;
    wait_for_all();
    return end(0);
}

int cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    BEGIN_IN_CONTEXT;
    *least = 0, *greatest = -5;
    return end(0);
}

int cuModuleLoadDataEx(void **module, const void *image, unsigned n, int *names, void **values) {
    BEGIN_IN_CONTEXT;
    *module = &functions;
    count(MODULES, 1);
    return end(0);
}

int cuModuleUnload(void *module) {
    BEGIN_IN_CONTEXT;
    count(MODULES, -1);
    return end(0);
}

int cuModuleGetFunction(void **function, void *module, const char *name) {
    BEGIN_IN_CONTEXT;
    Function *f = functions;
    while (f && strcmp(f->name, name)) f = f->next;
    if (!f) {
        f = calloc(1, sizeof *f);
        strncpy(f->name, name, sizeof f->name - 1);
        f->next = functions;
        functions = f;
    }
    *function = f;
    return end(0);
}

static View view(void **params, int at) {
    return (View){*(uint64_t *)params[at], *(uint32_t *)params[at + 1], *(uint32_t *)params[at + 2],
                  *(uint32_t *)params[at + 3]};
}

/* Returns the rows of the texture object in parameter `at`. */
static View read_by(const Texture **texture, void **params, int at) {
    *texture = *(void **)params[at];
    return (*texture)->rows;
}

int cuTexObjectCreate(void **texture, const Resource *resource, const void *description, const void *view) {
    BEGIN_IN_CONTEXT;
    if (resource->type != ROWS || resource->data % ALIGNMENT || resource->pitch % PITCH) return end(INVALID_VALUE);
    Texture *t = malloc(sizeof *t);
    *t = (Texture){{resource->data, resource->width, resource->height, resource->pitch}, 1, textures};
    *texture = textures = t;
    count(TEXTURES, 1);
    return end(0);
}

int cuTexObjectDestroy(void *texture) {
    BEGIN_IN_CONTEXT;
    Texture *t = texture;
    damage += !t->live;
    t->live = 0;
    count(TEXTURES, -1);
    return end(0);
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **params, void **extra) {
    const Function *f = function;
    char label[96] = "cuLaunchKernel ";
    strcat(label, f->name);
    int injected = begin(label);
    if (injected) return end(injected);
    if (!current || !*current) return end(INVALID_CONTEXT);
    Task t = {.what = LAUNCH};
    t.function = f;
    /* The layout of the kernels' signatures: a view takes four parameters, and a camera's planes take a view
     * and two more addresses. */
    if (strstr(f->name, "stitch_planes")) {
        t.left = view(params, 0), t.right = view(params, 4), t.out = view(params, 21);
    } else if (strstr(f->name, "stitch_mesh")) {
        /* Two cameras with a texture and a view each, four slices, and the options. */
        t.left = read_by(&t.textures[0], params, 0), t.right = read_by(&t.textures[1], params, 5);
        t.out = view(params, 20);
    } else if (strstr(f->name, "colour_sums")) {
        t.left = view(params, 0), t.right = view(params, 4), t.to = *(void **)params[15];
    } else if (strstr(f->name, "find_overlap")) {
        t.out = view(params, 0), t.to = *(void **)params[15];
    } else if (strstr(f->name, "seam_cells")) {
        t.out = view(params, 15);
    }
    submit(stream_of(stream), t);
    return end(0);
}

/* `CUlaunchConfig`. The fake ignores its attributes, which let a kernel begin before the previous one ends. */
typedef struct {
    unsigned grid[3], block[3], shared;
    void *stream;
    void *attributes;
    unsigned count;
} LaunchConfig;

int cuLaunchKernelEx(const LaunchConfig *c, void *function, void **params, void **extra) {
    return cuLaunchKernel(function, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1],
                          c->block[2], c->shared, c->stream, params, extra);
}

int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
    BEGIN_IN_CONTEXT;
    Stream *s = calloc(1, sizeof *s);
    s->live = 1;
    s->next = streams;
    *stream = streams = s;
    count(STREAMS, 1);
    return end(0);
}

int cuStreamDestroy_v2(void *stream) {
    BEGIN_IN_CONTEXT;
    Stream *s = stream;
    damage += !s->live;
    s->live = 0;
    count(STREAMS, -1);
    return end(0);
}

int cuStreamQuery(void *stream) {
    BEGIN_IN_CONTEXT;
    return end(run(end_of(stream_of(stream))) ? 0 : NOT_READY);
}

int cuStreamSynchronize(void *stream) {
    BEGIN_IN_CONTEXT;
    wait_for(end_of(stream_of(stream)));
    return end(0);
}

int cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
    BEGIN_IN_CONTEXT;
    submit(stream_of(stream), (Task){.what = WAIT, .point = ((Event *)event)->point});
    return end(0);
}

int cuEventCreate(void **event, unsigned flags) {
    BEGIN_IN_CONTEXT;
    Event *e = calloc(1, sizeof *e);
    e->live = 1;
    e->next = events;
    *event = events = e;
    count(EVENTS, 1);
    return end(0);
}

int cuEventDestroy_v2(void *event) {
    BEGIN_IN_CONTEXT;
    Event *e = event;
    damage += !e->live;
    e->live = 0;
    count(EVENTS, -1);
    return end(0);
}

int cuEventRecord(void *event, void *stream) {
    BEGIN_IN_CONTEXT;
    ((Event *)event)->point = end_of(stream_of(stream));
    return end(0);
}

int cuEventQuery(void *event) {
    BEGIN_IN_CONTEXT;
    return end(run(((Event *)event)->point) ? 0 : NOT_READY);
}

int cuEventSynchronize(void *event) {
    BEGIN_IN_CONTEXT;
    /* Copy the point: the event may be recorded again during the wait. */
    Point point = ((Event *)event)->point;
    wait_for(point);
    return end(0);
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
    BEGIN_IN_CONTEXT;
    return end(allocate(DEVICE_BYTES, (void **)address, bytes));
}

int cuMemFree_v2(uint64_t address) {
    BEGIN_IN_CONTEXT;
    wait_for_all();
    return end(give_back(DEVICE_BYTES, (void *)address));
}

int cuMemHostAlloc(void **data, size_t bytes, unsigned flags) {
    BEGIN_IN_CONTEXT;
    return end(allocate(PINNED_BYTES, data, bytes));
}

int cuMemFreeHost(void *data) {
    BEGIN_IN_CONTEXT;
    return end(give_back(PINNED_BYTES, data));
}

int cuMemsetD8_v2(uint64_t address, unsigned char value, size_t bytes) {
    BEGIN_IN_CONTEXT;
    submit(&default_stream, (Task){.what = SET, .to = (void *)address, .width = bytes, .value = value});
    return end(0);
}

int cuMemcpy2DAsync_v2(const Copy *c, void *stream) {
    BEGIN_IN_CONTEXT;
    Stream *s = stream_of(stream);
    Task t = {.what = COPY};
    t.from = c->from_type == HOST ? c->from_host : (void *)c->from_device;
    t.to = c->to_type == HOST ? c->to_host : (void *)c->to_device;
    t.from_kind = c->from_type == HOST ? PINNED_BYTES : DEVICE_BYTES;
    t.to_kind = c->to_type == HOST ? PINNED_BYTES : DEVICE_BYTES;
    t.from_pitch = c->from_pitch, t.to_pitch = c->to_pitch;
    t.width = c->width, t.height = c->height;
    int plain = (c->from_type == HOST && !holds(PINNED_BYTES, t.from, t.width)) ||
                (c->to_type == HOST && !holds(PINNED_BYTES, t.to, t.width));
    if (plain) {
        /* Pageable memory is staged: the copy is complete when the call returns. */
        wait_for(end_of(s));
        copy_rows(&t);
    } else {
        submit(s, t);
    }
    return end(0);
}
