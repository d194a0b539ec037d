# cmake -DSCRIPT=embed_kernels.cmake -DSCRATCH=DIR -P embed.cmake: the embed step on three small files.
cmake_minimum_required(VERSION 3.25)

function(expect what want got)
    if(NOT "${got}" STREQUAL "${want}")
        message(FATAL_ERROR "${what}:\n--- want\n${want}\n--- got\n${got}\n---")
    endif()
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
file(WRITE ${SCRATCH}/a.clh "int a[2]; /* ; [ \\ */\n#include \"b.clh\"\nint a2;\n")
file(WRITE ${SCRATCH}/b.clh "#define TWO \\\n  2\nint b;")
file(WRITE ${SCRATCH}/k.cl "/* #include \"not.clh\" */\n\n#include \"a.clh\" /* twice */\n  # include \"b.clh\"\n#line2\nint k;\n")
execute_process(COMMAND ${CMAKE_COMMAND} -DKERNELS=${SCRATCH}/k.cl -DEXPANDED=${SCRATCH}/out -DOUT=${SCRATCH}/kernels.c
    -P ${SCRIPT} COMMAND_ERROR_IS_FATAL ANY)
file(READ ${SCRATCH}/out/k.cl text)
expect("expanded text" "#line 1 \"k.cl\"
/* #include \"not.clh\" */

#line 1 \"a.clh\"
int a[2]; /* ; [ \\ */
#line 1 \"b.clh\"
#define TWO \\
  2
int b;
#line 3 \"a.clh\"
int a2;
#line 4 \"k.cl\"

#line2
int k;
" "${text}")

# The array in kernels.c holds the same bytes, and the table their digest.
file(READ ${SCRATCH}/kernels.c c)
string(REGEX MATCH "k_cl\\[\\] = {([^}]*)}" array "${c}")
string(REGEX REPLACE "0x|[,\n]" "" hex "${CMAKE_MATCH_1}")
file(READ ${SCRATCH}/out/k.cl bytes HEX)
expect("embedded bytes" "${bytes}0" "${hex}")
file(SHA256 ${SCRATCH}/out/k.cl sha)
if(NOT c MATCHES "{\"k.cl\", k_cl, sizeof k_cl - 1, \"${sha}\"}")
    message(FATAL_ERROR "no row with the digest ${sha}")
endif()

# A missing include and a byte that is not ASCII are errors that name the file.
file(WRITE ${SCRATCH}/bad.cl "#include \"nowhere.clh\"\n")
string(ASCII 195 164 umlaut)
file(WRITE ${SCRATCH}/umlaut.cl "/* ${umlaut} */\n")
foreach(name bad umlaut)
    execute_process(COMMAND ${CMAKE_COMMAND} -DKERNELS=${SCRATCH}/${name}.cl -DEXPANDED=${SCRATCH}/out
        -DOUT=${SCRATCH}/x.c -P ${SCRIPT} RESULT_VARIABLE rc ERROR_VARIABLE err)
    if(rc EQUAL 0 OR NOT err MATCHES "${name}.cl")
        message(FATAL_ERROR "${name}.cl: status ${rc}, message ${err}")
    endif()
endforeach()
