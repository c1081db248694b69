/* What the machine does for plain C: copies and decodes random records out of a mapped file, into a buffer that is used
   again and again. benchmarks/limits.py compiles this on the machine itself, for the instructions that it has. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Stores that bypass the caches, by the widest vectors there are. */
#if defined(__AVX512F__)
#include <immintrin.h>
#define STREAMING "AVX-512"
typedef __m512i vector;
#define LOAD(from) _mm512_loadu_si512((const void *)(from))
#define STORE(to, value) _mm512_stream_si512((__m512i *)(to), value)
#elif defined(__AVX2__)
#include <immintrin.h>
#define STREAMING "AVX2"
typedef __m256i vector;
#define LOAD(from) _mm256_loadu_si256((const __m256i *)(from))
#define STORE(to, value) _mm256_stream_si256((__m256i *)(to), value)
#elif defined(__SSE2__)
#include <emmintrin.h>
#define STREAMING "SSE2"
typedef __m128i vector;
#define LOAD(from) _mm_loadu_si128((const __m128i *)(from))
#define STORE(to, value) _mm_stream_si128((__m128i *)(to), value)
#else
#define STREAMING "" /* none here: memcpy it is */
#endif

/* Records whose beginnings are asked for ahead, and how much of each, in cache lines of 64 bytes. */
enum { AHEAD = 8, LINE = 64, LINES = 16 };

static void ask_for(const uint8_t *record, int64_t size) {
    int64_t lines = (size + LINE - 1) / LINE;
    for (int64_t line = 0; line < lines && line < LINES; line++)
        __builtin_prefetch(record + line * LINE);
}

static void stream(uint8_t *to, const uint8_t *from, size_t size) {
#ifdef LOAD
    size_t head = (size_t)(-(uintptr_t)to) % sizeof(vector);
    if (size >= head + 4 * sizeof(vector)) {
        memcpy(to, from, head);
        to += head, from += head, size -= head;
        for (; size >= 4 * sizeof(vector); size -= 4 * sizeof(vector)) {
            vector a = LOAD(from), b = LOAD(from + sizeof(vector));
            vector c = LOAD(from + 2 * sizeof(vector)), d = LOAD(from + 3 * sizeof(vector));
            STORE(to, a), STORE(to + sizeof(vector), b);
            STORE(to + 2 * sizeof(vector), c), STORE(to + 3 * sizeof(vector), d);
            to += 4 * sizeof(vector), from += 4 * sizeof(vector);
        }
    }
#endif
    memcpy(to, from, size);
}

const char *streaming(void) { return STREAMING; }

/* Records of a file, and where `count` of them, by their numbers, go: one after another into `buffer`. `ends` is 0 and
   then where each of them ends, in elements of `item` bytes. */
struct records {
    const uint8_t *file;
    const int64_t *starts, *sizes, *lengths; /* lengths: when decoded */
    int64_t item;
};

static void ask_ahead(const struct records *records, const int64_t *numbers, int64_t i, int64_t count) {
    if (i + AHEAD < count)
        ask_for(records->file + records->starts[numbers[i + AHEAD]], records->sizes[numbers[i + AHEAD]]);
}

void copy(const struct records *records, const int64_t *numbers, int64_t count, uint8_t *buffer, int64_t *ends,
          int bypass) {
    uint8_t *to = buffer;
    for (int64_t i = 0; i < count; i++) {
        ask_ahead(records, numbers, i, count);
        const uint8_t *from = records->file + records->starts[numbers[i]];
        int64_t size = records->sizes[numbers[i]];
        if (bypass)
            stream(to, from, (size_t)size);
        else
            memcpy(to, from, (size_t)size);
        to += size;
        ends[i + 1] = (to - buffer) / records->item;
    }
#ifdef LOAD
    _mm_sfence();
#endif
}

/* ZSTD_decompress_usingDDict, of whichever libzstd was found. */
typedef size_t (*decoder)(void *context, void *to, size_t room, const void *from, size_t size, const void *dictionary);

/* Decode them likewise. Returns the place of the first that is no frame of its length, or -1. */
int64_t decode(const struct records *records, const int64_t *numbers, int64_t count, uint8_t *buffer, int64_t *ends,
               decoder decode, void *context, const void *dictionary) {
    uint8_t *to = buffer;
    for (int64_t i = 0; i < count; i++) {
        ask_ahead(records, numbers, i, count);
        const uint8_t *from = records->file + records->starts[numbers[i]];
        size_t length = (size_t)records->lengths[numbers[i]], size = (size_t)records->sizes[numbers[i]];
        if (decode(context, to, length, from, size, dictionary) != length)
            return i;
        to += length;
        ends[i + 1] = (to - buffer) / records->item;
    }
    return -1;
}
