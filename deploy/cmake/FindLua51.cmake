# FindLua51: Lua 5.1, the version that Redis's scripts are written for, as Lua51::lua. CMake's
# own module of this name defines no target.
find_path(Lua51_INCLUDE_DIR lua.h PATH_SUFFIXES lua5.1 lua51 lua-5.1)
find_library(Lua51_LIBRARY NAMES lua5.1 lua51 lua-5.1)
mark_as_advanced(Lua51_INCLUDE_DIR Lua51_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Lua51 REQUIRED_VARS Lua51_LIBRARY Lua51_INCLUDE_DIR)

if(Lua51_FOUND AND NOT TARGET Lua51::lua)
  add_library(Lua51::lua UNKNOWN IMPORTED)
  set_target_properties(Lua51::lua PROPERTIES
    IMPORTED_LOCATION ${Lua51_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${Lua51_INCLUDE_DIR})
endif()
