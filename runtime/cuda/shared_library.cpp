#include "shared_library.h"

#include "sinter/base/text.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

namespace sinter::rt::cuda {
namespace {

namespace fs = std::filesystem;

/// Folders directly in `folder`, by name, so that the order is the same everywhere.
std::vector<std::string> subfolders(const std::string &folder) {
  std::vector<std::string> found;
  std::error_code error;
  fs::directory_iterator entry(folder, error), end;
  while (!error && entry != end) {
    if (std::error_code ignored; entry->is_directory(ignored))
      found.push_back(entry->path().string());
    entry.increment(error);
  }
  std::ranges::sort(found);
  return found;
}

/// Where libraries lie in a site-packages folder: nvidia/<package>/lib.
void addWheels(const std::string &sitePackages, std::vector<std::string> &folders) {
  for (const std::string &package : subfolders(sitePackages + "/nvidia"))
    folders.push_back(package + "/lib");
}

void addExisting(std::span<const std::string> folders, std::span<const std::string> names,
                 std::vector<std::string> &candidates) {
  for (const std::string &name : names)
    for (const std::string &folder : folders) {
      std::string file = folder + "/" + name;
      std::error_code ignored;
      if (fs::exists(file, ignored) && std::ranges::find(candidates, file) == candidates.end())
        candidates.push_back(std::move(file));
    }
}

std::vector<std::string> givenFolders(std::string_view searchPath) {
  std::vector<std::string> folders;
  while (!searchPath.empty()) {
    size_t end = std::min(searchPath.find(':'), searchPath.size());
    if (std::string folder(searchPath.substr(0, end)); !folder.empty()) {
      for (const char *below : {"", "/lib64", "/lib"})
        folders.push_back(folder + below);
      addWheels(folder, folders);
    }
    searchPath.remove_prefix(std::min(end + 1, searchPath.size()));
  }
  return folders;
}

std::vector<std::string> usualFolders() {
  std::vector<std::string> folders;
  auto addToolkit = [&](const std::string &root) {
    folders.push_back(root + "/lib64");
    folders.push_back(root + "/lib");
  };
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *root = std::getenv(variable))
      addToolkit(root);
  addToolkit("/usr/local/cuda");
  if (const char *environment = std::getenv("VIRTUAL_ENV"))
    for (const std::string &python : subfolders(std::string(environment) + "/lib"))
      addWheels(python + "/site-packages", folders);
  return folders;
}

} // namespace

StatusOr<SharedLibrary> SharedLibrary::open(std::string_view what,
                                            std::span<const std::string> candidates) {
  std::string tried;
  for (const std::string &candidate : candidates) {
    if (void *handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL))
      return SharedLibrary(handle, candidate);
    const char *reason = dlerror();
    tried += concat(tried.empty() ? "" : "; ", reason ? reason : candidate.c_str());
  }
  return makeError(Code::NotFound, what, " is not there (tried: ", tried, ")");
}

void *SharedLibrary::symbol(const char *name) const { return dlsym(handle, name); }

std::vector<std::string> libraryCandidates(std::span<const std::string> names,
                                           std::string_view searchPath) {
  std::vector<std::string> candidates;
  addExisting(givenFolders(searchPath), names, candidates);
  candidates.insert(candidates.end(), names.begin(), names.end()); // the loader's own path
  addExisting(usualFolders(), names, candidates);
  return candidates;
}

} // namespace sinter::rt::cuda
