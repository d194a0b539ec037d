/* subcommands.h: what main() can call.  Each returns an exit status and has printed its results or its message. */
#ifndef PROFK_COMMAND_SUBCOMMANDS_H
#define PROFK_COMMAND_SUBCOMMANDS_H

#include "options.h"

int run_topk(const struct settings *settings);
int run_params(const struct settings *settings);
int run_explain(const struct settings *settings);
int run_devices(const struct settings *settings);
int run_selftest(const struct settings *settings);
int run_cache(const struct settings *settings);
int run_tune(const struct settings *settings);
int run_bench(const struct settings *settings);

#endif
