/* A driver that knows what it is called with: each function returns 0, or the place (from 1) of
 * the first argument that did not arrive, or 99 where the stack came misaligned. */
#include <stdint.h>

static int aligned(const void *frame) { return ((uintptr_t)frame & 15) == 0; }
#define CHECK_STACK() if (!aligned(__builtin_frame_address(0))) return 99

int cuInit(unsigned flags) { return flags == 0 ? 0 : 1; }
int cuDriverGetVersion(int *version) { *version = 12040; return 0; }
int cuDeviceGetCount(int *count) { *count = 7; return 0; }
int cuGetErrorString(int code, const char **text) { *text = "text of the fake"; return 0; }

/* What a first call must leave alone but also tells apart: no arguments at all. */
int cuCtxSynchronize(void) { CHECK_STACK(); return 201; }
int cuProfilerStart(void) { CHECK_STACK(); return 7; }
int cuProfilerStop(void) { CHECK_STACK(); return 8; }

/* The driver's own longest list: 11 arguments, 5 of them on the stack on x86-64. */
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **params, void **extra) {
    CHECK_STACK();
    if (f != (void *)0x1111222233334444) return 1;
    if (gx != 0xfffffff2u) return 2;
    if (gy != 3) return 3;
    if (gz != 4) return 4;
    if (bx != 5) return 5;
    if (by != 6) return 6;
    if (bz != 7) return 7;
    if (shared != 0x80000008u) return 8;
    if (stream != (void *)0x9999aaaabbbbcccc) return 9;
    if (params != (void **)0xaaaa0000bbbb0000) return 10;
    if (extra != (void **)0xbbbb1111cccc2222) return 11;
    return 0;
}

/* Under a real name, a list that no driver function has: every register for integers and for
 * floats is taken, and both kinds go on to the stack. */
int cuParamSetv(int a, double b, int64_t c, float d, void *e, double f, int16_t g, double h,
                int64_t i, double j, int64_t k, double l, float m, double n, double o, float p,
                int8_t q, int64_t r, int64_t s, int64_t t, double u) {
    CHECK_STACK();
    if (a != -1) return 1;
    if (b != 2.5) return 2;
    if (c != INT64_MIN) return 3;
    if (d != 4.25f) return 4;
    if (e != (void *)0x5555666677778888) return 5;
    if (f != -6.5) return 6;
    if (g != -7) return 7;
    if (h != 8e300) return 8;
    if (i != 9) return 9;
    if (j != 10.5) return 10;
    if (k != 0x1111111111111111) return 11;
    if (l != 12.5) return 12;
    if (m != -13.5f) return 13;
    if (n != 14.5) return 14;
    if (o != 15.5) return 15;
    if (p != 16.5f) return 16;
    if (q != -17) return 17;
    if (r != 18) return 18;
    if (s != -19) return 19;
    if (t != 20) return 20;
    if (u != 21.5) return 21;
    return 0;
}
