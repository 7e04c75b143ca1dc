# FindXxHash: the header alone, as XxHash::xxhash. The one file that includes it
# defines XXH_INLINE_ALL, so that nothing is linked.
find_path(XxHash_INCLUDE_DIR xxhash.h)
mark_as_advanced(XxHash_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(XxHash REQUIRED_VARS XxHash_INCLUDE_DIR)

if(XxHash_FOUND AND NOT TARGET XxHash::xxhash)
  add_library(XxHash::xxhash INTERFACE IMPORTED)
  target_include_directories(XxHash::xxhash INTERFACE ${XxHash_INCLUDE_DIR})
endif()
