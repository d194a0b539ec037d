# cmake -DKIND=shared|static -DSOURCE=.. -DSCRATCH=.. -DC_COMPILER=.. [-DCXX_COMPILER=..] [-DPKG_CONFIG=..] -DNM=..
#       -DVERSION=.. -P install.cmake
#
# Builds and installs the library alone, moves the installed tree, and builds and runs outside/ against it.
cmake_minimum_required(VERSION 3.25)

function(run)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE rc OUTPUT_VARIABLE out ERROR_VARIABLE out)
    if(NOT rc EQUAL 0)
        string(REPLACE ";" " " command "${ARGN}")
        message(FATAL_ERROR "${command}\n${out}")
    endif()
    set(out "${out}" PARENT_SCOPE)
endfunction()

if(KIND STREQUAL shared)
    set(shared ON)
else()
    set(shared OFF)
endif()
if(CXX_COMPILER)
    set(cxx -DCMAKE_CXX_COMPILER=${CXX_COMPILER} -DWITH_CXX=ON)
endif()
set(outside ${CMAKE_CURRENT_LIST_DIR}/outside)
set(prefix ${SCRATCH}/moved)
file(REMOVE_RECURSE ${SCRATCH}/installed ${prefix} ${SCRATCH}/user)

run(${CMAKE_COMMAND} -S ${SOURCE} -B ${SCRATCH}/build -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_BUILD_TYPE=Debug
    -DBUILD_SHARED_LIBS=${shared} -DPROFK_BUILD_TESTS=OFF -DPROFK_BUILD_EXAMPLES=OFF
    -DCMAKE_INSTALL_PREFIX=${SCRATCH}/installed -DCMAKE_INSTALL_LIBDIR=lib)
run(${CMAKE_COMMAND} --build ${SCRATCH}/build --parallel 2)
run(${CMAKE_COMMAND} --install ${SCRATCH}/build)
file(RENAME ${SCRATCH}/installed ${prefix})

# The installed library of this kind, its symbols, and the command where it was built.
if(shared)
    set(library ${prefix}/lib/libprofk.so)
else()
    set(library ${prefix}/lib/libprofk.a)
endif()
run(${CMAKE_COMMAND} -DLIBRARY=${library} -DNM=${NM} -DINCLUDE=${prefix}/include
    -P ${CMAKE_CURRENT_LIST_DIR}/../unit/symbols.cmake)
if(EXISTS ${prefix}/bin/profk)
    run(${prefix}/bin/profk --version)
    if(NOT out STREQUAL "profk ${VERSION}\n")
        message(FATAL_ERROR "the installed command prints: ${out}")
    endif()
elseif(EXISTS ${SOURCE}/tools/CMakeLists.txt)
    message(FATAL_ERROR "the command is not installed")
endif()

# find_package
run(${CMAKE_COMMAND} -S ${outside} -B ${SCRATCH}/user -DCMAKE_C_COMPILER=${C_COMPILER} ${cxx}
    -DCMAKE_PREFIX_PATH=${prefix} -DWANT_VERSION=${VERSION})
run(${CMAKE_COMMAND} --build ${SCRATCH}/user)
run(${SCRATCH}/user/user)
if(CXX_COMPILER)
    run(${SCRATCH}/user/user_cxx)
endif()

# pkg-config: OpenCL itself comes only with --static, so a program that calls it names it.
if(PKG_CONFIG)
    if(NOT shared)
        set(static --static)
    endif()
    set(ENV{PKG_CONFIG_PATH} ${prefix}/lib/pkgconfig)
    run(${PKG_CONFIG} --modversion profk)
    if(NOT out STREQUAL "${VERSION}\n")
        message(FATAL_ERROR "pkg-config --modversion prints: ${out}")
    endif()
    run(${PKG_CONFIG} --cflags --libs ${static} profk)
    separate_arguments(flags UNIX_COMMAND "${out}")
    run(${C_COMPILER} -std=c11 ${outside}/user.c -o ${SCRATCH}/user_pc ${flags} -Wl,-rpath,${prefix}/lib)
    run(${SCRATCH}/user_pc)
else()
    message(STATUS "no pkg-config here: profk.pc not tried")
endif()
