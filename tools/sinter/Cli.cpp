#include "Cli.h"

#include "sinter/base/text.h"

#include <cstdio>
#include <filesystem>

namespace sinter::tools {

static int usageError(const std::string &message, const std::string &program) {
  std::fprintf(stderr, "sinter: %s\n%s --help tells more\n", message.c_str(), program.c_str());
  return kUsage;
}

static std::string suggestion(std::string_view name, std::span<const std::string> names) {
  std::string_view near = nearestName(name, names);
  return near.empty() ? "" : concat("; did you mean '", near, "'?");
}

static void printUsage(std::span<const Command> commands) {
  std::printf("sinter compiles, inspects and runs models packaged by the C++ DSL.\n\n"
              "usage: sinter <command> [arguments]\n\n");
  for (const Command &command : commands)
    std::printf("  %-9s %s\n", command.name, command.summary);
  std::printf("\nsinter <command> --help tells its arguments, sinter --version the version.\n"
              "Exit status: 0 all is well, 1 the command failed, 2 the command line is wrong.\n");
}

int dispatch(int argc, char **argv, std::span<const Command> commands) {
  std::string_view word = argc > 1 ? argv[1] : "--help";
  if (word == "--version") {
    std::puts("sinter " SINTER_VERSION);
    return kSuccess;
  }
  if (word == "--help" || word == "-h" || word == "help") {
    printUsage(commands);
    return argc > 1 ? kSuccess : kUsage;
  }
  std::vector<std::string> names;
  for (const Command &command : commands) {
    if (word == command.name)
      return command.run(argc - 1, argv + 1);
    names.push_back(command.name);
  }
  return usageError(concat("there is no command '", word, "'", suggestion(word, names)), "sinter");
}

/// Looks at every flag before CLI11 does, which would first miss whatever else is required.
static std::optional<std::string> unknownFlag(const CLI::App &app, int argc, char **argv) {
  std::vector<std::string> names;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
  bool isValue = false;
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (isValue || word.size() < 2 || word[0] != '-') {
      isValue = false;
      continue;
    }
    if (word == "--")
      break;
    bool isLong = word[1] == '-';
    std::string name(isLong ? word.substr(0, word.find('=')) : word.substr(0, 2));
    const CLI::Option *option = app.get_option_no_throw(name);
    if (!option)
      return concat("there is no option '", name, "'", suggestion(name, names));
    isValue = option->get_items_expected_max() > 0 && word.size() == name.size();
  }
  return std::nullopt;
}

std::optional<int> parse(CLI::App &app, int argc, char **argv) {
  app.option_defaults()->always_capture_default();
  if (std::optional<std::string> problem = unknownFlag(app, argc, argv))
    return usageError(*problem, app.get_name());
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::CallForHelp &) {
    std::fputs(app.help().c_str(), stdout);
    return kSuccess;
  } catch (const CLI::ParseError &error) {
    return usageError(error.what(), app.get_name());
  }
}

int fail(const std::string &message) {
  std::fprintf(stderr, "sinter: %s\n", message.c_str());
  return kFailure;
}

std::string programFolder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

} // namespace sinter::tools
