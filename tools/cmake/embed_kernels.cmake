# Turns the kernels into bytes: cmake -DKERNELS="a.cl;b.cl" -DEXPANDED=DIR -DOUT=kernels.c -P embed_kernels.cmake
#
# Each .cl file has its `#include "x.clh"` lines replaced by the file they name, looked up beside the .cl and taken
# once per .cl (a second include of the same file becomes an empty line).  #line directives keep file names and line
# numbers, so a compiler's message points into cl/.  The expanded text goes to EXPANDED/NAME.cl, for compilers that
# read files, and with its SHA-256 into the table of OUT, for the library: both see the same bytes.
cmake_minimum_required(VERSION 3.25)

# expand(PATH): appends the text of PATH to the global property TEXT.
function(expand path)
    get_filename_component(dir "${path}" DIRECTORY)
    get_filename_component(file "${path}" NAME)
    file(READ "${path}" rest)
    if(rest MATCHES "[^\t\n -~]")
        message(FATAL_ERROR "${path}: only ASCII, tabs and line feeds may stand in a kernel file")
    endif()
    if(NOT rest MATCHES "\n$")
        string(APPEND rest "\n")
    endif()
    set(line 1)
    set_property(GLOBAL APPEND_STRING PROPERTY TEXT "#line 1 \"${file}\"\n")
    while(rest MATCHES "(^|\n)([ \t]*#[ \t]*include[ \t]+\"([^\"\n]+)\"[^\n]*\n)")
        set(directive "${CMAKE_MATCH_2}")
        set(included "${dir}/${CMAKE_MATCH_3}")
        string(FIND "${rest}" "${directive}" at)
        string(LENGTH "${directive}" length)
        string(SUBSTRING "${rest}" 0 ${at} before)
        math(EXPR behind "${at} + ${length}")
        string(SUBSTRING "${rest}" ${behind} -1 rest)

        string(REGEX REPLACE "[^\n]" "" newlines "${before}")
        string(LENGTH "${newlines}" count)
        math(EXPR line "${line} + ${count} + 1")
        set_property(GLOBAL APPEND_STRING PROPERTY TEXT "${before}")
        get_property(seen GLOBAL PROPERTY SEEN)
        if(included IN_LIST seen)
            set_property(GLOBAL APPEND_STRING PROPERTY TEXT "\n")
        elseif(NOT EXISTS "${included}")
            message(FATAL_ERROR "${path}: cannot find ${included}")
        else()
            set_property(GLOBAL APPEND PROPERTY SEEN "${included}")
            expand("${included}")
            set_property(GLOBAL APPEND_STRING PROPERTY TEXT "#line ${line} \"${file}\"\n")
        endif()
    endwhile()
    set_property(GLOBAL APPEND_STRING PROPERTY TEXT "${rest}")
endfunction()

set(body "")
set(rows "")
foreach(path IN LISTS KERNELS)
    set_property(GLOBAL PROPERTY TEXT "")
    set_property(GLOBAL PROPERTY SEEN "${path}")
    expand("${path}")
    get_property(text GLOBAL PROPERTY TEXT)
    get_filename_component(file "${path}" NAME)
    get_filename_component(name "${path}" NAME_WE)
    set(expanded "${EXPANDED}/${file}")
    file(WRITE "${expanded}" "${text}")

    file(SHA256 "${expanded}" sha)
    file(READ "${expanded}" hex HEX)
    string(REGEX REPLACE "(........................................)" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(APPEND body "static const char ${name}_cl[] = {\n${bytes}0};\n")
    string(APPEND rows "    {\"${file}\", ${name}_cl, sizeof ${name}_cl - 1, \"${sha}\"},\n")
endforeach()

file(WRITE "${OUT}" "/* Made by embed_kernels.cmake from cl/; do not edit. */
#include \"runtime/kernels.h\"

${body}
const struct profk__kernel_source profk__kernel_sources[] = {
${rows}    {0, 0, 0, 0},
};
const size_t profk__kernel_source_count = sizeof profk__kernel_sources / sizeof profk__kernel_sources[0] - 1;
")
