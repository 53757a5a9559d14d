# One library target per folder under stableaa/.
#
# stableaa_layer(NAME [PROGRAM_ONLY] SOURCES a.cc ... [INTERNAL_HEADERS a.h or folder ...]
#                [USES layer ...] [LINKS target ...])
#   defines stableaa_NAME, exported as stableaa::NAME. USES names the layers it may include. The
#   compiler enforces the order: a layer sees only the headers of its own folder and of the layers
#   it uses, because each folder is reached through its own include directory (a symbolic link in
#   the build tree). LINKS are outside libraries that none of our headers exposes.
#   Installed with all its headers except those of tests and INTERNAL_HEADERS; a PROGRAM_ONLY layer
#   is not installed. StableaaInstall.cmake says how their users find the LINKS.
#
# stableaa_test_support(NAME)
#   headers that tests share, linked to every stableaa_test.
#
# stableaa_umbrella()
#   stableaa::stableaa, all layers that are not PROGRAM_ONLY.
#
# stableaa_test(NAME SOURCES a_test.cc ... [LINKS target ...])
#   one test program per layer. A test suite whose name starts with `Full` gets the ctest label
#   `full`; one that starts with `Bench` gets it too and runs alone; every other gets `quick`.

set(STABLEAA_WARNINGS -Wall -Wextra -Wshadow -Wconversion -Wpedantic)
if(STABLEAA_WERROR)
  list(APPEND STABLEAA_WARNINGS -Werror)
endif()

if(NOT STABLEAA_OPENMP)
  list(APPEND STABLEAA_WARNINGS -Wno-unknown-pragmas)
