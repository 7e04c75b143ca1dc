# quipu_layer(<name> [OVER <lower layer>...] [ONLY <path>...] [EXCEPT <path>...]
#   [PUBLIC <library>...] [PRIVATE <library>...])
# The static library of the *.cpp of a folder and its rooms: of those below the paths in ONLY,
# and not of those below the paths in EXCEPT. (A path is a room or a file.) It sees its own
# public headers in include/ and everything below it.
# PRIVATE libraries are not for the layers above. (tests/layers checks that, and
# the order: with all headers in /usr/include, an include path could not.)
function(quipu_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 layer "" "" "OVER;ONLY;EXCEPT;PUBLIC;PRIVATE")
  file(GLOB_RECURSE all CONFIGURE_DEPENDS *.cpp)
  set(sources ${all})
  if(layer_ONLY)
    set(sources "")
    foreach(path IN LISTS layer_ONLY)
      set(below ${all})
      list(FILTER below INCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${path}(/|$)")
      list(APPEND sources ${below})
    endforeach()
  endif()
  foreach(path IN LISTS layer_EXCEPT)
    list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${path}(/|$)")
  endforeach()
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC ${layer_OVER} ${layer_PUBLIC} PRIVATE ${layer_PRIVATE})
  # Includes are written from the root: "storage/executor.h".
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  if(IS_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/include)
    target_include_directories(${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/include)
  endif()
endfunction()
