// sinter new: a starter project.
#include "Cli.h"
#include "Sinter.h"
#include "sinter/base/text.h"
#include "sinter/core/file.h"

#include <filesystem>

namespace fs = std::filesystem;

namespace sinter::tools {
namespace {

struct StarterFile {
  const char *name, *content;
};
constexpr StarterFile kStarter[] = {
#include "starter.h"
};

/// A project name from a folder's: letters, digits and underscores.
std::string projectName(const fs::path &folder) {
  std::string name = fs::absolute(folder).lexically_normal().filename().string();
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])))
    name = "project_" + name;
  return name;
}

std::string filled(std::string text, const std::string &project) {
  constexpr std::string_view mark = "@PROJECT@";
  for (size_t at; (at = text.find(mark)) != text.npos;)
    text.replace(at, mark.size(), project);
  return text;
}

Status createFolder(const fs::path &folder) {
  std::error_code error;
  if (fs::exists(folder, error) && !(fs::is_directory(folder) && fs::is_empty(folder, error)))
    return makeError(Code::AlreadyExists, folder.string(),
                     " is there already and not an empty folder; nothing was written, choose "
                     "another name");
  fs::create_directories(folder, error);
  return error ? rt::ioError("make the folder", folder.string(), error.value()) : Status();
}

Status writeStarter(const fs::path &folder) {
  SINTER_RETURN_IF_ERROR(createFolder(folder));
  for (const StarterFile &file : kStarter)
    SINTER_RETURN_IF_ERROR(
        rt::writeFile((folder / file.name).string(), filled(file.content, projectName(folder))));
  return {};
}

} // namespace

int newMain(int argc, char **argv) {
  CLI::App app("Writes a small project: a model that is trained and packaged by train.cpp, "
               "compiled to an artifact by CMake,\nand used from C by app.c.",
               "sinter new");
  std::string folder;
  app.add_option("folder", folder, "Made by the command; must not exist, or be empty")
      ->required()
      ->type_name("<dir>");
  if (auto status = parse(app, argc, argv))
    return *status;
  if (Status status = writeStarter(folder); !status.ok())
    return fail(status);
  std::string prefix = fs::path(programFolder()).parent_path().string();
  std::printf("%s holds a starter project; its README.md tells what is where. Build and run it:\n"
              "  cmake -S %s -B %s/build -DCMAKE_PREFIX_PATH=%s\n"
              "  cmake --build %s/build && %s/build/app\n",
              folder.c_str(), folder.c_str(), folder.c_str(), prefix.c_str(), folder.c_str(),
              folder.c_str());
  return kSuccess;
}

} // namespace sinter::tools
