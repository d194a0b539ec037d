/* structs.c: reads and writes structs of another release's size. */
#include "base/structs.h"

#include <string.h>

static profk_status read_size(const void *at, size_t first_nbytes, const char *name, size_t *ret)
{
    if (at == NULL)
        return profk__fail(PROFK_ERR_ARGUMENT, "%s is NULL", name);
    memcpy(ret, at, sizeof *ret);
    if (*ret < first_nbytes)
        return profk__fail(PROFK_ERR_ARGUMENT, "%s.struct_size is %zu; set it to sizeof(%s), at least %zu", name, *ret,
                           name, first_nbytes);
    return PROFK_OK;
}

profk_status profk__struct_in(void *to, size_t known, size_t first_nbytes, const void *from, const char *name)
{
    profk_status st = PROFK_OK;
    const unsigned char *bytes = from;
    size_t nbytes = 0;

    TRY(read_size(from, first_nbytes, name, &nbytes));
    for (size_t i = known; i < nbytes; i++)
        if (bytes[i] != 0) {
            st = profk__fail(PROFK_ERR_ARGUMENT, "%s has fields that this release does not know; set them to 0", name);
            goto done;
        }
    memset(to, 0, known);
    memcpy(to, from, nbytes < known ? nbytes : known);
done:
    return st;
}

profk_status profk__struct_out(void *to, const void *from, size_t known, size_t first_nbytes, const char *name)
{
    profk_status st = PROFK_OK;
    size_t nbytes = 0;

    TRY(read_size(to, first_nbytes, name, &nbytes));
    memcpy((char *)to + sizeof nbytes, (const char *)from + sizeof nbytes,
           (nbytes < known ? nbytes : known) - sizeof nbytes);
done:
    return st;
}
