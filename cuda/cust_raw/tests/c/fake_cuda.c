/* A fake driver that checks the arguments of `cuInit` and `cuLaunchKernel`: each returns 0, or the
 * position (from 1) of the first argument that is wrong. */
int cuInit(unsigned flags) { return flags == 0 ? 0 : 1; }
int cuDriverGetVersion(int *version) { *version = 12040; return 0; }
int cuDeviceGetCount(int *count) { *count = 7; return 0; }
int cuGetErrorString(int code, const char **text) { *text = "text of the fake"; return 0; }

int cuCtxSynchronize(void) { return 201; }
/* Returns a code that `CUresult` does not declare. */
int cuStreamSynchronize(void *stream) { return 12345; }

/* The driver function with the longest parameter list. */
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *stream, void **params, void **extra) {
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
