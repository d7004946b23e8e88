/* Worker of nn-conformance in C: max pooling and average pooling of float32 arrays with up to six spatial axes.

   It reads requests as JSON lines from standard input, and writes replies to standard output, as docs/worker-protocol.md
   describes. A program has one or more structured calls, separated by semicolons, such as
       max_pool window=3,3 stride=2,2 before=1,1 after=1,1 dilation=1,1 rounding=floor counted=0 divisor=9
   Build it with: cc -std=c99 -O2 -o pooling-worker worker.c -lm */

#define _POSIX_C_SOURCE 200809L

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_AXES 6
#define VERSION "1.0"

typedef struct { long window[MAX_AXES], stride[MAX_AXES], before[MAX_AXES], after[MAX_AXES], dilation[MAX_AXES]; } Geometry;
typedef struct { int rank; long shape[MAX_AXES + 2]; float *data; } Array;

/* ---- JSON: the start of a member of an object, and of the next value ---- */

static const char *space(const char *p) { while (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r') p++; return p; }

static const char *after_string(const char *p) { /* p is at the opening quote */
    for (p++; *p && *p != '"'; p++) if (*p == '\\' && p[1]) p++;
    return *p ? p + 1 : p;
}

static const char *after_value(const char *p) {
    int depth = 0;
    for (p = space(p); *p; ) {
        if (*p == '"') p = after_string(p);
        else if (*p == '{' || *p == '[') { depth++; p++; }
        else if (*p == '}' || *p == ']') { if (--depth < 0) return p; p++; }
        else if (*p == ',' && depth == 0) return p;
        else p++;
        if (depth == 0 && (*space(p) == ',' || *space(p) == '}' || *space(p) == ']')) return space(p);
    }
    return p;
}

static const char *member(const char *object, const char *key) { /* NULL if the object has no such member */
    const char *p = space(object);
    if (*p != '{') return NULL;
    for (p = space(p + 1); *p == '"'; p = space(p + 1)) {
        const char *name = p + 1, *end = after_string(p) - 1, *value = space(space(end + 1) + 1);
        if (strlen(key) == (size_t)(end - name) && !strncmp(name, key, end - name)) return value;
        p = after_value(value);
        if (*p != ',') return NULL;
    }
    return NULL;
}

static char *text(const char *value) { /* a string without escapes, which is what the adapter writes */
    if (!value || *value != '"') return NULL;
    size_t length = after_string(value) - value - 2;
    char *copy = malloc(length + 1);
    memcpy(copy, value + 1, length);
    copy[length] = 0;
    return copy;
}

/* ---- base64 ---- */

static const char ALPHABET[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void decode(const char *from, unsigned char *to, size_t size) {
    unsigned bits = 0, count = 0;
    for (size_t n = 0; n < size; from++) {
        bits = bits << 6 | (unsigned)(strchr(ALPHABET, *from) - ALPHABET);
        if ((count += 6) >= 8) to[n++] = bits >> (count -= 8) & 255;
    }
}

static void print_base64(const unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        unsigned word = bytes[i] << 16 | (left > 1 ? bytes[i + 1] : 0) << 8 | (left > 2 ? bytes[i + 2] : 0);
        putchar(ALPHABET[word >> 18]);
        putchar(ALPHABET[word >> 12 & 63]);
        putchar(left > 1 ? ALPHABET[word >> 6 & 63] : '=');
        putchar(left > 2 ? ALPHABET[word & 63] : '=');
    }
}

/* ---- pooling ---- */

static long elements(const Array *array, int from) {
    long count = 1;
    for (int axis = from; axis < array->rank; axis++) count *= array->shape[axis];
    return count;
}

static int numbers(const char *program, const char *key, long *to, int count) { /* whether there are so many */
    const char *found = strstr(program, key), *end = found ? found + strlen(key) : NULL;
    for (int n = 0; n < count; n++) {
        if (!end || (n && *end++ != ',')) return 0;
        to[n] = strtol(end, (char **)&end, 10);
    }
    return end && *end != ',';
}

static const char *output_extents(const char *program, const Geometry *g, const Array *x, Array *y) {
    for (int axis = 0; axis < x->rank - 2; axis++) {
        long extent = (g->window[axis] - 1) * g->dilation[axis] + 1;
        long rest = x->shape[axis + 2] + g->before[axis] + g->after[axis] - extent;
        if (g->window[axis] < 1 || g->stride[axis] < 1 || g->dilation[axis] < 1) return "window, stride and dilation start at 1";
        if (g->before[axis] < 0 || g->after[axis] < 0) return "the padding is negative";
        if (rest < 0) return "the window is larger than the padded input";
        long count = rest / g->stride[axis] + 1;
        if (rest % g->stride[axis] && !strstr(program, "rounding=floor")) {
            int starts_inside = count * g->stride[axis] < x->shape[axis + 2] + g->before[axis];
            if (strstr(program, "rounding=full") || starts_inside) count++;
        }
        y->shape[axis + 2] = count;
    }
    return NULL;
}

/* One window: its origin is start; cells and counted are the numbers of cells of x, and of x and its padding. */
static double pooled(const float *x, const long *extents, int axes, const long *start, const Geometry *g, int is_max,
                     int is_counted, double divisor) {
    double largest = -INFINITY, sum = 0;
    long cells = 0, counted = 0, offset[MAX_AXES] = {0};
    for (;;) {
        long index = 0;
        int inside = 1, padded = 1;
        for (int axis = 0; axis < axes; axis++) {
            long at = start[axis] + offset[axis] * g->dilation[axis];
            if (at < 0 || at >= extents[axis]) inside = 0;
            if (at < -g->before[axis] || at >= extents[axis] + g->after[axis]) padded = 0;
            index = index * extents[axis] + at;
        }
        counted += padded;
        if (inside) {
            double value = x[index];
            cells++;
            sum += value;
            if (value > largest || isnan(value)) largest = isnan(largest) ? largest : value;
        }
        int axis = axes - 1;
        while (axis >= 0 && ++offset[axis] == g->window[axis]) offset[axis--] = 0;
        if (axis < 0) break;
    }
    if (is_max) return largest;
    return sum / (divisor ? divisor : is_counted ? (double)counted : (double)cells);
}

static const char *run_call(const char *program, const Array *x, Array *y) {
    Geometry g;
    int axes = x->rank - 2, is_max = !strncmp(program, "max_pool ", 9);
    long is_counted = 0, position[MAX_AXES], start[MAX_AXES];
    const char *has_divisor = strstr(program, " divisor=");
    double divisor = has_divisor ? strtod(has_divisor + strlen(" divisor="), NULL) : 0;
    if (!is_max && strncmp(program, "avg_pool ", 9)) return "unknown operator";
    if (!numbers(program, " window=", g.window, axes) || !numbers(program, " stride=", g.stride, axes) ||
        !numbers(program, " before=", g.before, axes) || !numbers(program, " after=", g.after, axes) ||
        !numbers(program, " dilation=", g.dilation, axes) || !numbers(program, " counted=", &is_counted, 1))
        return "one number for each axis is required";
    if (has_divisor && divisor == 0) return "the divisor is 0";
    *y = *x;
    const char *problem = output_extents(program, &g, x, y);
    if (problem) return problem;
    long plane = elements(x, 2), outputs = elements(y, 2), planes = x->shape[0] * x->shape[1];
    y->data = malloc(sizeof(float) * planes * outputs + 1);
    for (long n = 0; n < planes * outputs; n++) {
        long rest = n % outputs;
        for (int axis = axes - 1; axis >= 0; axis--) {
            position[axis] = rest % y->shape[axis + 2];
            rest /= y->shape[axis + 2];
            start[axis] = position[axis] * g.stride[axis] - g.before[axis];
        }
        const float *data = x->data + n / outputs * plane;
        y->data[n] = (float)pooled(data, x->shape + 2, axes, start, &g, is_max, (int)is_counted, divisor);
    }
    return NULL;
}

static const char *run(char *program, const Array *x, Array *y) {
    *y = *x;
    for (char *call = strtok(program, ";"); call; call = strtok(NULL, ";")) {
        Array argument = *y;
        const char *problem = run_call(space(call), &argument, y);
        if (argument.data != x->data) free(argument.data);
        if (problem) { y->data = NULL; return problem; }
    }
    return NULL;
}

/* ---- protocol ---- */

static void print_error(const char *request, const char *kind, const char *message) {
    printf("{\"request\": \"%s\", \"error\": {\"kind\": \"%s\", \"type\": \"Error\", \"message\": \"%s\"}}\n", request, kind, message);
}

static int read_array(const char *item, Array *x) {
    char *dtype = text(member(item, "dtype"));
    const char *shape = member(item, "shape"), *data = member(item, "data");
    int is_float = dtype && !strcmp(dtype, "float32");
    free(dtype);
    if (!is_float || !shape || !data) return 0;
    x->rank = 0;
    for (const char *p = space(shape + 1); *p && *p != ']' && x->rank < MAX_AXES + 2; p = space(*p == ',' ? p + 1 : p))
        x->shape[x->rank++] = strtol(p, (char **)&p, 10);
    size_t size = sizeof(float) * elements(x, 0);
    x->data = malloc(size + 1);
    decode(data + 1, (unsigned char *)x->data, size);
    return x->rank > 2;
}

static void answer(const char *request, const char *line) {
    Array x = {0}, y = {0};
    char *program = text(member(line, "program"));
    const char *arrays = member(line, "arrays");
    if (!program || !arrays || !read_array(space(arrays + 1), &x)) {
        print_error(request, "program", "a program and one float32 array (n, c, *spatial) are required");
    } else {
        const char *problem = run(program, &x, &y);
        if (problem) {
            print_error(request, "rejected", problem);
        } else {
            printf("{\"request\": \"%s\", \"arrays\": [{\"dtype\": \"float32\", \"shape\": [", request);
            for (int axis = 0; axis < y.rank; axis++) printf(axis ? ", %ld" : "%ld", y.shape[axis]);
            printf("], \"data\": \"");
            print_base64((unsigned char *)y.data, sizeof(float) * elements(&y, 0));
            printf("\"}]}\n");
        }
        if (y.data != x.data) free(y.data);
    }
    free(x.data);
    free(program);
}

int main(void) {
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, stdin) > 0) {
        char *request = text(member(line, "request"));
        if (!request) return 1;
        if (member(line, "hello"))
            printf("{\"request\": \"%s\", \"hello\": 1, \"versions\": {\"pooling-c\": \"" VERSION "\"}}\n", request);
        else
            answer(request, line);
        fflush(stdout);
        free(request);
    }
    free(line);
    return 0;
}
