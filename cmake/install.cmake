# cmake --install: headers, library, CMake package, pkg-config file, and the program when it is built. The Python module installs itself.
include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/rapt DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS rapt EXPORT raptTargets
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET rapt_cli)
  install(TARGETS rapt_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/rapt)
install(EXPORT raptTargets NAMESPACE rapt:: DESTINATION ${package})
# A static library leaves oneTBB to be linked by the program.
set(RAPT_NEEDS_TBB ${RAPT_TBB})
if(BUILD_SHARED_LIBS)
  set(RAPT_NEEDS_TBB OFF)
endif()
set(RAPT_PC_REQUIRES "")
if(RAPT_NEEDS_TBB)
  set(RAPT_PC_REQUIRES "Requires: tbb\n")
endif()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/raptConfig.cmake.in ${PROJECT_BINARY_DIR}/cmake/raptConfig.cmake
  INSTALL_DESTINATION ${package} NO_SET_AND_CHECK_MACRO)
# An interface of 0.x changes with x.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/raptConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/raptConfig.cmake ${PROJECT_BINARY_DIR}/cmake/raptConfigVersion.cmake DESTINATION ${package})

# Told relative to the file itself, so that an installed tree can move.
file(RELATIVE_PATH RAPT_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" RAPT_PC_PREFIX ${RAPT_PC_PREFIX})
configure_file(${CMAKE_CURRENT_LIST_DIR}/rapt.pc.in ${PROJECT_BINARY_DIR}/cmake/rapt.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cmake/rapt.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
