# quipu_layer(<name> [OVER <lower layer>] [PUBLIC <library>...] [PRIVATE <library>...])
# The static library of a folder's *.cpp (not of its subfolders), which sees its
# own public headers in include/ and everything below it. A folder of headers
# alone becomes an interface library, so that what stands on it need not care.
# PRIVATE libraries are not for the layers above. (tests/layers checks that, and
# the order: with all headers in /usr/include, an include path could not.)
function(quipu_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 layer "" "OVER" "PUBLIC;PRIVATE")
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(sources)
    add_library(${name} STATIC ${sources})
    set(scope PUBLIC)
    target_link_libraries(${name} PRIVATE ${layer_PRIVATE})
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_link_libraries(${name} ${scope} ${layer_OVER} ${layer_PUBLIC})
  # Includes are written from the root: "storage/executor.h".
  target_include_directories(${name} ${scope} ${PROJECT_SOURCE_DIR})
  if(IS_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/include)
    target_include_directories(${name} ${scope} ${CMAKE_CURRENT_SOURCE_DIR}/include)
  endif()
endfunction()
