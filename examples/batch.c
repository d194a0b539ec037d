/*
 * batch.c: the three least elements of each of 1000 rows, in one call.  The rows of a table stand 64 elements apart
 * and hold 50 each; what lies between them is not looked at.
 *
 *     cc batch.c $(pkg-config --cflags --libs profk) -o batch
 */
#include <profk.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 1000, N = 50, STRIDE = 64, K = 3 };

static float x[ROWS][STRIDE];
static float values[ROWS][K];
static uint32_t indices[ROWS][K];
static profk_row results[ROWS];

/* How many elements of a row stand before its element i: less ones, and equal ones with a lower index. */
static int place_of(const float *row, uint32_t i)
{
    int place = 0;

    for (uint32_t j = 0; j < N; j++)
        place += row[j] < row[i] || (row[j] == row[i] && j < i);
    return place;
}

static int row_is_right(int r)
{
    int right = results[r].status == PROFK_ROW_CERTIFIED;

    for (int i = 0; i < K; i++)
        right =
            right && indices[r][i] < N && values[r][i] == x[r][indices[r][i]] && place_of(x[r], indices[r][i]) == i;
    return right;
}

int main(void)
{
    profk_problem problem;
    int wrong = 0;

    for (uint32_t r = 0; r < ROWS; r++)
        for (uint32_t i = 0; i < STRIDE; i++)
            x[r][i] = i < N ? (float)((r * STRIDE + i) * 2654435761u >> 22) : -1.0f;

    profk_problem_init(&problem, sizeof problem, PROFK_F32, N, K);
    problem.rows = ROWS;
    problem.row_stride = STRIDE;
    problem.order = PROFK_SMALLEST;
    problem.index = PROFK_INDEX_U32;
    profk_status status = profk_topk_host(NULL, &problem, x, values, indices, results, NULL);
    if (status != PROFK_OK) {
        fprintf(stderr, "%s: %s\n", profk_status_string(status), profk_context_message(NULL));
        return 1;
    }

    for (int r = 0; r < ROWS; r++)
        wrong += !row_is_right(r);
    for (int i = 0; i < K; i++)
        printf("row 0, place %d: x[%2" PRIu32 "] = %.0f\n", i + 1, indices[0][i], (double)values[0][i]);
    printf("%d of %d rows are wrong\n", wrong, ROWS);
    return wrong == 0 ? 0 : 1;
}
