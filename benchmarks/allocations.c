/* Counts the memory that a process asks for in pieces of 4 KiB and more: of the C library's allocator, and anonymous
   maps. Preloaded by benchmarks/suites/overhead.py. */

#define _GNU_SOURCE
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LARGE = 4096 };

static atomic_long large;

/* Read through ctypes. */
long large_allocations(void) { return atomic_load(&large); }

static void count(size_t size) {
    if (size >= LARGE)
        atomic_fetch_add(&large, 1);
}

/* The C library's own, by the names it keeps for those who replace the others: no lookup, which would allocate. What
   these map is not counted once more: inside, the C library does not call the functions below. */
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

/* Maps are asked of the kernel, so that none of these functions comes to another. */
static void *map(void *at, size_t size, int protection, int flags, int file, long offset) {
    if (flags & MAP_ANONYMOUS)
        count(size);
    return (void *)syscall(SYS_mmap, at, size, (long)protection, (long)flags, (long)file, offset);
}

void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset) {
    return map(at, size, protection, flags, file, offset);
}

/* What Rust and Python call. */
void *mmap64(void *at, size_t size, int protection, int flags, int file, off64_t offset) {
    return map(at, size, protection, flags, file, offset);
}

/* What grows; whether it is anonymous, nobody says here. */
void *mremap(void *old, size_t size, size_t wanted, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    void *to = flags & MREMAP_FIXED ? va_arg(rest, void *) : NULL;
    va_end(rest);
    if (wanted > size)
        count(wanted);
    return (void *)syscall(SYS_mremap, old, size, wanted, (long)flags, to);
}
