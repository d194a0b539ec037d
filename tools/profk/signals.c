/* signals.c: handlers that call nothing but async-signal-safe functions. */
#include "signals.h"

#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#include "report.h"

/* AddressSanitizer allocates before a call that does not return, which no handler may do: one that came in the middle of
 * an allocation waited for itself. */
#if defined(__GNUC__)
#define HANDLER __attribute__((no_sanitize_address))
#else
#define HANDLER
#endif

enum { MAX_TEMPORARIES = 2 }; /* --values and --indices */

static const char *volatile temporaries[MAX_TEMPORARIES];
static volatile uintptr_t guarded_start, guarded_end;
static volatile sig_atomic_t is_held, is_pending;

HANDLER static void remove_temporaries(void)
{
    int i;

    for (i = 0; i < MAX_TEMPORARIES; i++)
        if (temporaries[i])
            unlink(temporaries[i]);
}

HANDLER static void on_stop(int number)
{
    (void)number;
    if (is_held) {
        is_pending = 1;
        return;
    }
    remove_temporaries();
    _exit(EXIT_INTERRUPTED);
}

HANDLER static void on_bus_error(int number, siginfo_t *info, void *machine)
{
    static const char message[] =
        "profk: the input file became shorter while it was read; run again when it is whole\n";
    uintptr_t place = (uintptr_t)info->si_addr;

    (void)machine;
    remove_temporaries();
    if (place >= guarded_start && place < guarded_end) {
        ssize_t ignored = write(STDERR_FILENO, message, sizeof message - 1);

        (void)ignored;
        _exit(EXIT_WRONG);
    }
    signal(number, SIG_DFL);
    raise(number);
}

static void stop_on(int number)
{
    struct sigaction action = {0}, before;

    if (sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_IGN)
        return; /* as under nohup */
    action.sa_handler = on_stop;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

void signals_install(void)
{
    struct sigaction action = {0};

    stop_on(SIGINT);
    stop_on(SIGTERM);
    stop_on(SIGHUP);
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

void signals_hold(void)
{
    is_held = 1;
}

void signals_release(void)
{
    is_held = 0;
    if (is_pending)
        on_stop(0);
}

void signals_guard(const void *start, size_t nbytes)
{
    guarded_start = (uintptr_t)start;
    guarded_end = guarded_start + (start ? nbytes : 0);
}

void signals_remember(const char *path)
{
    int i;

    for (i = 0; i < MAX_TEMPORARIES; i++) {
        if (!temporaries[i]) {
            temporaries[i] = path;
            return;
        }
    }
}

void signals_forget(const char *path)
{
    int i;

    for (i = 0; i < MAX_TEMPORARIES; i++)
        if (temporaries[i] == path)
            temporaries[i] = NULL;
}
