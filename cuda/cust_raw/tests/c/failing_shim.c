/* Replaces one function, and leaves the rest to the library it is linked with: the second
 * synchronisation fails as after a kernel that crashed. */
int cuCtxSynchronize(void) {
    static int calls;
    return ++calls == 2 ? 719 : 0;
}
