/* devices.h: the facts about a device, for whoever prints them. */
#ifndef PROFK_COMMAND_DEVICES_H
#define PROFK_COMMAND_DEVICES_H

#include <profk.h>

#include "json.h"

void devices_json(struct json *json, const char *key, const profk_device *device);

#endif
