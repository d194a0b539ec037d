# Install rules: headers, library, package files for CMake and pkg-config, the manual.  (The command installs itself in tools/.)
include(CMakePackageConfigHelpers)

set(profk_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/profk)
install(TARGETS profk EXPORT profk-targets
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT profk-targets NAMESPACE profk:: DESTINATION ${profk_cmake_dir})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/profk-config.cmake.in
    ${PROJECT_BINARY_DIR}/profk-config.cmake INSTALL_DESTINATION ${profk_cmake_dir})
# Before 1.0 a minor release may change the interface, as the SOVERSION says.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/profk-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/profk-config.cmake ${PROJECT_BINARY_DIR}/profk-config-version.cmake
    DESTINATION ${profk_cmake_dir})

# The .pc file finds its prefix from where it lies, so an installed tree may be moved.
cmake_path(IS_ABSOLUTE CMAKE_INSTALL_LIBDIR libdir_is_absolute)
cmake_path(IS_ABSOLUTE CMAKE_INSTALL_INCLUDEDIR includedir_is_absolute)
if(libdir_is_absolute OR includedir_is_absolute)
    set(pc_prefix ${CMAKE_INSTALL_PREFIX})
    set(pc_libdir ${CMAKE_INSTALL_FULL_LIBDIR})
    set(pc_includedir ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
    file(RELATIVE_PATH up /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
    string(REGEX REPLACE "/$" "" up "${up}")
    set(pc_prefix "\${pcfiledir}/${up}")
    set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
    set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/profk.pc.in ${PROJECT_BINARY_DIR}/profk.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/profk.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TARGET profk_command)
    install(FILES ${PROJECT_SOURCE_DIR}/docs/profk.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
