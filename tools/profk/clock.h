/* clock.h: seconds of a clock that only goes forward. */
#ifndef PROFK_COMMAND_CLOCK_H
#define PROFK_COMMAND_CLOCK_H

double clock_seconds(void);

#endif
