# FindAsio: standalone Asio as Asio::asio, compiled once into a static library
# instead of into every file that includes it.
find_path(Asio_INCLUDE_DIR asio.hpp)
mark_as_advanced(Asio_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Asio REQUIRED_VARS Asio_INCLUDE_DIR)

if(Asio_FOUND AND NOT TARGET Asio::asio)
  find_package(Threads REQUIRED)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/asio.cpp
       CONTENT "#include <asio/impl/src.hpp>\n")
  add_library(quipu_asio STATIC ${PROJECT_BINARY_DIR}/generated/asio.cpp)
  target_include_directories(quipu_asio SYSTEM PUBLIC ${Asio_INCLUDE_DIR})
  target_compile_definitions(quipu_asio PUBLIC
    ASIO_STANDALONE ASIO_SEPARATE_COMPILATION ASIO_NO_DEPRECATED
    # Asio 1.22 sees it only if a standard header came first, so that one file's
    # aligned_alloc met another's operator delete.
    ASIO_HAS_STD_ALIGNED_ALLOC=1)
  target_link_libraries(quipu_asio PUBLIC Threads::Threads)
  add_library(Asio::asio ALIAS quipu_asio)
endif()