endif()
if(STABLEAA_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # An included source counts as a header, in which types in an anonymous namespace are dangerous.
  list(APPEND STABLEAA_WARNINGS -Wno-subobject-linkage)
endif()

function(stableaa_layer name)
  cmake_parse_arguments(arg "PROGRAM_ONLY" "" "SOURCES;INTERNAL_HEADERS;USES;LINKS" ${ARGN})
  set(root ${PROJECT_BINARY_DIR}/include/${name})
  file(MAKE_DIRECTORY ${root}/stableaa)
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${root}/stableaa/${name} SYMBOLIC)

  add_library(stableaa_${name} STATIC ${arg_SOURCES})
  add_library(stableaa::${name} ALIAS stableaa_${name})
  set_target_properties(stableaa_${name} PROPERTIES EXPORT_NAME ${name}
    STABLEAA_USES "${arg_USES}" STABLEAA_LINKS "${arg_LINKS}"
    STABLEAA_INTERNAL_HEADERS "${arg_INTERNAL_HEADERS}")
  target_compile_features(stableaa_${name} PUBLIC cxx_std_20)
  target_compile_options(stableaa_${name} PRIVATE ${STABLEAA_WARNINGS})
  if(STABLEAA_FUZZ)
    # Counts what a fuzzer's input reaches; other programs link it all the same.
    target_compile_options(stableaa_${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  set_target_properties(stableaa_${name} PROPERTIES
    UNITY_BUILD ${STABLEAA_UNITY} UNITY_BUILD_BATCH_SIZE ${STABLEAA_BATCH})
  target_include_directories(stableaa_${name} PUBLIC $<BUILD_INTERFACE:${root}>)
  list(TRANSFORM arg_USES PREPEND stableaa_)
  # Otherwise users of the installed static library would need even its header-only libraries.
  list(TRANSFORM arg_LINKS REPLACE "(.+)" "$<BUILD_INTERFACE:\\1>")
  target_link_libraries(stableaa_${name} PUBLIC ${arg_USES} PRIVATE ${arg_LINKS})
  if(NOT arg_PROGRAM_ONLY)
    set_property(GLOBAL APPEND PROPERTY STABLEAA_LAYERS ${name})
  endif()
endfunction()

function(stableaa_test_support name)
  set(root ${PROJECT_BINARY_DIR}/include/${name})
  file(MAKE_DIRECTORY ${root}/stableaa)
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${root}/stableaa/${name} SYMBOLIC)
  add_library(stableaa_${name} INTERFACE)
  target_include_directories(stableaa_${name} INTERFACE ${root})
  target_link_libraries(stableaa_${name} INTERFACE stableaa_core)
endfunction()

function(stableaa_umbrella)
  get_property(layers GLOBAL PROPERTY STABLEAA_LAYERS)
  list(TRANSFORM layers PREPEND stableaa_)
  add_library(stableaa_all INTERFACE)
  add_library(stableaa::stableaa ALIAS stableaa_all)
  set_target_properties(stableaa_all PROPERTIES EXPORT_NAME stableaa)
  target_link_libraries(stableaa_all INTERFACE ${layers})
endfunction()

# A program in tests/ that the target `tests` builds; used by the next two functions.
function(stableaa_test_program program)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${program} EXCLUDE_FROM_ALL ${arg_SOURCES})
  # The tested code is optimised; the tests need not be, and compile faster, the more so under
  # sanitizers (RelWithDebInfo). For clang -Wconversion includes changes of sign, which GCC leaves
  # out.
  target_compile_options(${program} PRIVATE ${STABLEAA_WARNINGS} -Wno-sign-conversion
    $<IF:$<CONFIG:RelWithDebInfo>,-O0,-O1>)
  target_link_libraries(${program} PRIVATE ${arg_LINKS})
  set_target_properties(${program} PROPERTIES
    UNITY_BUILD ${STABLEAA_UNITY} UNITY_BUILD_BATCH_SIZE 8
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  set_property(GLOBAL APPEND PROPERTY STABLEAA_TEST_PROGRAMS ${program})
endfunction()

function(stableaa_test name)
  if(NOT STABLEAA_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  set(program ${name}_test)
  stableaa_test_program(${program} SOURCES ${arg_SOURCES}
    LINKS stableaa_${name} stableaa_testing ${arg_LINKS} GTest::gtest_main)
  target_precompile_headers(${program} PRIVATE <gtest/gtest.h> <string> <vector>)
  gtest_discover_tests(${program} TEST_FILTER "-Full*:Bench*" DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS quick TIMEOUT 300)
  gtest_discover_tests(${program} TEST_FILTER "Full*" DISCOVERY_TIMEOUT 60
    TEST_LIST ${program}_full PROPERTIES LABELS full TIMEOUT 600)
  gtest_discover_tests(${program} TEST_FILTER "Bench*" DISCOVERY_TIMEOUT 60
    TEST_LIST ${program}_bench PROPERTIES LABELS full TIMEOUT 600 RUN_SERIAL TRUE)
endfunction()

# stableaa_crosscheck(NAME [LINKS target ...] [PYTHON atari])
#   builds NAME.cc, a small program that prints what the library computes, and registers a test that
#   runs NAME.py on it to compare with NumPy and SciPy, or with Gymnasium in the Python of
#   scripts/atari. Skipped, with a message, if there is no Python with these packages (scripts/test
#   creates both in the build tree).
function(stableaa_crosscheck path)
  if(NOT STABLEAA_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "PYTHON" "LINKS" ${ARGN})
  cmake_path(GET path FILENAME name)
  stableaa_test_program(${name} SOURCES ${path}.cc LINKS ${arg_LINKS})
  stableaa_python_test(${name} "${arg_PYTHON}" ${CMAKE_CURRENT_SOURCE_DIR}/${path}.py
    $<TARGET_FILE:${name}>)
endfunction()

# stableaa_python_test(NAME PYTHON SCRIPT [ARGUMENT ...])
#   runs a script with the Python build/PYTHON (empty: venv).
function(stableaa_python_test name python)
  if(NOT python)
    set(python venv)
  endif()
  add_test(NAME ${name}
    COMMAND ${PROJECT_SOURCE_DIR}/scripts/crosscheck ${PROJECT_SOURCE_DIR}/build/${python} ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS full SKIP_RETURN_CODE 77 TIMEOUT 300)
endfunction()
