# quipu_layer(<name> [OVER <lower layer>] [FOLDERS <subfolder>...]
#   [PUBLIC <library>...] [PRIVATE <library>...])
# The static library of the *.cpp of a folder and of the subfolders named, which
# sees its own public headers in include/ and everything below it.
# PRIVATE libraries are not for the layers above. (tests/layers checks that, and
# the order: with all headers in /usr/include, an include path could not.)
function(quipu_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 layer "" "OVER" "FOLDERS;PUBLIC;PRIVATE")
  list(TRANSFORM layer_FOLDERS APPEND /*.cpp OUTPUT_VARIABLE patterns)
  file(GLOB sources CONFIGURE_DEPENDS *.cpp ${patterns})
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC ${layer_OVER} ${layer_PUBLIC} PRIVATE ${layer_PRIVATE})
  # Includes are written from the root: "storage/executor.h".
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  if(IS_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/include)
    target_include_directories(${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/include)
  endif()
endfunction()
