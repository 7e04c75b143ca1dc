# Dependencies: what the product is built from. deploy/install-deps installs it
# all. Which folder may use which is said where it is linked.

find_package(Threads REQUIRED)  # before leveldb, whose package names it without looking for it
find_package(FlatBuffers CONFIG REQUIRED)
find_package(XxHash MODULE REQUIRED)
find_package(leveldb CONFIG REQUIRED)
find_package(Asio MODULE REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(tomlplusplus CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(Lua51 MODULE REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS SSL)
