/*
 * host.c: the ten largest of a million floats in host memory, in one call.
 *
 *     cc host.c $(pkg-config --cflags --libs profk) -o host
 */
#include <profk.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1000000, K = 10 };

int main(void)
{
    float *x = (float *)malloc(N * sizeof *x);
    float values[K];
    uint64_t indices[K];
    profk_problem problem;

    if (x == NULL)
        return 1;
    for (uint32_t i = 0; i < N; i++)
        x[i] = (float)(i * 2654435761u >> 8); /* scattered, with ties */

    profk_problem_init(&problem, sizeof problem, PROFK_F32, N, K);
    profk_status status = profk_topk_host(NULL, &problem, x, values, indices, NULL, NULL);
    if (status != PROFK_OK) {
        fprintf(stderr, "%s: %s\n", profk_status_string(status), profk_context_message(NULL));
        free(x);
        return 1;
    }

    int wrong = 0;
    for (int i = 0; i < K; i++) {
        printf("%2d  x[%6" PRIu64 "] = %.1f\n", i + 1, indices[i], (double)values[i]);
        wrong += values[i] != x[indices[i]];
    }
    free(x);
    return wrong == 0 ? 0 : 1;
}
