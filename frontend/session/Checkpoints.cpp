#include "sinter/data.h"

#include "session/Weights.h"
#include "sinter/data/checkpoint.h"
#include "sinter/data/idx.h"
#include "tracing/Types.h"

#include <cstdio>

namespace sinter::data {

void check(const Status &status, Where at) {
  if (!status.ok())
    detail::fail(at, status.message());
}

Mnist mnist(const std::string &directory, Where at) {
  StatusOr<rt::data::Mnist> files = rt::data::mnist(directory);
  check(files.status(), at);
  return {files->train, files->test};
}

/// Name of the loader's state among a checkpoint's texts.
static const std::string kLoaderText = "sinter.loader";

struct Checkpoints::Impl {
  std::shared_ptr<detail::SessionState> session;
  rt::data::CheckpointDirectory directory;
  rt::TextMap texts;
};

Checkpoints::Checkpoints(Session &session, const std::string &path, CheckpointOptions options,
                         Where at) {
  StatusOr<rt::data::CheckpointDirectory> opened =
      rt::data::CheckpointDirectory::open(path, {options.keep});
  check(opened.status(), at);
  impl = std::make_unique<Impl>(Impl{session.state(), std::move(*opened), {}});
}

Checkpoints::~Checkpoints() = default;

int64_t Checkpoints::resume(Loader *loader, Where at) {
  StatusOr<rt::data::Checkpoint> checkpoint = impl->directory.loadLatest();
  if (checkpoint.status().code() == Code::NotFound)
    return -1;
  check(checkpoint.status(), at);
  for (const std::string &reason : checkpoint->damaged)
    std::fprintf(stderr, "sinter: passed over a damaged checkpoint: %s\n", reason.c_str());
  detail::applyWeights(checkpoint->content, checkpoint->path, detail::targetsOf(*impl->session), {},
                       at);
  impl->texts = checkpoint->texts;
  if (loader) {
    StatusOr<rt::data::LoaderState> state = rt::data::LoaderState::parse(text(kLoaderText));
    check(state.status(), at);
    check(loader->restore(*state), at);
  }
  return checkpoint->step;
}

std::string Checkpoints::text(const std::string &name) const {
  auto found = impl->texts.find(name);
  return found == impl->texts.end() ? std::string() : found->second;
}

void Checkpoints::save(int64_t step, const Loader *loader,
                       const std::map<std::string, std::string> &texts, Where at) {
  rt::TextMap all = texts;
  if (loader)
    all[kLoaderText] = loader->state().str();
  check(impl->directory.saveAsync(step, detail::viewsOf(*impl->session), all), at);
}

void Checkpoints::wait(Where at) { check(impl->directory.wait(), at); }

} // namespace sinter::data
