# profk_own: what every target of ours is compiled with and no user of the library ever sees: the language, the
# warnings (all errors) and the sanitizers.  Linked PRIVATE, never put into global flags.
add_library(profk_own INTERFACE)
target_compile_features(profk_own INTERFACE c_std_11)
set(profk_warnings -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wdouble-promotion -Wcast-align -Wvla -Wundef)
target_compile_options(profk_own INTERFACE -Werror ${profk_warnings}
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes>)

if(PROFK_SANITIZE)
    set(flags -fsanitize=${PROFK_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_compile_options(profk_own INTERFACE ${flags})
    target_link_options(profk_own INTERFACE ${flags})
endif()

# profk_own_target(TARGET...): ISO C11 (or C++11), no extensions, our warnings.
function(profk_own_target)
    foreach(target IN LISTS ARGN)
        set_target_properties(${target} PROPERTIES C_EXTENSIONS OFF CXX_EXTENSIONS OFF)
        target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:profk_own>)
    endforeach()
endfunction()
