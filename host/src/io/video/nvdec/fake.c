// A decoder with the interface of NVDEC, whose frames are in host memory, for the tests of `session`.
//
// A packet is one byte that selects its kind, and its parameters:
// - 'S': a sequence, with the number of bits per sample, the size in units of 16 pixels, and the number of surfaces.
//   As with NVDEC, pictures that await their display are displayed first only if the size changes,
// - 'P': a picture that consists of samples of one value, and is displayed before the picture ahead of it,
// - 'D': the same, but damaged.
// The structures have the layout of NVIDIA's header files; only the fields that are used have names.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, FAILED = 999, PITCH_PADDING = 64, PICTURES = 8, DELAY = 2 };

struct format {
    int codec;
    unsigned rate[2];
    unsigned char progressive, luma_depth, chroma_depth, surfaces;
    unsigned width, height;
    int left, top, right, bottom;
    int chroma;
    unsigned rest[5];
};
struct display {
    int index, progressive, top_first, repeat;
    int64_t timestamp;
};
struct packet {
    unsigned long flags, size;
    const unsigned char *bytes;
    int64_t timestamp;
};
struct params {
    int codec;
    unsigned surfaces, clock, threshold, delay, flags, reserved[4];
    void *user;
    int (*sequence)(void *, struct format *);
    int (*decode)(void *, void *);
    int (*display)(void *, struct display *);
    void *rest[8];
};
struct create {
    unsigned long width, height, surfaces;
    int codec, chroma;
    unsigned long flags, depth, intra, max_width, max_height, reserved;
    short area[4];
    int output, deinterlace;
    unsigned long target_width, target_height, outputs;
    void *lock;
    short target[4];
    unsigned long rest[5];
};
struct picture {
    int width, height, index;
    unsigned char value, damaged;
};
struct parser {
    struct params params;
    int next, waiting, width, height;
    struct display queue[PICTURES];
};
struct decoder {
    struct create info;
    struct picture pictures[PICTURES];
};

static int parsers, decoders, mapped, calls, fail_at;

static int fails(void) {
    return ++calls == fail_at;
}

// Makes call number `n` from now on fail, or none if `n` is 0.
void fake_fail(int n) {
    calls = 0;
    fail_at = n;
}

// Returns the number of objects that exist.
int fake_objects(void) {
    return parsers + decoders + mapped;
}

int cuvidCreateVideoParser(struct parser **parser, struct params *params) {
    if (fails()) return FAILED;
    *parser = calloc(1, sizeof **parser);
    (*parser)->params = *params;
    parsers++;
    return OK;
}

int cuvidDestroyVideoParser(struct parser *parser) {
    free(parser);
    parsers--;
    return OK;
}

static int show(struct parser *parser) {
    struct display first = parser->queue[0];
    memmove(parser->queue, parser->queue + 1, sizeof first * --parser->waiting);
    return parser->params.display(parser->params.user, &first) ? OK : FAILED;
}

int cuvidParseVideoData(struct parser *parser, struct packet *packet) {
    if (fails()) return FAILED;
    int failed = OK;
    int ends = packet->flags & 1;
    if (ends || packet->bytes[0] == 'S') {
        int same = !ends && packet->bytes[2] == parser->width && packet->bytes[3] == parser->height;
        while (parser->waiting && !failed && !same) failed = show(parser);
        if (failed || ends) return failed;
        parser->width = packet->bytes[2];
        parser->height = packet->bytes[3];
        unsigned char bits = packet->bytes[1];
        struct format format = {.codec = parser->params.codec, .surfaces = packet->bytes[4], .chroma = 1};
        format.luma_depth = format.chroma_depth = bits - 8;
        format.right = format.width = packet->bytes[2] * 16;
        format.bottom = format.height = packet->bytes[3] * 16;
        return parser->params.sequence(parser->params.user, &format) ? OK : FAILED;
    }
    struct picture picture = {.index = parser->next, .value = packet->bytes[1]};
    picture.damaged = packet->bytes[0] == 'D';
    parser->next = (parser->next + 1) % PICTURES;
    if (!parser->params.decode(parser->params.user, &picture)) return FAILED;
    struct display display = {.index = picture.index, .progressive = 1, .timestamp = packet->timestamp};
    int at = parser->waiting++;
    for (; at > 0 && parser->queue[at - 1].timestamp > display.timestamp; at--) parser->queue[at] = parser->queue[at - 1];
    parser->queue[at] = display;
    return parser->waiting > DELAY ? show(parser) : OK;
}

int cuvidGetDecoderCaps(void *caps) {
    return FAILED;
}

int cuvidCreateDecoder(struct decoder **decoder, struct create *info) {
    if (fails()) return FAILED;
    *decoder = calloc(1, sizeof **decoder);
    (*decoder)->info = *info;
    decoders++;
    return OK;
}

int cuvidDestroyDecoder(struct decoder *decoder) {
    free(decoder);
    decoders--;
    return OK;
}

int cuvidDecodePicture(struct decoder *decoder, struct picture *picture) {
    if (fails()) return FAILED;
    decoder->pictures[picture->index] = *picture;
    return OK;
}

int cuvidGetDecodeStatus(struct decoder *decoder, int index, int *status) {
    *status = decoder->pictures[index].damaged ? 9 : 2;
    return OK;
}

int cuvidMapVideoFrame64(struct decoder *decoder, int index, uint64_t *address, unsigned *pitch, void *params) {
    if (fails()) return FAILED;
    struct create *info = &decoder->info;
    unsigned long bytes = info->output ? 2 : 1, rows = info->target_height * 3 / 2;
    *pitch = info->target_width * bytes + PITCH_PADDING;
    unsigned char *frame = malloc(*pitch * rows);
    memset(frame, 0xee, *pitch * rows);
    for (unsigned long row = 0; row < rows; row++)
        memset(frame + row * *pitch, decoder->pictures[index].value + (row >= info->target_height), info->target_width * bytes);
    *address = (uint64_t)(uintptr_t)frame;
    mapped++;
    return OK;
}

int cuvidUnmapVideoFrame64(struct decoder *decoder, uint64_t address) {
    free((void *)(uintptr_t)address);
    mapped--;
    return fails() ? FAILED : OK;
}
