# BuildSettings: how every target of Quipu is compiled and linked.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Everything may end in libquipu.so, which shows only what is QUIPU_EXPORT.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# No NDEBUG: assertions stay on in release. -g1: enough for a backtrace with
# line numbers, without the weight of full debug information.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")

# What Debian and others harden their packages with (dpkg-buildflags, hardening=+all). A
# packager's own flags win. What it costs is in tests/bench/README.md.
include(CheckPIESupported)
check_pie_supported()  # else CMake compiles programs with -fPIE, and links them without -pie
option(QUIPU_HARDENED "Harden release builds; OFF measures what that costs" ON)
if(QUIPU_HARDENED AND CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT QUIPU_SANITIZE)
  if(NOT CMAKE_CXX_FLAGS MATCHES "_FORTIFY_SOURCE")
    add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  endif()
  add_compile_options(-fstack-protector-strong)
  include(CheckCXXCompilerFlag)
  foreach(flag -fstack-clash-protection -fcf-protection)  # not on every processor
    string(MAKE_C_IDENTIFIER "QUIPU_HAS${flag}" has)
    check_cxx_compiler_flag(${flag} ${has})
    if(${has})
      add_compile_options(${flag})
    endif()
  endforeach()
  add_link_options(-Wl,-z,relro -Wl,-z,now)
endif()

# Assertions name files from the root, so a build is the same in every directory, and
# ccache shares it between checkouts.
add_compile_options(-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)

# Warnings are errors; --compile-no-warning-as-error lets a packager go on with
# a compiler that warns about more.
set(CMAKE_COMPILE_WARNING_AS_ERROR ON)
add_compile_options(
  -Wall -Wextra -Wpedantic
  -Wconversion            # a silently cut integer is a wrong count
  -Wshadow -Wold-style-cast -Wcast-align -Wundef
  -Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi
  -Wmissing-declarations  # a function in no header belongs in the anonymous namespace
  -Wformat=2)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(
    -Wduplicated-cond -Wlogical-op
    -Wno-restrict)  # g++ 12 warns falsely about "a" + std::to_string(n)
endif()

# "address,undefined", "thread" or what libFuzzer needs; the presets set it.
set(QUIPU_SANITIZE "" CACHE STRING "Sanitizers to build with, as -fsanitize takes them")
if(QUIPU_SANITIZE)
  add_compile_options(
    -fsanitize=${QUIPU_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g1)
  add_link_options(-fsanitize=${QUIPU_SANITIZE})
endif()
if(QUIPU_SANITIZE MATCHES "fuzzer")
  add_compile_options(-O2)  # it is runs that count there
endif()
if(QUIPU_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-tsan)  # Asio's fences, which TSan does not model
endif()
if(QUIPU_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_definitions(_GLIBCXX_ASSERTIONS)  # checks the standard library's preconditions
endif()

# An unused library must not become a runtime dependency of libquipu.so.
add_link_options(-Wl,--as-needed)

# Both are conveniences: lld links 4 times faster than bfd.
find_program(QUIPU_LLD ld.lld)
if(QUIPU_LLD)
  add_link_options(-fuse-ld=lld)
endif()
find_program(QUIPU_CCACHE ccache)
if(QUIPU_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${QUIPU_CCACHE})
endif()
