# cmake -DLIBRARY=libprofk.so|.a -DNM=nm -DINCLUDE=DIR -P symbols.cmake
#
# A shared library exports what exports.txt lists, no more and no less; all global symbols of a static one begin with
# profk_, and the list is among them.  The PROFK_API functions of the headers are those of the list.
cmake_minimum_required(VERSION 3.25)

if(LIBRARY MATCHES "\\.a$")
    set(options -g --defined-only -P)
    set(pattern "^profk_")
else()
    set(options -D --defined-only -P)
    set(pattern "^profk_[^_]")
    set(shared ON)
endif()
execute_process(COMMAND ${NM} ${options} ${LIBRARY} OUTPUT_VARIABLE out COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "(^|\n)[A-Za-z_][A-Za-z0-9_.@]* [A-Z]" rows "${out}")
set(symbols "")
foreach(row IN LISTS rows)
    string(REGEX REPLACE "^\n?([^ @]+).*" "\\1" name "${row}")
    # Sanitizers add symbols of their own.
    if(NOT name MATCHES "^(__asan_|__odr_asan|__ubsan|__tsan|_init$|_fini$)")
        list(APPEND symbols ${name})
    endif()
endforeach()

set(foreign ${symbols})
list(FILTER foreign EXCLUDE REGEX "${pattern}")
if(foreign)
    message(FATAL_ERROR "symbols without the prefix: ${foreign}")
endif()

foreach(header profk.h profk_params.h)
    file(READ ${INCLUDE}/${header} text)
    string(REGEX MATCHALL "\nPROFK_API [^;(]*[ *]profk_[a-z0-9_]+\\(" declarations "${text}")
    foreach(declaration IN LISTS declarations)
        string(REGEX REPLACE ".*[ *](profk_[a-z0-9_]+)\\($" "\\1" name "${declaration}")
        list(APPEND declared ${name})
    endforeach()
endforeach()

# Fails with the names that are in one of two lists and not in the other.
function(compare first_words first second_words second)
    set(lost ${first})
    list(REMOVE_ITEM lost ${second})
    set(new ${second})
    list(REMOVE_ITEM new ${first})
    if(lost OR new)
        message(FATAL_ERROR "${first_words} but not ${second_words}: ${lost}; ${second_words} but not ${first_words}: "
            "${new}.  A name that programs may use never goes; a new one is added to exports.txt")
    endif()
endfunction()

file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/exports.txt listed REGEX "^profk_")
compare("listed" "${listed}" "declared" "${declared}")
if(shared)
    compare("listed" "${listed}" "exported" "${symbols}")
endif()
set(missing ${listed})
list(REMOVE_ITEM missing ${symbols})
if(missing)
    message(FATAL_ERROR "listed but not in the library: ${missing}")
endif()
list(LENGTH listed count)
message(STATUS "${count} functions: listed, declared, in the library, and nothing else")
