# Which layers are built, and only the packages that they need.
#
# STABLEAA_COMPONENTS names the wanted layers; the layers that they use are added. Empty: all. The
# result is STABLEAA_WANTED. `set(STABLEAA_COMPONENTS anderson)` before add_subdirectory() requires
# only Eigen, and uses OpenMP if available.

set(STABLEAA_COMPONENTS "" CACHE STRING "Layers to build, with those that they use; empty: all")

# In dependency order.
set(STABLEAA_ALL core base anderson bellman mdp theory nn env rl experiment)
set(STABLEAA_WANTED core ${STABLEAA_COMPONENTS})
if(NOT STABLEAA_COMPONENTS)
  set(STABLEAA_WANTED ${STABLEAA_ALL})
endif()
foreach(layer IN LISTS STABLEAA_COMPONENTS)
  if(NOT layer IN_LIST STABLEAA_ALL)
    message(FATAL_ERROR "STABLEAA_COMPONENTS has '${layer}'; there are: ${STABLEAA_ALL}")
  endif()
endforeach()
# Highest first. Read from the layers' files, because packages must be found before these are added.
set(highest_first ${STABLEAA_ALL})
list(REVERSE highest_first)
foreach(layer IN LISTS highest_first)
  if(layer IN_LIST STABLEAA_WANTED)
    file(STRINGS stableaa/${layer}/CMakeLists.txt uses REGEX "^  USES ")
    string(REGEX REPLACE "^  USES |\\)" "" uses "${uses}")
    separate_arguments(uses)
    list(APPEND STABLEAA_WANTED ${uses})
  endif()
endforeach()

macro(stableaa_find_packages)
  if(mdp IN_LIST STABLEAA_WANTED OR nn IN_LIST STABLEAA_WANTED)
    find_package(OpenMP REQUIRED COMPONENTS CXX)
  else()
    find_package(OpenMP COMPONENTS CXX)
  endif()
  # For layers that can do without; they then use one thread.
  set(STABLEAA_OPENMP "")
  if(OpenMP_CXX_FOUND)
    set(STABLEAA_OPENMP OpenMP::OpenMP_CXX)
  endif()

  if(anderson IN_LIST STABLEAA_WANTED)
    find_package(Eigen3 REQUIRED)
    # Eigen for our layers, with its namespace renamed. Its functions are in our static libraries,
    # and under its own name the linker would merge them with those of a user's Eigen: compiled for
    # other vectors or from another version, one would free what the other allocated. Eigen starts
    # no threads, so that results do not depend on their number; our layers start their own.
    add_library(stableaa_eigen INTERFACE)
    target_link_libraries(stableaa_eigen INTERFACE Eigen3::Eigen)
    target_compile_definitions(stableaa_eigen INTERFACE Eigen=stableaa_eigen EIGEN_DONT_PARALLELIZE)
  endif()

  if(base IN_LIST STABLEAA_WANTED)
    find_package(fmt REQUIRED)
    find_package(ZLIB REQUIRED)
    find_package(nlohmann_json REQUIRED)
    find_package(PkgConfig REQUIRED)
    pkg_check_modules(TOMLPLUSPLUS REQUIRED IMPORTED_TARGET tomlplusplus)
  endif()

  if(nn IN_LIST STABLEAA_WANTED AND STABLEAA_ONEDNN)
    set(required REQUIRED)
    if(STABLEAA_ONEDNN STREQUAL "AUTO")
      set(required "")
    endif()
    # By hand, because its own CMake package requires OpenCL's headers.
    find_library(STABLEAA_DNNL_LIBRARY dnnl ${required})
    find_path(STABLEAA_DNNL_HEADERS oneapi/dnnl/dnnl.hpp ${required})
    if(STABLEAA_DNNL_LIBRARY AND STABLEAA_DNNL_HEADERS)
      add_library(stableaa_dnnl UNKNOWN IMPORTED)
      set_target_properties(stableaa_dnnl PROPERTIES IMPORTED_LOCATION ${STABLEAA_DNNL_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${STABLEAA_DNNL_HEADERS})
    endif()
  endif()

  if(nn IN_LIST STABLEAA_WANTED)
    find_package(Protobuf REQUIRED)
  endif()

  if(rl IN_LIST STABLEAA_WANTED)
    pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4)
    pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
    find_package(Threads REQUIRED)
  endif()

  if(STABLEAA_PROGRAM)
    find_package(CLI11 REQUIRED)
  endif()
  if(STABLEAA_TESTS)
    find_package(GTest REQUIRED)
  endif()
endmacro()
