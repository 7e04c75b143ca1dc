# flatbuffers_schemas(<target>)
# Compiles the folder's *.fbs, so that protocol/state.fbs is included as
# "protocol/state_generated.h".
#   --scoped-enums       enum class, as our own code has them
#   --keep-prefix        a schema that includes "protocol/other.fbs" yields code
#                        that includes "protocol/other_generated.h"
#   --warnings-as-errors a field name against the style guide fails here
function(flatbuffers_schemas target)
  file(GLOB schemas CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.fbs)
  set(root ${PROJECT_BINARY_DIR}/generated/schemas)
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  foreach(schema IN LISTS schemas)
    get_filename_component(name ${schema} NAME_WE)
    set(header ${root}/${folder}/${name}_generated.h)
    # All schemas are inputs of each header: they may include each other.
    add_custom_command(
      OUTPUT ${header}
      COMMAND flatbuffers::flatc --cpp --cpp-std c++17 --scoped-enums --keep-prefix
              --warnings-as-errors -I ${PROJECT_SOURCE_DIR} -o ${root}/${folder} ${schema}
      DEPENDS ${schemas} flatbuffers::flatc
      COMMENT "flatc ${folder}/${name}.fbs"
      VERBATIM)
    target_sources(${target} PRIVATE ${header})
  endforeach()
  # SYSTEM: our warnings are not about generated code.
  target_include_directories(${target} SYSTEM PUBLIC ${root})
endfunction()
