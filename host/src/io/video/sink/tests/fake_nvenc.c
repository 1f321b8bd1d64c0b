// A fake of `libnvidia-encode.so.1`. It checks every call against the rules of the interface, and encodes H.264 without
// compression (I_PCM), so that the decoded frames equal the encoded ones. HEVC pictures come from a file. It accesses
// structures by the offsets that the C compiler reports for NVIDIA's header file, version 12.0.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define U32(p, offset) (*(uint32_t *)((char *)(p) + (offset)))
#define U64(p, offset) (*(uint64_t *)((char *)(p) + (offset)))
#define POINTER(p, offset) (*(void **)((char *)(p) + (offset)))
#define VERSION(n) (0x7000000cu | (n) << 16)
#define LAYOUT 0x80000000u

enum { SUCCESS = 0, INVALID_PARAM = 8, INVALID_CALL = 9, NEED_MORE_INPUT = 17 };
enum { SLOTS = 16, NONE = -1 };

static char wrong[256];
static char fail_name[64];
static int fail_skip, fail_status;
static int max_version = 12 << 4, max_h264 = 4096, ten_bits = 1, lossless = 1, delay;
static char stream_file[512];

static struct encoder {
    int alive, hevc, initialized, ended;
    uint32_t width, height, config[3584 / 4], params[1808 / 4], frames;
    struct { int alive, mapped, pitch; unsigned char *memory; uint32_t format; } inputs[SLOTS];
    struct { int alive, used, done, locked; unsigned char *bytes; size_t size; } outputs[SLOTS];
    int pending;
} encoder;
static unsigned char *input;
static size_t input_size;

// The interface of the tests.
void fake_fail(const char *name, int skip, int status) {
    snprintf(fail_name, sizeof fail_name, "%s", name);
    fail_skip = skip;
    fail_status = status;
}
void fake_set(const char *name, int value) {
    if (!strcmp(name, "version")) max_version = value;
    if (!strcmp(name, "h264")) max_h264 = value;
    if (!strcmp(name, "ten")) ten_bits = value;
    if (!strcmp(name, "lossless")) lossless = value;
    if (!strcmp(name, "delay")) delay = value;
}
void fake_stream(const char *path) { snprintf(stream_file, sizeof stream_file, "%s", path); }
const char *fake_wrong(void) { return wrong; }
// The field at an offset of the configuration (0) or the parameters (1) of the last encoder.
uint32_t fake_field(int of_params, int offset) {
    return of_params ? encoder.params[offset / 4] : encoder.config[offset / 4];
}
size_t fake_input(unsigned char *to, size_t size) {
    if (to && size >= input_size) memcpy(to, input, input_size);
    return input_size;
}
int fake_alive(void) {
    int alive = encoder.alive;
    for (int i = 0; i < SLOTS; i++)
        alive += encoder.inputs[i].alive + encoder.inputs[i].mapped
            + encoder.outputs[i].alive + encoder.outputs[i].locked;
    return alive;
}

static int bad(const char *name, const char *rule) {
    if (!wrong[0]) snprintf(wrong, sizeof wrong, "%s: %s", name, rule);
    return INVALID_CALL;
}
static int fails(const char *name) {
    return !strcmp(name, fail_name) && fail_skip-- == 0 ? fail_status : 0;
}
#define BEGIN(e) do { int status = fails(__func__); if (status) return status; \
    if ((e) != &encoder || !encoder.alive) return bad(__func__, "no encoder"); } while (0)
#define RULE(condition) do { if (!(condition)) return bad(__func__, #condition); } while (0)

// A bit writer for the headers and the slices of H.264.
static unsigned char *bits;
static size_t at;
static void bit(unsigned value) {
    if (at % 8 == 0) bits[at / 8] = 0;
    bits[at / 8] |= (value & 1) << (7 - at % 8);
    at++;
}
static void fixed(unsigned value, int count) { while (count--) bit(value >> count); }
static void ue(unsigned value) {
    int length = 0;
    while ((value + 1) >> (length + 1)) length++;
    fixed(0, length);
    fixed(value + 1, length + 1);
}
// Appends a unit to `to` with emulation prevention, and returns its size.
static size_t unit(unsigned char *to, unsigned type) {
    bit(1);
    while (at % 8) bit(0);
    size_t size = 0, zeros = 0;
    to[size++] = 0, to[size++] = 0, to[size++] = 0, to[size++] = 1, to[size++] = type;
    for (size_t i = 0; i < at / 8; i++) {
        if (zeros >= 2 && bits[i] <= 3) to[size++] = 3, zeros = 0;
        zeros = bits[i] ? 0 : zeros + 1;
        to[size++] = bits[i];
    }
    at = 0;
    return size;
}

