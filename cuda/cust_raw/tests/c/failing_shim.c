/* A shim that replaces `cuCtxSynchronize` and leaves all other functions to the library that it is
 * linked with. The second call returns 719 (launch failed), as after a kernel that crashed. */
int cuCtxSynchronize(void) {
    static int calls;
    return ++calls == 2 ? 719 : 0;
}
