/* serve.c: the rows that a launch serves, and how many work-groups it takes. */
#include "stages/stages.h"

uint64_t profk__serve(const struct profk__task *task, uint64_t parts, struct profk__rows *rows_ret, cl_mem *list_ret)
{
    uint64_t tasks = (task->list == NULL ? task->rows : task->listed) * parts;

    *rows_ret = (struct profk__rows){task->list == NULL ? task->rows : 0, (uint32_t)parts, task->first_row};
    *list_ret = task->list == NULL ? task->results : task->list; /* some buffer must stand there */
    return task->list == NULL || tasks < task->list_groups ? tasks : task->list_groups;
}