static size_t encode_h264(unsigned char *to, const unsigned char *frame, int pitch) {
    int width = encoder.width, height = encoder.height, columns = (width + 15) / 16, rows = (height + 15) / 16;
    const uint32_t *vui = encoder.config + (168 + 72) / 4;
    size_t size = 0;
    bits = malloc((size_t)columns * rows * 400 + 1000);
    fixed(66, 8), fixed(0xc0, 8), fixed(52, 8);
    ue(0), ue(0), ue(2), ue(0), bit(0), ue(columns - 1), ue(rows - 1), bit(1), bit(1);
    bit(1), ue(0), ue((columns * 16 - width) / 2), ue(0), ue((rows * 16 - height) / 2);
    bit(1), bit(0), bit(0), bit(vui[2]);
    if (vui[2]) {
        fixed(vui[3], 3), bit(vui[4]), bit(vui[5]);
        if (vui[5]) fixed(vui[6], 8), fixed(vui[7], 8), fixed(vui[8], 8);
    }
    bit(vui[9]);
    if (vui[9]) ue(vui[10]), ue(vui[11]);
    bit(0), bit(0), bit(0), bit(0), bit(0);
    size += unit(to + size, 0x67);
    ue(0), ue(0), bit(0), bit(0), ue(0), ue(0), ue(0), bit(0), fixed(0, 2), ue(0), ue(0), ue(0), bit(0), bit(0), bit(0);
    size += unit(to + size, 0x68);
    ue(0), ue(7), ue(0), fixed(0, 4), ue(encoder.frames % 2), bit(0), bit(0), ue(0);
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column++) {
            ue(25);
            while (at % 8) bit(0);
            for (int plane = 0; plane < 3; plane++)
                for (int y = 0; y < (plane ? 8 : 16); y++)
                    for (int x = 0; x < (plane ? 8 : 16); x++) {
                        int px = column * (plane ? 8 : 16) + x, py = row * (plane ? 8 : 16) + y;
                        int right = (plane ? width / 2 : width) - 1, bottom = (plane ? height / 2 : height) - 1;
                        if (px > right) px = right;
                        if (py > bottom) py = bottom;
                        const unsigned char *chroma = frame + (size_t)pitch * height;
                        size_t row_start = (size_t)py * pitch;
                        fixed(plane ? chroma[row_start + px * 2 + plane - 1] : frame[row_start + px], 8);
                    }
        }
    size += unit(to + size, 0x65);
    free(bits);
    return size;
}

// Returns the picture `index` of the file: from its access unit delimiter to that of the next picture.
static size_t encode_hevc(unsigned char **to, unsigned index) {
    FILE *file = fopen(stream_file, "rb");
    if (!file) return 0;
    fseek(file, 0, SEEK_END);
    size_t length = ftell(file), start = length, end = length;
    unsigned char *all = malloc(length);
    rewind(file);
    length = fread(all, 1, length, file);
    fclose(file);
    unsigned found = 0;
    for (size_t i = 0; i + 4 < length; i++)
        if (!all[i] && !all[i + 1] && all[i + 2] == 1 && all[i + 3] >> 1 == 35) {
            if (found == index) start = i;
            if (found == index + 1) { end = i; break; }
            found++;
        }
    *to = malloc(end - start + 1);
    memcpy(*to, all + start, end - start);
    free(all);
    return end - start;
}

static int open_session(void *params, void **to) {
    const char *name = "open";
    int status = fails(name);
    *to = NULL;
    // A library may return an encoder together with an error.
    if (status == 0 || status == INVALID_PARAM) {
        if (encoder.alive) return bad(name, "two encoders");
        memset(&encoder, 0, sizeof encoder);
        encoder.alive = 1;
        *to = &encoder;
    }
    if (status) return status;
    RULE(U32(params, 0) == VERSION(1) && U32(params, 4) == 1 && U32(params, 24) == 12);
    return SUCCESS;
}
static int is_hevc(const uint32_t *guid) { return guid[0] == 0x790cdc88; }
struct guid { uint32_t words[4]; };

