/* devices.c: profk devices, every OpenCL device and whether profk can use it. */
#include <inttypes.h>
#include <profk.h>

#include "devices.h"
#include "json.h"
#include "out.h"
#include "report.h"
#include "subcommands.h"

static const char *type_text(uint32_t type)
{
    if (type & CL_DEVICE_TYPE_GPU)
        return "gpu";
    if (type & CL_DEVICE_TYPE_CPU)
        return "cpu";
    return type & CL_DEVICE_TYPE_ACCELERATOR ? "accelerator" : "other";
}

void devices_json(struct json *json, const char *key, const profk_device *device)
{
    json_open(json, key, '{');
    json_u64(json, "number", device->number);
    json_string(json, "name", device->name);
    json_string(json, "platform", device->platform);
    json_string(json, "version", device->version);
    json_string(json, "driver", device->driver);
    json_string(json, "type", type_text(device->type));
    json_u64(json, "compute_units", device->compute_units);
    json_u64(json, "global_bytes", device->global_nbytes);
    json_u64(json, "max_alloc_bytes", device->max_alloc_nbytes);
    json_u64(json, "local_bytes", device->local_nbytes);
    json_u64(json, "max_work_group", device->max_wg);
    json_bool(json, "usable", device->usable != 0);
    json_string(json, "why_not", device->why_not);
    json_close(json, '}');
}

static void print_device(const profk_device *device)
{
    out_format("%6" PRIu32 "  %-11s  %5" PRIu32 "  %9.1f GiB  %s (%s)%s%s\n", device->number, type_text(device->type),
               device->compute_units, (double)device->global_nbytes / 1073741824.0, device->name, device->platform,
               device->usable ? "" : ": not usable, ", device->why_not);
}

static void start_json(struct json *json)
{
    json_open(json, NULL, '{');
    json_open(json, "devices", '[');
}

static void end_json(struct json *json)
{
    json_close(json, ']');
    json_close(json, '}');
    out_text("\n");
}

int run_devices(const struct settings *settings)
{
    const bool as_json = settings->format == FORMAT_JSON;
    profk_device device = {.struct_size = sizeof device};
    profk_status status = profk_device_get(0, &device);
    struct json json = {false};
    uint32_t number;

    if (status != PROFK_OK)
        return fail_status(status);
    if (as_json)
        start_json(&json);
    else
        out_text("number  type         units         memory  name (platform)\n");
    for (number = 0; status == PROFK_OK; status = profk_device_get(++number, &device)) {
        if (as_json)
            devices_json(&json, NULL, &device);
        else
            print_device(&device);
    }
    if (as_json)
        end_json(&json);
    return status == PROFK_ERR_NO_DEVICE ? out_finish() : fail_status(status);
}
