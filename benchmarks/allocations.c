/* Counts the memory that a process asks for in pieces of 4 KiB and more. Preloaded by benchmarks/suites/overhead.py. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

enum { LARGE = 4096 };

static atomic_long large;

/* Read through ctypes. */
long large_allocations(void) { return atomic_load(&large); }

static void count(size_t size) {
    if (size >= LARGE)
        atomic_fetch_add(&large, 1);
}

/* The C library's own, by the names it keeps for those who replace the others: no lookup, which would allocate. */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) { return count(size), __libc_malloc(size); }
void *calloc(size_t number, size_t size) { return count(number * size), __libc_calloc(number, size); }
void *realloc(void *old, size_t size) { return count(size), __libc_realloc(old, size); }
void *aligned_alloc(size_t alignment, size_t size) { return count(size), __libc_memalign(alignment, size); }

int posix_memalign(void **to, size_t alignment, size_t size) {
    count(size);
    return (*to = __libc_memalign(alignment, size)) ? 0 : 12; /* ENOMEM */
}

void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset) {
    static void *(*next)(void *, size_t, int, int, int, off_t);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "mmap");
    if (flags & MAP_ANONYMOUS)
        count(size);
    return next(at, size, protection, flags, file, offset);
}