static int caps(void *e, struct guid codec, void *param, int *value) {
    BEGIN(e);
    RULE(U32(param, 0) == VERSION(1) && !encoder.initialized);
    switch (U32(param, 4)) {
    case 16: case 17: *value = is_hevc(codec.words) ? 8192 : max_h264; break;
    case 45: case 46: *value = 16; break;
    case 39: *value = ten_bits; break;
    case 34: *value = lossless; break;
    default: return INVALID_PARAM;
    }
    return SUCCESS;
}
static int preset(void *e, struct guid codec, struct guid level, uint32_t tuning, void *config) {
    BEGIN(e);
    RULE(U32(config, 0) == (VERSION(4) | LAYOUT) && U32(config, 8) == (VERSION(8) | LAYOUT));
    RULE(level.words[0] == 0x21c6e6b4 && (tuning == 1 || tuning == 4));
    // Values that the caller must replace.
    U32(config, 8 + 24) = 3;
    U32(config, 8 + 40 + 36) = 0x20;
    U32(config, 8 + 40 + 20) = 1000000;
    if (is_hevc(codec.words)) U32(config, 8 + 168 + 16) = 3 << 9;
    return SUCCESS;
}
static int initialize(void *e, void *params) {
    BEGIN(e);
    RULE(U32(params, 0) == (VERSION(5) | LAYOUT) && !encoder.initialized);
    void *config = POINTER(params, 88);
    RULE(config && U32(config, 0) == (VERSION(8) | LAYOUT) && U32(config, 24) == 1);
    RULE(!(U32(config, 40 + 36) & 0x20) && U32(config, 40 + 20) == 0 && U32(params, 64) == 1);
    memcpy(encoder.config, config, sizeof encoder.config);
    memcpy(encoder.params, params, sizeof encoder.params);
    encoder.hevc = is_hevc(&U32(params, 4));
    encoder.width = U32(params, 36), encoder.height = U32(params, 40);
    RULE(encoder.width % 2 == 0 && encoder.height % 2 == 0 && U32(params, 52) && U32(params, 56));
    RULE(!encoder.hevc || (U32(config, 168 + 16) >> 9 & 3) == 1);
    encoder.initialized = 1;
    return SUCCESS;
}
static int find(int want_output, void *handle) {
    intptr_t i = (intptr_t)handle - (want_output ? 100 : 200);
    if (!want_output && i >= SLOTS) i -= 100;
    return i < 0 || i >= SLOTS ? NONE : (int)i;
}
static int create_output(void *e, void *params) {
    BEGIN(e);
    RULE(U32(params, 0) == VERSION(1) && encoder.initialized);
    for (int i = 0; i < SLOTS; i++)
        if (!encoder.outputs[i].alive) {
            encoder.outputs[i].alive = 1;
            POINTER(params, 16) = (void *)(intptr_t)(100 + i);
            return SUCCESS;
        }
    return INVALID_CALL;
}
static int destroy_output(void *e, void *handle) {
    BEGIN(e);
    int i = find(1, handle);
    RULE(i != NONE && encoder.outputs[i].alive && !encoder.outputs[i].locked);
    free(encoder.outputs[i].bytes);
    memset(&encoder.outputs[i], 0, sizeof encoder.outputs[i]);
    return SUCCESS;
}
static int register_input(void *e, void *params) {
    BEGIN(e);
    RULE(U32(params, 0) == VERSION(4) && encoder.initialized && U32(params, 4) == 1 && U32(params, 44) == 0);
    RULE(U32(params, 8) == encoder.width && U32(params, 12) == encoder.height && U32(params, 16) % 4 == 0);
    for (int i = 0; i < SLOTS; i++)
        if (!encoder.inputs[i].alive) {
            encoder.inputs[i].alive = 1;
            encoder.inputs[i].pitch = U32(params, 16);
            encoder.inputs[i].memory = POINTER(params, 24);
            encoder.inputs[i].format = U32(params, 40);
            POINTER(params, 32) = (void *)(intptr_t)(200 + i);
            return SUCCESS;
        }
    return INVALID_CALL;
}
static int unregister_input(void *e, void *handle) {
    BEGIN(e);
    int i = find(0, handle);
    RULE(i != NONE && encoder.inputs[i].alive && !encoder.inputs[i].mapped);
    encoder.inputs[i].alive = 0;
    return SUCCESS;
}
static int map(void *e, void *params) {
    BEGIN(e);
    int i = find(0, POINTER(params, 16));
    RULE(U32(params, 0) == VERSION(4) && i != NONE && encoder.inputs[i].alive && !encoder.inputs[i].mapped);
    encoder.inputs[i].mapped = 1;
    POINTER(params, 24) = (void *)(intptr_t)(300 + i);
    U32(params, 32) = encoder.inputs[i].format;
    return SUCCESS;
}
static int unmap(void *e, void *handle) {
    RULE(e == &encoder && encoder.alive);
    int i = find(0, handle);
    RULE(i != NONE && (intptr_t)handle >= 300 && encoder.inputs[i].mapped);
    encoder.inputs[i].mapped = 0;
    return fails(__func__);
}
static int encode(void *e, void *params) {
    BEGIN(e);
    RULE(U32(params, 0) == (VERSION(6) | LAYOUT) && encoder.initialized && !encoder.ended);
    if (U32(params, 16) & 8) {
        RULE(!POINTER(params, 40) && !POINTER(params, 48));
        encoder.ended = 1;
        encoder.pending = 0;
        return SUCCESS;
    }
    int i = find(0, POINTER(params, 40)), o = find(1, POINTER(params, 48));
    RULE(i != NONE && encoder.inputs[i].mapped && o != NONE && encoder.outputs[o].alive && !encoder.outputs[o].used);
    RULE(U32(params, 4) == encoder.width && U32(params, 8) == encoder.height && U32(params, 68) == 1);
    RULE(U32(params, 12) == (uint32_t)encoder.inputs[i].pitch && U64(params, 24) == encoder.frames);
    RULE(U32(params, 64) == encoder.inputs[i].format);
    int wide = encoder.inputs[i].format == 0x10000 ? 2 : 1, pitch = encoder.inputs[i].pitch;
    unsigned char *memory = encoder.inputs[i].memory;
    free(input);
    input_size = (size_t)encoder.width * wide * encoder.height * 3 / 2;
    input = malloc(input_size);
    for (uint32_t y = 0; y < encoder.height * 3 / 2; y++)
        memcpy(input + (size_t)y * encoder.width * wide, memory + (size_t)y * pitch, encoder.width * wide);
    encoder.outputs[o].used = 1;
    if (encoder.hevc) {
        encoder.outputs[o].size = encode_hevc(&encoder.outputs[o].bytes, encoder.frames);
    } else {
        encoder.outputs[o].bytes = malloc(((size_t)encoder.width + 16) * (encoder.height + 16) * 3 + 2000);
        encoder.outputs[o].size = encode_h264(encoder.outputs[o].bytes, memory, pitch);
    }
    encoder.frames++;
    if (encoder.pending < delay) {
        encoder.pending++;
        return NEED_MORE_INPUT;
    }
    encoder.pending = 0;
    return SUCCESS;
}
static int lock(void *e, void *params) {
    BEGIN(e);
    int o = find(1, POINTER(params, 8));
    RULE(U32(params, 0) == VERSION(2) && o != NONE && encoder.outputs[o].used && !encoder.outputs[o].locked);
    RULE(encoder.pending == 0 || encoder.frames > (uint32_t)encoder.pending);
    encoder.outputs[o].locked = 1;
    U32(params, 36) = encoder.outputs[o].size;
    POINTER(params, 56) = encoder.outputs[o].bytes;
    return SUCCESS;
}
static int unlock(void *e, void *handle) {
    RULE(e == &encoder && encoder.alive);
    int o = find(1, handle);
    RULE(o != NONE && encoder.outputs[o].locked);
    free(encoder.outputs[o].bytes);
    encoder.outputs[o].bytes = NULL;
    encoder.outputs[o].locked = encoder.outputs[o].used = 0;
    return fails(__func__);
}
static int destroy(void *e) {
    BEGIN(e);
    encoder.alive = 0;
    RULE(fake_alive() == 0);
    RULE(!encoder.initialized || encoder.ended || fail_name[0]);
    return SUCCESS;
}
static const char *last_error(void *e) { return e == &encoder && encoder.alive ? "fake reason\n" : "no encoder"; }

int NvEncodeAPIGetMaxSupportedVersion(uint32_t *version) {
    *version = max_version;
    return fails("version");
}
int NvEncodeAPICreateInstance(void *list) {
    int status = fails("create");
    if (status) return status;
    if (U32(list, 0) != VERSION(2)) return bad("create", "version");
    POINTER(list, 64) = caps;
    POINTER(list, 96) = initialize;
    POINTER(list, 120) = create_output;
    POINTER(list, 128) = destroy_output;
    POINTER(list, 136) = encode;
    POINTER(list, 144) = lock;
    POINTER(list, 152) = unlock;
    POINTER(list, 208) = map;
    POINTER(list, 216) = unmap;
    POINTER(list, 224) = destroy;
    POINTER(list, 240) = open_session;
    POINTER(list, 248) = register_input;
    POINTER(list, 256) = unregister_input;
    POINTER(list, 304) = last_error;
    POINTER(list, 320) = fails("list") ? NULL : preset;
    return SUCCESS;
}
