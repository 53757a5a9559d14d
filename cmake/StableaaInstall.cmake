# What `cmake --install` installs: the headers, the static libraries and the CMake package of every
# layer that is not PROGRAM_ONLY, stableaa.pc, the program and its bash completion. Everything finds
# its parts relative to itself, so the installed tree can be moved.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# stableaa_outside(TARGET [HEADERS_ONLY] [FIND arguments] [REQUIRES module] [LIBS name ...])
#   says how users of the installed libraries get an outside library that a layer LINKS:
#     HEADERS_ONLY  not at all; it was only needed to compile ours
#     FIND          in CMake, with find_dependency(arguments) and TARGET; otherwise by LIBS
#     REQUIRES      in pkg-config, with this module; otherwise by LIBS
#     LIBS          by plain names, found where the linker looks
macro(stableaa_outside target)
  string(MAKE_C_IDENTIFIER ${target} row)
  set(${row}_KNOWN TRUE)
  cmake_parse_arguments(${row} "HEADERS_ONLY" "FIND;REQUIRES" "LIBS" ${ARGN})
endmacro()

stableaa_outside(fmt::fmt FIND fmt REQUIRES fmt)
stableaa_outside(ZLIB::ZLIB FIND ZLIB REQUIRES zlib)
# The names rather than -fopenmp, for which the user's compiler would choose the runtime.
stableaa_outside(OpenMP::OpenMP_CXX FIND "OpenMP COMPONENTS CXX" LIBS ${OpenMP_CXX_LIB_NAMES})
# Not every distribution has a CMake package for it; its headers and pkg-config file are not needed.
stableaa_outside(PkgConfig::TOMLPLUSPLUS LIBS ${TOMLPLUSPLUS_LIBRARIES})
stableaa_outside(stableaa_eigen HEADERS_ONLY)
stableaa_outside(nlohmann_json::nlohmann_json HEADERS_ONLY)
# Linked, and named to users, only if the build found it.
stableaa_outside(stableaa_dnnl LIBS dnnl)
stableaa_outside(protobuf::libprotobuf FIND Protobuf REQUIRES protobuf)
stableaa_outside(PkgConfig::LZ4 LIBS ${LZ4_LIBRARIES})
stableaa_outside(PkgConfig::ZSTD LIBS ${ZSTD_LIBRARIES})
stableaa_outside(Threads::Threads FIND Threads LIBS pthread)

# A library comes before the ones it uses: for the linker, and so that the package file can add what
# a wanted component uses and then process that.
get_property(layers GLOBAL PROPERTY STABLEAA_LAYERS)
list(JOIN layers " " package_components)
list(REVERSE layers)
set(package_needs "")
set(pc_libs "")
set(pc_outside_libs "")
set(pc_requires "")
foreach(layer IN LISTS layers)
  set(target stableaa_${layer})
  get_target_property(uses ${target} STABLEAA_USES)
  get_target_property(links ${target} STABLEAA_LINKS)
  get_target_property(internal ${target} STABLEAA_INTERNAL_HEADERS)
  get_target_property(folder ${target} SOURCE_DIR)

  string(APPEND package_needs "if(\"${layer}\" IN_LIST stableaa_wanted)\n")
  if(uses)
    list(JOIN uses " " uses)
    string(APPEND package_needs "  list(APPEND stableaa_wanted ${uses})\n")
  endif()
  foreach(link IN LISTS links)
    string(MAKE_C_IDENTIFIER ${link} row)
    if(NOT ${row}_KNOWN)
      message(FATAL_ERROR "${link}, which the layer ${layer} LINKS, has no stableaa_outside row in "
                          "cmake/StableaaInstall.cmake")
    elseif(${row}_HEADERS_ONLY)
      continue()
    endif()
    if(${row}_FIND)
      string(APPEND package_needs "  find_dependency(${${row}_FIND})\n")
      set(installed_links ${link})
    else()
      set(installed_links ${${row}_LIBS})
    endif()
    foreach(name IN LISTS installed_links)
      set_property(TARGET ${target} APPEND PROPERTY INTERFACE_LINK_LIBRARIES
        "$<INSTALL_INTERFACE:$<LINK_ONLY:${name}>>")
    endforeach()
    if(${row}_REQUIRES)
      list(APPEND pc_requires ${${row}_REQUIRES})
    else()
      list(APPEND pc_outside_libs ${${row}_LIBS})
    endif()
  endforeach()
  string(APPEND package_needs "endif()\n")
  list(APPEND pc_libs ${target})

  set(excluded REGEX "_test\\.h$" EXCLUDE)
  foreach(header IN LISTS internal)
    if(NOT EXISTS ${folder}/${header})
      message(FATAL_ERROR "No ${header} in ${folder}")
    endif()
    list(APPEND excluded PATTERN ${header} EXCLUDE)
  endforeach()
  install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/stableaa
    FILES_MATCHING PATTERN *.h ${excluded})
  install(TARGETS ${target} EXPORT stableaa
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endforeach()
install(TARGETS stableaa_all EXPORT stableaa)

# The CMake package.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/stableaa)
set(made_dir ${PROJECT_BINARY_DIR}/install)
configure_package_config_file(cmake/stableaaConfig.cmake.in ${made_dir}/stableaaConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
# Before 1.0, a minor version may break the interface.
write_basic_package_version_file(${made_dir}/stableaaConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(EXPORT stableaa NAMESPACE stableaa:: FILE stableaaTargets.cmake DESTINATION ${package_dir})
install(FILES ${made_dir}/stableaaConfig.cmake ${made_dir}/stableaaConfigVersion.cmake
  DESTINATION ${package_dir})

# pkg-config.
list(APPEND pc_libs ${pc_outside_libs})
list(REMOVE_DUPLICATES pc_libs)
list(TRANSFORM pc_libs PREPEND -l)
list(JOIN pc_libs " " pc_libs)
list(REMOVE_DUPLICATES pc_requires)
list(JOIN pc_requires ", " pc_requires)
file(RELATIVE_PATH pc_to_include ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
  ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(cmake/stableaa.pc.in ${made_dir}/stableaa.pc @ONLY)
install(FILES ${made_dir}/stableaa.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The program.
set(completion "")
if(STABLEAA_PROGRAM)
  set(completion ${made_dir}/completions/stableaa)
  file(MAKE_DIRECTORY ${made_dir}/completions)
  add_custom_command(OUTPUT ${completion}
    COMMAND stableaa_program completion bash > ${completion}
    DEPENDS stableaa_program VERBATIM)
  install(TARGETS stableaa_program)
  install(FILES ${completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endif()

# Everything that must be built before installing.
add_custom_target(stableaa_installed_files ALL DEPENDS ${completion})
list(TRANSFORM layers PREPEND stableaa_)
add_dependencies(stableaa_installed_files ${layers})

if(STABLEAA_TESTS AND STABLEAA_PROGRAM)
  set_property(GLOBAL APPEND PROPERTY STABLEAA_TEST_PROGRAMS stableaa_installed_files)
  add_test(NAME install_outside_project
    COMMAND ${PROJECT_SOURCE_DIR}/scripts/check-install ${PROJECT_BINARY_DIR})
  set_tests_properties(install_outside_project PROPERTIES LABELS full TIMEOUT 1800)
endif()
