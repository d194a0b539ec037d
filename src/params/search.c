/* search.c: the smallest integer that satisfies a monotone condition, found from a guess. */
#include <assert.h>
#include <math.h>

#include "params/params.h"

/*
 * Steps of 1, 2, 4, ... away from the guess bracket the answer, bisection finds it: about 2 log2 |answer - guess|
 * questions.  Invariant: high holds; nothing below low does.
 */
uint64_t profk__smallest(uint64_t low, uint64_t high, uint64_t guess, profk__holds_fn holds, const void *question)
{
    uint64_t step = 1;

    assert(low <= high);
    guess = guess < low ? low : guess > high ? high : guess;
    if (guess == high || holds(question, guess)) {
        high = guess;
        for (; high > low; step *= 2) {
            const uint64_t probe = high - low > step ? high - step : low;
            if (!holds(question, probe)) {
                low = probe + 1;
                break;
            }
            high = probe;
        }
    } else {
        low = guess + 1;
        for (; high > low && high - low > step; step *= 2) {
            const uint64_t probe = low + step;
            if (holds(question, probe)) {
                high = probe;
                break;
            }
            low = probe + 1;
        }
    }
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (holds(question, middle))
            high = middle;
        else
            low = middle + 1;
    }
    return high;
}

uint64_t profk__ceil_clamped(double x, uint64_t low, uint64_t high)
{
    if (!(x > (double)low))
        return low;
    return x < (double)high ? (uint64_t)ceil(x) : high;
}
